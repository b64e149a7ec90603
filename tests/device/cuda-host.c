/*
 * The kernels of nn-cuda.so in their host form (device/cuda/phase.h), as a module nn-cuda.so for
 * machines without a GPU: the same sources, compiled as loops over blocks and threads, in memory
 * that the host cannot touch and a queue that does nothing before it must. So arithmetic, tiles,
 * shared memory and what hosts ask for are tested; the runtime of CUDA is not.
 */
#include <string.h>

#include "apart-inside.h"
#include "base/module.h"
#include "device/cuda/leaves.h"
#include "device/cuda/matmul.h"

#define NN_CUDA_NEAR 9 /* its memory is the host's, and calls return when done: for table tests */

struct nn_apart nn_apart;
_Thread_local bool nn_cuda_backwards;

struct launch {
	const struct nn_cuda_kernel *kernel;
	size_t blocks;
	size_t words[]; /* arguments */
};

static void run_kernel(const struct nn_cuda_kernel *kernel, size_t blocks, const void *args)
{
	nn_cuda_backwards = !nn_cuda_backwards;
	((void (*)(const void *args, size_t blocks))kernel->run)(args, blocks);
}

static void run_launch(struct nn_apart_queue *q, void *what)
{
	const struct launch *l = what;

	if (nn_apart.fail && strcmp(l->kernel->name, "product") == 0 && !q->failed)
		q->failed = l->kernel->name;
	run_kernel(l->kernel, l->blocks, l->words);
}

/* Whatever among the arguments is an address of the device becomes one that kernels may use. */
void nn_cuda_launch(struct nn_queue *queue, const struct nn_cuda_kernel *kernel, size_t blocks,
		    const void *args)
{
	struct launch *l;

	if (!queue) {
		run_kernel(kernel, blocks, args);
		return;
	}
	l = nn_apart_ask(queue, run_launch, sizeof *l + kernel->bytes);
	l->kernel = kernel;
	l->blocks = blocks;
	memcpy(l->words, args, kernel->bytes);
	for (size_t i = 0; i < kernel->bytes / sizeof *l->words; i++) {
		const void *p = (const void *)l->words[i];

		if (nn_apart_lies_in(&nn_apart_pinned, p, 1))
			nn_apart_stop("a kernel was given memory of the host");
		if (nn_apart_lies_in(&nn_apart_there, p, 1))
			l->words[i] = (size_t)nn_apart_at(p);
	}
}

/* tests/device/runtime.c has a library. */
void nn_cuda_matmul(struct nn_queue *queue, const struct nn_cuda_matmul *matmul)
{
	(void)queue;
	(void)matmul;
	nn_apart_stop("a library was asked for a product");
}

size_t nn_cuda_columns(void)
{
	return (size_t)64 << 20;
}

void *nn_cuda_sums(struct nn_queue *queue)
{
	static double near[NN_CUDA_SUMS];
	struct nn_apart_queue *q = (struct nn_apart_queue *)queue;

	if (!q)
		return near;
	if (!q->sums) { /* of the context, which no plan counts */
		nn_apart_there.held -= NN_CUDA_SUMS * sizeof(double);
		q->sums = nn_apart_take(&nn_apart_there, NN_CUDA_SUMS * sizeof(double), NULL);
	}
	return q->sums;
}

/* All ways, as drawn: large tiles, smaller ones, blocks of few rows, a thread for each element. */
size_t nn_cuda_choose(struct nn_queue *queue, const struct nn_cuda_way *ways, size_t n)
{
	static _Thread_local unsigned drawn; /* a server has several threads */

	(void)queue;
	(void)ways;
	drawn = drawn * 1103515245 + 12345;
	return (drawn >> 16) % (n + 1);
}

static const struct nn_device *open_device(int number, enum nn_dtype dtype, struct nn_error *err)
{
	static struct nn_device devices[2], near[2]; /* of f32, of f64 */
	static struct nn_remote remote;
	const struct nn_device *cpu = nn_device_open("cpu", dtype, err);
	struct nn_device *device = &(number == NN_CUDA_NEAR ? near : devices)[dtype == NN_F64];

	if (!cpu)
		return NULL;
	if ((number > 0 && number != NN_CUDA_NEAR) || (dtype != NN_F32 && dtype != NN_F64)) {
		nn_fail(err, NN_ENODEV, "the device of the tests is one, of f32 and f64");
		return NULL;
	}
	remote = nn_apart_remote;
	remote.sum_losses = nn_cuda_sum_losses;
	remote.count_leaves = nn_cuda_count_leaves;
	remote.gather = dtype == NN_F64 ? nn_cuda_gather_f64 : nn_cuda_gather_f32;
	remote.fma = nn_cuda_fma;
	remote.read = dtype == NN_F64 ? nn_cuda_read_f64 : nn_cuda_read_f32;
	nn_cuda_device(device, cpu, number == NN_CUDA_NEAR ? NULL : &remote);
	return device;
}

static const char *describe(int number)
{
	(void)number;
	return "device of the tests";
}

static const struct nn_device_module own = { open_device, describe };
static const struct nn_products_module module = { &own, NULL };
const struct nn_module nn_module = { NN_MODULE_ABI, "cuda", &module };
