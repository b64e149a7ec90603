/*
 * A convolution is the product of its windows: M = rows * output positions, N = output channels, K
 * = input channels * taps.
 */
#include "bench/padding.h"

bool nn_product_of(struct nn_product *p, const struct nn_program *program,
		   const struct nn_node *node, size_t rows)
{
	const struct nn_shape *out = &program->values[node->out].shape;

	if (node->op != NN_OP_dense && node->op != NN_OP_conv2d)
		return false;
	*p = (struct nn_product){ .op = node->op,
				  .in = program->values[node->in[0]].shape,
				  .rows = rows };
	if (node->op == NN_OP_dense) {
		p->attrs.dense = *(const struct nn_dense *)node->attrs;
		p->n = p->attrs.dense.out;
		p->k = p->in.dim[p->in.rank - 1];
	} else {
		p->attrs.conv2d = *(const struct nn_conv2d *)node->attrs;
		p->n = p->attrs.conv2d.out;
		p->k = p->in.dim[0] * p->attrs.conv2d.kernel[0] * p->attrs.conv2d.kernel[1];
		if (p->attrs.conv2d.groups != 1)
			return false;
	}
	p->m = rows * nn_shape_count(out) / p->n;
	return true;
}

/* The smallest number from n on of which each is worth `per` and all together a multiple. */
static size_t pad_to(size_t n, size_t per, size_t multiple)
{
	while (n * per % multiple != 0)
		n++;
	return n;
}

bool nn_product_pad(struct nn_product *padded, const struct nn_product *from, size_t multiple)
{
	size_t *in = from->op == NN_OP_dense ? &padded->in.dim[from->in.rank - 1]
					     : &padded->in.dim[0],
	       taps, positions;

	*padded = *from;
	taps = from->k / *in;
	positions = from->m / from->rows;
	*in = pad_to(*in, taps, multiple);
	padded->rows = pad_to(from->rows, positions, multiple);
	padded->n = pad_to(from->n, 1, multiple);
	if (from->op == NN_OP_dense)
		padded->attrs.dense.out = padded->n;
	else
		padded->attrs.conv2d.out = padded->n;
	padded->k = *in * taps;
	padded->m = padded->rows * positions;
	return padded->m != from->m || padded->n != from->n || padded->k != from->k;
}
