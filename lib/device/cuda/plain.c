/*
 * Products of whole matrices by a library (blas.c): dense layers, and inputs of recurrent ones. Of
 * them all steps of a sum may go in any order, so there are no leaves, and weights lie as they are
 * written: [out][in].
 */
#include "device/cuda/product/product.h"

void NN_CUDA(plain_product)(struct nn_queue *queue, const struct nn_product_args *a, void *work)
{
	const struct nn_cuda_matmul m = { .name = "cuBLASLt, a product",
					  .tb = true,
					  .add = a->residual == a->y,
					  .m = a->n / a->c.cout,
					  .n = a->c.cout,
					  .k = a->c.cin,
					  .a = a->x,
					  .b = a->w,
					  .c = a->y,
					  .work = work };
	struct nn_product_args rest;

	memcpy(&rest, a, sizeof rest); /* padding, too */
	nn_cuda_matmul(queue, &m);
	if (m.add)
		rest.residual = NULL;
	if (rest.bias || rest.residual || rest.act)
		NN_ASK(queue, finish, rest);
}

void NN_CUDA(plain_input)(struct nn_queue *queue, const struct nn_product_args *a, void *work)
{
	const struct nn_cuda_matmul m = { .name = "cuBLASLt, an input gradient",
					  .add = a->add,
					  .m = a->n / a->c.cin,
					  .n = a->c.cin,
					  .k = a->c.cout,
					  .a = a->dy,
					  .b = a->w,
					  .c = a->dx,
					  .work = work };

	nn_cuda_matmul(queue, &m);
}

void NN_CUDA(plain_weights)(const struct nn_call *call, int param, const struct nn_weights_args *a,
			    void *work)
{
	const struct nn_cuda_matmul m = { .name = "cuBLASLt, a weight gradient",
					  .ta = true,
					  .add = !call->first,
					  .m = a->c.cout,
					  .n = a->c.cin,
					  .k = call->rows * a->leaf.unit,
					  .a = a->dy,
					  .b = a->x,
					  .c = call->dw[param],
					  .work = work };

	if (m.c) /* else it is frozen */
		nn_cuda_matmul(call->site.queue, &m);
}

void NN_CUDA(plain_pack)(struct nn_queue *queue, const struct nn_conv *c, size_t channels,
			 size_t positions, const void *from, void *to, bool unpack)
{
	NN_ARGS(struct nn_turn_args, a);

	a.n = c->cin * c->cout;
	a.c = *c;
	a.unpack = unpack;
	a.from = from;
	a.to = to;
	a.channels = channels;
	a.positions = positions;
	NN_ASK(queue, plain_weights, a);
}
