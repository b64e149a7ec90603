/* What sharing a node among ranks brings and costs. */
#include "graph/sharded/node.h"
#include "graph/sharded/steps.h"

#define VECTOR 64 /* bytes of channels that a kernel makes at once */

static double vectors(const struct nn_bound *b, size_t channels)
{
	size_t lanes = VECTOR / nn_dtype_size(b->device->dtype);

	return (double)((channels + lanes - 1) / lanes);
}

/* A gather has its part and the whole there (sharded-parts.c). */
static size_t gather_bytes(const struct nn_bound *b, const struct nn_bound_node *node,
			   size_t max_rows)
{
	const struct nn_sharded_node *s = node->sharded;
	size_t size = nn_dtype_size(b->device->dtype),
	       row = nn_shape_count(&node->shape) * (size + nn_sharded_place_size(b, node)) +
		     (s->want_dx ? nn_shape_count(s->whole_in) * size : 0);

	return 2 * max_rows * row;
}

void nn_sharded_count(const struct nn_bound *b, const struct nn_bound_node *node, size_t max_rows,
		      struct nn_graph_sharing *sharing)
{
	const struct nn_sharded_node *s = node->sharded;
	double ranks = s ? b->columns->ranks : 1,
	       crossing = 2 * (ranks - 1) / ranks * (double)nn_dtype_size(b->device->dtype);
	const void *attrs = s ? &s->whole : node->attrs;
	const struct nn_shape *in = s ? s->whole_in : node->shapes,
			      *out = s ? &s->whole_out : &node->shape;
	double flops = (double)nn_op_flops(node->op, attrs, in, node->n_in, out);
	bool product = nn_op_is_product(node->op);

	if (product)
		sharing->flops += flops;
	if (!s)
		return;
	sharing->row_bytes += crossing * (double)nn_shape_count(out);
	sharing->exchanges++;
	if (b->device->remote)
		sharing->host += product ? gather_bytes(b, node, max_rows)
					 : nn_sharded_rows_bytes(b, node, max_rows);
	if (!product)
		return;
	sharing->saved += flops * (1 - vectors(b, (s->out + (size_t)ranks - 1) / (size_t)ranks) /
					       vectors(b, s->out));
	if (!s->want_dx)
		return;
	sharing->row_bytes += crossing * (double)nn_shape_count(in);
	sharing->step_bytes += crossing / ranks * (double)(s->out * s->in * s->taps);
	sharing->exchanges += 2;
}
