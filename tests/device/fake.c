/* The module nn-cuda.so of the tests. */
#include "base/module.h"
#include "base/pool.h"
#include "device/products.h"
#include "fake.h"
#include "near.h"

extern struct nn_fake nn_fake;

static void advance(struct nn_fake_cost *cost, size_t rows)
{
	nn_fake.clock += cost->launch + cost->row * (double)rows + cost->first;
	cost->first = 0;
}

/* ---- kernels: those of the CPU, and the clock ---- */

static const struct nn_device *real[1]; /* the CPU's */

static const struct nn_kernel *kernel(const struct nn_call *call, enum nn_op_id op)
{
	(void)call;
	return real[0]->kernels[op];
}

#define NN_OP(id, name) \
	static void cpu_forward_##id(const struct nn_call *call) \
	{ \
		advance(&nn_fake.cpu, call->rows); \
		kernel(call, NN_OP_##id)->forward(call); \
	} \
	static void cpu_backward_##id(const struct nn_call *call) \
	{ \
		advance(&nn_fake.cpu, call->rows); \
		kernel(call, NN_OP_##id)->backward(call); \
	} \
	static void cuda_forward_##id(const struct nn_call *call) \
	{ \
		advance(&nn_fake.cuda, call->rows); \
		kernel(call, NN_OP_##id)->forward(call); \
		if (nn_fake.wrong && NN_OP_##id == NN_OP_dense) \
			((float *)call->y)[0] += 1; \
	} \
	static void cuda_backward_##id(const struct nn_call *call) \
	{ \
		advance(&nn_fake.cuda, call->rows); \
		kernel(call, NN_OP_##id)->backward(call); \
	}
#include "op/ops.def"
#undef NN_OP

static struct nn_kernel cpu_kernels[NN_N_OPS], cuda_kernels[NN_N_OPS];
static const struct nn_kernel *cpu_table[NN_N_OPS], *cuda_table[NN_N_OPS];
static struct nn_device cpu_device, cuda_device;

/* ---- copies ---- */

static void near_moved(bool in, size_t bytes)
{
	nn_fake.clock += nn_fake.cuda.copy + nn_fake.cuda.byte * (double)bytes;
	*(in ? &nn_fake.copied_in : &nn_fake.copied_out) += bytes;
}

static double near_clock(void)
{
	return nn_fake.clock;
}

/* ---- devices ---- */

static int make(struct nn_error *err)
{
	if (real[0])
		return 0;
	if (!(real[0] = nn_device_open("cpu", NN_F32, err)))
		return -1;
#define NN_OP(id, name) \
	cpu_kernels[NN_OP_##id] = cuda_kernels[NN_OP_##id] = *real[0]->kernels[NN_OP_##id]; \
	cpu_kernels[NN_OP_##id].forward = cpu_forward_##id; \
	cuda_kernels[NN_OP_##id].forward = cuda_forward_##id; \
	if (real[0]->kernels[NN_OP_##id]->backward) { \
		cpu_kernels[NN_OP_##id].backward = cpu_backward_##id; \
		cuda_kernels[NN_OP_##id].backward = cuda_backward_##id; \
	} \
	cpu_table[NN_OP_##id] = &cpu_kernels[NN_OP_##id]; \
	cuda_table[NN_OP_##id] = &cuda_kernels[NN_OP_##id];
#include "op/ops.def"
#undef NN_OP
	cpu_device = cuda_device = *real[0];
	cpu_device.kernels = cpu_table;
	cuda_device.kernels = cuda_table;
	cuda_device.name = "cuda";
	cuda_device.kind = "fake";
	cuda_device.remote = &near_remote;
	cuda_device.host = real[0];
	return 0;
}

static const struct nn_device *open_cpu(enum nn_dtype dtype, struct nn_error *err)
{
	if (dtype != NN_F32)
		return nn_device_open("cpu", dtype, err);
	return make(err) < 0 ? NULL : &cpu_device;
}

static const struct nn_device *open_cuda(int number, enum nn_dtype dtype, struct nn_error *err)
{
	if (number > 0 || dtype != NN_F32) {
		nn_fail(err, NN_ENODEV, "the device of the tests is one, of f32");
		return NULL;
	}
	return make(err) < 0 ? NULL : &cuda_device;
}

static const char *describe(int number)
{
	(void)number;
	return "device of the tests";
}

struct nn_fake nn_fake = { .open_cpu = open_cpu };
static const struct nn_device_module own = { open_cuda, describe };
static const struct nn_products_module table = { &own, NULL };
const struct nn_module nn_module = { NN_MODULE_ABI, "cuda", &table };
