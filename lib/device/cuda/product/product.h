/* Products as ops ask for them: dense layers and convolutions forward, their gradients, packing. */
#ifndef NN_DEVICE_CUDA_PRODUCT_H
#define NN_DEVICE_CUDA_PRODUCT_H

#include "device/cuda/launch.h"
#include "device/cuda/matmul.h"

/* A dense layer, which is a 1x1 convolution of an image of one pixel. */
struct nn_conv NN_CUDA(matrix)(size_t in, size_t out);
/* An image of one pixel, of which a 1x1 kernel makes one. */
static inline bool NN_CUDA(is_matrix)(const struct nn_conv *c)
{
	return c->groups == 1 && c->h.in * c->w.in == 1 && c->h.n * c->w.n == 1 &&
	       c->h.out * c->w.out == 1 && c->h.pad + c->w.pad == 0;
}
/* Reals of the packed weight. */
size_t NN_CUDA(packed)(const struct nn_conv *c);

/* a->n elements of y; dx: turned is set where w is what NN_CUDA(turn) made. */
void NN_CUDA(product)(struct nn_queue *queue, const struct nn_product_args *a);
void NN_CUDA(input_gradient)(struct nn_queue *queue, const struct nn_product_args *a);

/*
 * The gradients of parameters `weight` and `bias` of a call (-1: none), those that are wanted: the
 * caller gives c, x, dy and leaf; *room, NN_CUDA(leaves_bytes) of each, is taken for leaves.
 */
void NN_CUDA(gradients)(const struct nn_call *call, int weight, int bias,
			const struct nn_weights_args *a, char **room);
/*
 * Those of a dense layer and its bias (bias: it has one) in one launch, where rows are few and
 * weights not many; false: they have to be asked for apart. y NULL: a->dy is as it is; else it is
 * that of relu, which gave y.
 */
bool NN_CUDA(few_gradients)(const struct nn_call *call, bool bias, const struct nn_weights_args *a,
			    const real *y);
size_t NN_CUDA(leaves_bytes)(size_t size, size_t n_leaves);
/* nn_kernel.updates: weights so few that the kernel that has their gradient updates them. */
bool NN_CUDA(updates)(const struct nn_conv *c);

/* What the input gradient of a convolution reads: its bytes, and to make it of w. */
size_t NN_CUDA(turned)(const struct nn_conv *c);
void NN_CUDA(turn)(struct nn_queue *queue, const struct nn_conv *c, const real *w, real *turned);
/* Canonical to packed or back; channels, positions: of a flattened image, or 0. */
void NN_CUDA(pack)(struct nn_queue *queue, const struct nn_conv *c, size_t channels,
		   size_t positions, const void *from, void *to, bool unpack);

/*
 * The same by a library, of weights that are plain: [out][tap][in], an out-channel's filled up with
 * zeros to NN_CUDA(plain_depth). Leaves are not told apart. work: NN_CUDA(plain_work) bytes for so
 * many rows, a multiple of 256; NN_CUDA_WORKSPACE for matrices. Not of groups (by_library).
 */
bool NN_CUDA(by_library)(const struct nn_conv *c);
size_t NN_CUDA(plain_depth)(const struct nn_conv *c);
size_t NN_CUDA(plain_work)(const struct nn_conv *c, size_t rows);
void NN_CUDA(plain_product)(struct nn_queue *queue, const struct nn_product_args *a, void *work);
void NN_CUDA(plain_input)(struct nn_queue *queue, const struct nn_product_args *a, void *work);
void NN_CUDA(plain_weights)(const struct nn_call *call, int param, const struct nn_weights_args *a,
			    void *work);
void NN_CUDA(plain_pack)(struct nn_queue *queue, const struct nn_conv *c, size_t channels,
			 size_t positions, const void *from, void *to, bool unpack);

/* Functions of the kernel `name`, from a file's own, which are told how. */
#define NN_KERNEL_FUNCTIONS(name, how) \
	static void name##_forward(const struct nn_call *call) \
	{ \
		forward(call, how); \
	} \
	static void name##_backward(const struct nn_call *call) \
	{ \
		backward(call, how); \
	} \
	static size_t name##_work(const struct nn_site *site, size_t max_rows, size_t max_leaves, \
				  int threads) \
	{ \
		(void)threads; \
		return work_of(site, max_rows, max_leaves, how); \
	} \
	static size_t name##_packed(const struct nn_site *site, int param) \
	{ \
		return packed_of(site, param, how); \
	} \
	static void name##_pack(const struct nn_site *site, int param, const void *canonical, \
				void *packed) \
	{ \
		pack_any(site, param, canonical, packed, false, how); \
	} \
	static void name##_unpack(const struct nn_site *site, int param, const void *packed, \
				  void *canonical) \
	{ \
		pack_any(site, param, packed, canonical, true, how); \
	}

/* Would m x n elements be computed in tiles of few rows (tiny.h)? */
bool NN_CUDA(are_few)(struct nn_queue *queue, size_t m, size_t n);

/* Pieces of `size` that n is cut into. */
static inline size_t nn_cuda_parts(size_t n, size_t size)
{
	return (n + size - 1) / size;
}

static inline size_t nn_cuda_rounded(size_t bytes)
{
	return (bytes + 255) / 256 * 256;
}

#endif
