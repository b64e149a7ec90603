/*
 * A convolution is the product of its windows: M = rows * output positions, N = output channels, K
 * = input channels * taps.
 */
#include <string.h>

#include "bench/padding.h"

bool nn_product_of(struct nn_product *p, const struct nn_program *program,
		   const struct nn_node *node, size_t rows)
{
	const struct nn_shape *out = &program->values[node->out].shape;
	const struct nn_op *op = nn_ops[node->op];
	struct nn_op_product product;

	if (!op->product)
		return false;
	*p = (struct nn_product){ .op = node->op,
				  .in = program->values[node->in[0]].shape,
				  .rows = rows };
	memcpy(&p->attrs, node->attrs, op->attrs_size);
	product = op->product(&p->attrs, &p->in);
	p->n = product.out;
	p->k = product.in * product.taps;
	p->m = rows * nn_shape_count(out) / p->n;
	return product.groups == 1;
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
	bool image = nn_ops[from->op]->layout == NN_LAYOUT_IMAGE;
	size_t *in = &padded->in.dim[image ? 0 : from->in.rank - 1], taps, positions;

	*padded = *from;
	taps = from->k / *in;
	positions = from->m / from->rows;
	*in = pad_to(*in, taps, multiple);
	padded->rows = pad_to(from->rows, positions, multiple);
	padded->n = pad_to(from->n, 1, multiple);
	nn_ops[from->op]->narrow(&padded->attrs, padded->n, 1);
	padded->k = *in * taps;
	padded->m = padded->rows * positions;
	return padded->m != from->m || padded->n != from->n || padded->k != from->k;
}
