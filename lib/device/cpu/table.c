/* The device "cpu" of one instruction set and type. */
#include "base/memory.h"
#include "device/cpu/kernels.h"
#ifdef NN_T_f32
#include "device/cpu/int8.h"
#endif
#include "device/cpu/leaves.h"

static const struct nn_kernel *const kernels[NN_N_OPS] = {
#define NN_OP(id, name) [NN_OP_##id] = &NN_K(id),
#include "op/ops.def"
#undef NN_OP
};

/* The same, but dense layers may go to OpenBLAS. */
static const struct nn_kernel *const kernels_blas[NN_N_OPS] = {
#define NN_OP(id, name) [NN_OP_##id] = NN_OP_##id == NN_OP_dense ? &NN_K(dense_blas) : &NN_K(id),
#include "op/ops.def"
#undef NN_OP
};

static const struct nn_kernel *const kernels_by_blas[NN_N_OPS] = { [NN_OP_dense] =
									   &NN_K(dense_by_blas) };

static void *alloc(size_t bytes, struct nn_error *err)
{
	return nn_alloc(bytes, 1, err);
}

#if defined NN_ISA_avx512
#define NN_KIND "avx512"
#elif defined NN_ISA_avx2
#define NN_KIND "avx2"
#elif defined NN_ISA_neon
#define NN_KIND "neon"
#else
#define NN_KIND "generic"
#endif

#define NN_DEVICE(table, ...) \
	{ \
		.name = "cpu", .kind = NN_KIND, \
		.dtype = sizeof(real) == sizeof(float) ? NN_F32 : NN_F64, .kernels = table, \
		.alloc = alloc, .free = nn_free, .loss = NN_K(loss), .update = NN_K(update), \
		.direction = NN_K(direction), .sum_rows = NN_K(sum_rows), .add = NN_K(add_arrays), \
		.sum = NN_K(sum), .sum_squares = NN_K(sum_squares), \
		.sum_list_squares = NN_K(sum_list_squares), .count = NN_K(count), \
		.clip = NN_K(clip), .ratio = NN_K(ratio), .hold = NN_K(hold), \
		.softmax = NN_K(softmax_rows), .sigmoid = NN_K(sigmoid), .leaves = nn_cpu_leaves, \
		.fma = NN_K(fma_peak), .read = NN_K(read_peak), __VA_ARGS__ \
	}

const struct nn_device NN_K(device) = NN_DEVICE(kernels, .library = NULL);
const struct nn_device NN_K(device_blas) = NN_DEVICE(kernels_blas, .library = "openblas",
						     .library_kernels = kernels_by_blas);

#ifdef NN_T_f32
/* The same, but weights of dense and conv2d are multiplied as int8. */
static const struct nn_kernel *const kernels_int8[NN_N_OPS] = {
#define NN_OP(id, name) \
	[NN_OP_##id] = NN_OP_##id == NN_OP_dense    ? &NN_K(int8_dense) \
		       : NN_OP_##id == NN_OP_conv2d ? &NN_K(int8_conv2d) \
						    : &NN_K(id),
#include "op/ops.def"
#undef NN_OP
};

const struct nn_device NN_K(device_int8) = NN_DEVICE(kernels_int8, .library = NULL);
#endif
