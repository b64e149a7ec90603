/* Memory, streams and graphs of the CUDA runtime behind struct nn_remote, and how kernels start. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "base/memory.h"
#include "device/cuda/blas.h"
#include "device/cuda/leaves.h"
#include "device/queue.h"

struct nn_cuda_queue {
	struct nn_queue head;
	int number;
	int processors; /* multiprocessors of the device */
	cudaStream_t stream;
	cudaEvent_t event; /* of what was asked for until another queue waited for it */
	cudaEvent_t marks[2];
	cudaEvent_t moments[NN_MOMENTS]; /* NULL: not asked for yet */
	void *sums;
	struct nn_cuda_blas *blas; /* NULL: the device has its own products */
	bool in_turn; /* kernels wait for those before them by themselves (phase.h) */
	cudaError_t failed; /* first, since the last wait */
	const char *what;   /* did: a kernel, a copy */
	const char *why;
	bool lost;          /* the device answers no more */
};

struct nn_recording {
	cudaGraphExec_t graph;
};

static struct nn_cuda_queue *queue_of(struct nn_queue *queue)
{
	struct nn_cuda_queue *q = (struct nn_cuda_queue *)queue;

	cudaSetDevice(q->number); /* the current device is a thread's */
	return q;
}

static void note_as(struct nn_cuda_queue *q, cudaError_t error, const char *what, const char *why)
{
	if (error == cudaSuccess || q->failed != cudaSuccess)
		return;
	q->failed = error;
	q->what = what;
	q->why = why;
}

static void note(struct nn_cuda_queue *q, cudaError_t error, const char *what)
{
	if (error != cudaSuccess)
		note_as(q, error, what, cudaGetErrorString(error));
}

void nn_cuda_launch(struct nn_queue *queue, const struct nn_cuda_kernel *kernel, size_t blocks,
		    const void *args)
{
	struct nn_cuda_queue *q = queue_of(queue);
	void *pointers[] = { (void *)(uintptr_t)args };
	cudaLaunchAttribute in_turn = { .id = cudaLaunchAttributeProgrammaticStreamSerialization,
					.val.programmaticStreamSerializationAllowed = 1 };
	const cudaLaunchConfig_t how = { .gridDim = { (unsigned)blocks, 1, 1 },
					 .blockDim = { kernel->threads, 1, 1 },
					 .stream = q->stream,
					 .attrs = &in_turn,
					 .numAttrs = q->in_turn && blocks <= NN_CUDA_FEW_BLOCKS };

	note(q, cudaLaunchKernelExC(&how, (const void *)kernel->run, pointers), kernel->name);
}

void nn_cuda_matmul(struct nn_queue *queue, const struct nn_cuda_matmul *matmul)
{
	struct nn_cuda_queue *q = queue_of(queue);
	const char *why = nn_cuda_blas_run(q->blas, matmul);

	if (why)
		note_as(q, cudaErrorUnknown, matmul->name, why);
}

#ifndef NN_CUDA_COLUMNS
#define NN_CUDA_COLUMNS ((size_t)64 << 20) /* products of so many gain nothing by being larger */
#endif
size_t nn_cuda_columns(void)
{
	return NN_CUDA_COLUMNS;
}

void *nn_cuda_sums(struct nn_queue *queue)
{
	return ((struct nn_cuda_queue *)queue)->sums;
}

/* Tiles go to multiprocessors in turns, and the last turn takes as long as the others. */
size_t nn_cuda_choose(struct nn_queue *queue, const struct nn_cuda_way *ways, size_t n)
{
	const size_t processors = (size_t)((struct nn_cuda_queue *)queue)->processors;
	size_t best = n;
	double least = INFINITY;

	for (size_t i = 0; i < n; i++) {
		size_t turns = (ways[i].tiles + processors - 1) / processors;
		double cost = fmax(ways[i].alone, ways[i].beside * (double)turns);

		if (cost < least) {
			least = cost;
			best = i;
		}
	}
	return best;
}

/* ---- queues ---- */

static int failed(const struct nn_cuda_queue *q, cudaError_t error, const char *what,
		  struct nn_error *err)
{
	return nn_fail(err, error == cudaErrorMemoryAllocation ? NN_ENOMEM : NN_ENODEV,
		       "device cuda:%d: %s: %s%s", q->number, what, cudaGetErrorString(error),
		       error == cudaErrorDevicesUnavailable
			       ? " (nvidia-smi -q -d COMPUTE says whether one process alone may "
				 "have it)"
			       : "");
}

/* Nor is what failed told once more by a later call. */
static void failed_bytes(const struct nn_cuda_queue *q, cudaError_t error, const char *verb,
			 size_t bytes, struct nn_error *err)
{
	char what[64];

	cudaGetLastError();
	snprintf(what, sizeof what, "cannot %s %zu bytes of memory", verb, bytes);
	failed(q, error, what, err);
}

static void queue_close(struct nn_queue *queue)
{
	struct nn_cuda_queue *q = queue_of(queue);

	if (q->stream)
		cudaStreamSynchronize(q->stream);
	nn_cuda_blas_free(q->blas);
	if (q->event)
		cudaEventDestroy(q->event);
	for (int i = 0; i < 2; i++)
		if (q->marks[i])
			cudaEventDestroy(q->marks[i]);
	for (int i = 0; i < NN_MOMENTS; i++)
		if (q->moments[i])
			cudaEventDestroy(q->moments[i]);
	if (q->sums)
		cudaFree(q->sums);
	if (q->stream)
		cudaStreamDestroy(q->stream);
	nn_free(q);
}

static cudaError_t make_events(struct nn_cuda_queue *q)
{
	cudaEvent_t *const events[] = { &q->event, &q->marks[0], &q->marks[1] };
	cudaError_t error = cudaSuccess;

	for (size_t i = 0; i < sizeof events / sizeof *events && error == cudaSuccess; i++)
		error = cudaEventCreateWithFlags(events[i], cudaEventDisableTiming);
	return error;
}

/* Kernels are compiled alike: for sm_90 or more they have it. */
static cudaError_t find_in_turn(struct nn_cuda_queue *q)
{
	extern const struct nn_cuda_kernel nn_simt_tree_f32;
	struct cudaFuncAttributes compiled;
	cudaError_t error =
		cudaFuncGetAttributes(&compiled, (const void *)nn_simt_tree_f32.run);

	q->in_turn = error == cudaSuccess && compiled.ptxVersion >= 90;
	return error;
}

static struct nn_queue *queue_open(const struct nn_device *device, struct nn_error *err)
{
	struct nn_cuda_queue *q = nn_alloc(1, sizeof *q, err);
	cudaError_t error;

	if (!q)
		return NULL;
	q->head.remote = device->remote;
	q->number = nn_cuda_number(device);
	if ((error = cudaSetDevice(q->number)) == cudaSuccess &&
	    (error = cudaDeviceGetAttribute(&q->processors, cudaDevAttrMultiProcessorCount,
					    q->number)) == cudaSuccess &&
	    (error = cudaStreamCreateWithFlags(&q->stream, cudaStreamNonBlocking)) == cudaSuccess &&
	    (error = make_events(q)) == cudaSuccess && (error = find_in_turn(q)) == cudaSuccess &&
	    (error = cudaMalloc(&q->sums, NN_CUDA_SUMS * sizeof(double))) == cudaSuccess) {
		if (nn_cuda_products(device) == NN_PRODUCTS_OWN ||
		    (q->blas = nn_cuda_blas_new(q->number, device, q->stream, err)))
			return &q->head;
	} else {
		failed(q, error, "opening it", err);
	}
	queue_close(&q->head);
	return NULL;
}

/* What failed since it was last told. A lost device answers every call with its error. */
static int tell(struct nn_cuda_queue *q, struct nn_error *err)
{
	if (q->failed == cudaSuccess)
		return 0;
	cudaGetLastError();
	q->lost = cudaStreamQuery(q->stream) != cudaSuccess;
	if (!q->lost)
		q->failed = cudaSuccess;
	return nn_fail(err, q->lost ? NN_ENODEV : NN_EFAIL, "device cuda:%d: %s failed: %s",
		       q->number, q->what, q->why);
}

static int queue_wait(struct nn_queue *queue, struct nn_error *err)
{
	struct nn_cuda_queue *q = queue_of(queue);

	note(q, cudaStreamSynchronize(q->stream), "kernels");
	return tell(q, err);
}

static void queue_mark(struct nn_queue *queue, int which)
{
	struct nn_cuda_queue *q = queue_of(queue);

	note(q, cudaEventRecord(q->marks[which], q->stream), "an event");
}

static int queue_reach(struct nn_queue *queue, int which, struct nn_error *err)
{
	struct nn_cuda_queue *q = queue_of(queue);

	note(q, cudaEventSynchronize(q->marks[which]), "kernels");
	return tell(q, err);
}

/* Events that keep the time are dearer to wait for: only who asks has them. */
static void queue_moment(struct nn_queue *queue, int which)
{
	struct nn_cuda_queue *q = queue_of(queue);
	cudaEvent_t *moment = &q->moments[which];

	if (!*moment)
		note(q, cudaEventCreateWithFlags(moment, cudaEventDefault), "an event");
	if (*moment)
		note(q, cudaEventRecord(*moment, q->stream), "an event");
}

static double queue_between(struct nn_queue *queue, int from, int to)
{
	struct nn_cuda_queue *q = queue_of(queue);
	float ms = 0;

	note(q, cudaEventElapsedTime(&ms, q->moments[from], q->moments[to]), "an event");
	return (double)ms / 1000;
}

/* Who goes on after what failed has failed: nobody need wait for the other queue. */
static void queue_after(struct nn_queue *queue, struct nn_queue *other)
{
	struct nn_cuda_queue *q = queue_of(queue), *o = (struct nn_cuda_queue *)other;

	note(o, cudaEventRecord(o->event, o->stream), "an event");
	note(q, cudaStreamWaitEvent(q->stream, o->event, 0), "an event");
	note_as(q, o->failed, o->what, o->why);
}

/* ---- memory ---- */

/* Without what queues will have for sums: of a training its steps', its copies', the evaluator's. */
static int room(const struct nn_device *device, size_t *bytes, struct nn_error *err)
{
	const size_t sums = 3 * NN_CUDA_SUMS * sizeof(double);
	const struct nn_cuda_queue q = { .number = nn_cuda_number(device) };
	cudaError_t error = cudaSetDevice(q.number);
	size_t all;

	if (error == cudaSuccess)
		error = cudaMemGetInfo(bytes, &all);
	if (error != cudaSuccess)
		return failed(&q, error, "its memory", err);
	*bytes = *bytes > sums ? *bytes - sums : 0;
	return 0;
}

static void *memory_alloc(struct nn_queue *queue, size_t bytes, struct nn_error *err)
{
	struct nn_cuda_queue *q = queue_of(queue);
	void *memory = NULL;
	cudaError_t error = cudaMalloc(&memory, bytes ? bytes : 1);

	if (error != cudaSuccess) {
		failed_bytes(q, error, "allocate", bytes, err);
		return NULL;
	}
	note(q, cudaMemsetAsync(memory, 0, bytes, q->stream), "clearing memory");
	return memory;
}

/* Waits for all that may use it. */
static void memory_free(struct nn_queue *queue, void *memory)
{
	note(queue_of(queue), cudaFree(memory), "freeing memory");
}

static void *pinned_alloc(struct nn_queue *queue, size_t bytes, struct nn_error *err)
{
	struct nn_cuda_queue *q = queue_of(queue);
	void *memory = NULL;
	cudaError_t error = cudaHostAlloc(&memory, bytes ? bytes : 1, cudaHostAllocDefault);

	if (error != cudaSuccess) {
		failed_bytes(q, error, "pin", bytes, err);
		return NULL;
	}
	memset(memory, 0, bytes);
	return memory;
}

static void pinned_free(struct nn_queue *queue, void *memory)
{
	struct nn_cuda_queue *q = queue_of(queue);

	note(q, cudaStreamSynchronize(q->stream), "kernels");
	note(q, cudaFreeHost(memory), "freeing memory");
}

static void copy_in(struct nn_queue *queue, void *to, const void *from, size_t bytes)
{
	struct nn_cuda_queue *q = queue_of(queue);

	note(q, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, q->stream),
	     "a copy to the device");
}

static void copy_out(struct nn_queue *queue, void *to, const void *from, size_t bytes)
{
	struct nn_cuda_queue *q = queue_of(queue);

	note(q, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, q->stream),
	     "a copy from the device");
}

static void copy(struct nn_queue *queue, void *to, const void *from, size_t bytes)
{
	struct nn_cuda_queue *q = queue_of(queue);

	note(q, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, q->stream),
	     "a copy on the device");
}

static void copy_lines(struct nn_queue *queue, void *to, size_t to_line, const void *from,
		       size_t from_line, size_t bytes, size_t lines)
{
	struct nn_cuda_queue *q = queue_of(queue);

	if (bytes && lines)
		note(q,
		     cudaMemcpy2DAsync(to, to_line, from, from_line, bytes, lines,
				       cudaMemcpyDeviceToDevice, q->stream),
		     "a copy on the device");
}

static void clear(struct nn_queue *queue, void *memory, size_t bytes)
{
	struct nn_cuda_queue *q = queue_of(queue);

	note(q, cudaMemsetAsync(memory, 0, bytes, q->stream), "clearing memory");
}

/* ---- work that is noted: a graph ---- */

static int record(struct nn_queue *queue, struct nn_error *err)
{
	struct nn_cuda_queue *q = queue_of(queue);
	cudaError_t error = cudaStreamBeginCapture(q->stream, cudaStreamCaptureModeThreadLocal);

	return error == cudaSuccess ? 0 : failed(q, error, "recording", err);
}

static struct nn_recording *recorded(struct nn_queue *queue, struct nn_error *err)
{
	struct nn_cuda_queue *q = queue_of(queue);
	struct nn_recording *recording = nn_alloc(1, sizeof *recording, err);
	cudaGraph_t graph = NULL;
	cudaError_t error = cudaStreamEndCapture(q->stream, &graph);

	if (recording && error == cudaSuccess)
		error = cudaGraphInstantiate(&recording->graph, graph, 0);
	if (graph)
		cudaGraphDestroy(graph);
	if (recording && error != cudaSuccess) {
		failed(q, error, "recording", err);
		nn_free(recording);
		return NULL;
	}
	return recording;
}

static void replay(struct nn_queue *queue, const struct nn_recording *recording)
{
	struct nn_cuda_queue *q = queue_of(queue);

	note(q, cudaGraphLaunch(recording->graph, q->stream), "a step");
}

static void forget(struct nn_recording *recording)
{
	if (recording)
		cudaGraphExecDestroy(recording->graph);
	nn_free(recording);
}

const struct nn_remote nn_cuda_remote = {
	.room = room,
	.open = queue_open,
	.close = queue_close,
	.alloc = memory_alloc,
	.free = memory_free,
	.alloc_host = pinned_alloc,
	.free_host = pinned_free,
	.copy_in = copy_in,
	.copy_out = copy_out,
	.copy = copy,
	.copy_lines = copy_lines,
	.clear = clear,
	.after = queue_after,
	.wait = queue_wait,
	.mark = queue_mark,
	.reach = queue_reach,
	.moment = queue_moment,
	.between = queue_between,
	.gather = nn_cuda_gather_f32,
	.record = record,
	.recorded = recorded,
	.replay = replay,
	.forget = forget,
	.sum_losses = nn_cuda_sum_losses,
	.count_leaves = nn_cuda_count_leaves,
	.fma = nn_cuda_fma,
	.read = nn_cuda_read_f32,
};
