/* The table of the device: a kernel for each op, and what they share. */
#include "device/cuda/launch.h"
#include "device/cuda/matmul.h"

static const struct nn_kernel *const kernels[NN_N_OPS] = {
#define NN_OP(id, name) [NN_OP_##id] = &NN_CUDA(op_##id),
#include "op/ops.def"
#undef NN_OP
};

void NN_CUDA(device)(struct nn_device *device, const struct nn_device *cpu,
		     const struct nn_remote *remote)
{
	*device = *cpu;
	device->name = "cuda";
	device->kind = "simt";
	device->remote = remote;
	device->host = cpu;
	device->kernels = kernels;
	device->library = NULL;
	device->library_kernels = NULL;
	device->fma = NULL;
	device->read = NULL;
	NN_CUDA(functions)(device);
}

void NN_CUDA(use_library)(struct nn_device *device, enum nn_products products)
{
	static const char *const names[NN_N_PRODUCTS] = { [NN_PRODUCTS_ANY_ORDER] = "cuda+cublas",
							  [NN_PRODUCTS_TF32] = "cuda+tf32",
							  [NN_PRODUCTS_BF16] = "cuda+bf16",
							  [NN_PRODUCTS_F16] = "cuda+f16" };
	static const struct nn_kernel *plain[NN_N_OPS], *library[NN_N_OPS];

	memcpy(plain, kernels, sizeof plain);
	plain[NN_OP_dense] = library[NN_OP_dense] = &NN_CUDA(op_dense_plain);
	plain[NN_OP_conv2d] = library[NN_OP_conv2d] = &NN_CUDA(op_conv2d_plain);
	plain[NN_OP_conv_transpose2d] = library[NN_OP_conv_transpose2d] =
		&NN_CUDA(op_conv_transpose2d_plain);
	plain[NN_OP_recurrent] = library[NN_OP_recurrent] = &NN_CUDA(op_recurrent_plain);
	device->kernels = plain;
	device->library = "cublas";
	device->library_kernels = library;
	device->name = names[products];
}

struct nn_bounds NN_CUDA(bounds)(struct nn_queue *queue, const size_t *bound, size_t n, size_t unit,
				 char **room)
{
	struct nn_bounds b = { .n = n, .unit = unit };

	if (n <= NN_BOUNDS) {
		memcpy(b.at, bound, (n + 1) * sizeof *bound);
		return b;
	}
	b.more = (const size_t *)(const void *)*room;
	for (size_t at = 0; at <= n; at += NN_PUT) {
		NN_ARGS(struct nn_put_args, put);
		put.n = n + 1 - at < NN_PUT ? n + 1 - at : NN_PUT;
		put.to = (size_t *)(void *)*room + at;
		memcpy(put.value, bound + at, put.n * sizeof *bound);
		NN_ASK(queue, put_bounds, put);
	}
	*room += nn_bounds_bytes(n);
	return b;
}
