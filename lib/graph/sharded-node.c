/* What a product becomes where ranks share it, and what that brings and costs. */
#include <string.h>

#include "graph/sharded-node.h"
#include "graph/sharded-steps.h"

/*
 * Depthwise there is less to compute than to bring together: shared, a net of such layers took 1.4
 * times as much processor time. The others need a product forward for the input's gradient, of the
 * weight turned, or what their kernel derives.
 */
bool nn_sharded_may_product(const struct nn_bound *b, const struct nn_bound_node *node)
{
	size_t ranks = (size_t)b->columns->ranks;
	struct nn_op_product p = nn_ops[node->op]->product(node->attrs, &node->shapes[0]);
	const struct nn_kernel *kernel = b->device->kernels[node->op];

	if (nn_ops[node->op]->layout != NN_LAYOUT_DENSE && (!kernel || !kernel->derive))
		return false;
	if (p.groups > 1)
		return p.groups < p.in && p.groups >= ranks;
	return p.out >= ranks && (!node->want_dx || p.in >= ranks);
}

/* What of its channels is this rank's. */
static void make_channels(const struct nn_bound *b, struct nn_bound_node *node)
{
	int rank = b->columns->rank, ranks = b->columns->ranks;
	struct nn_sharded_node *s = node->sharded;
	struct nn_op_product p = nn_ops[node->op]->product(node->attrs, &node->shapes[0]);

	s->out = p.out;
	s->in = p.in;
	s->taps = p.taps;
	s->grouped = p.groups > 1;
	node->units = s->grouped ? p.groups : s->out;
	s->in_units = s->grouped ? p.groups : s->in;
	s->from = nn_sharded_first(node->units, rank, ranks) * (s->out / node->units);
	s->width =
		nn_sharded_first(node->units, rank + 1, ranks) * (s->out / node->units) - s->from;
	s->in_from = nn_sharded_first(s->in_units, rank, ranks) * (s->in / s->in_units);
	s->in_width =
		nn_sharded_first(s->in_units, rank + 1, ranks) * (s->in / s->in_units) - s->in_from;
}

/* This rank's part of the node; that without what is behind it; what makes its part of dx[0]. */
static void make_attrs(struct nn_sharded_node *s, struct nn_bound_node *node)
{
	const struct nn_op *op = nn_ops[node->op];

	op->narrow(node->attrs, s->width, s->grouped ? s->width / (s->out / node->units) : 1);
	memcpy(&s->bare, node->attrs, op->attrs_size);
	nn_op_strip(node->op, &s->bare);
	if (s->turned) {
		op->narrow(&s->back, s->in_width, 1);
		s->back_part.dim[s->back_part.rank - 1] = s->in_width;
		return;
	}
	memcpy(&s->back, &s->whole, op->attrs_size);
	nn_op_strip(node->op, &s->back);
	*nn_op_bias(node->op, &s->back) = false;
	s->back_part.dim[0] = s->in_width;
}

int nn_sharded_make_product(const struct nn_bound *b, struct nn_bound_node *node,
			    struct nn_error *err)
{
	struct nn_sharded_node *s = node->sharded;

	make_channels(b, node);
	s->epilogue = *nn_bound_epilogue(node);
	s->pooled = nn_op_is_pooled(node->op, node->attrs);
	s->turned = nn_ops[node->op]->layout == NN_LAYOUT_DENSE;
	s->back_part = node->shapes[0];
	make_attrs(s, node);
	node->want_dx = s->want_dx && s->grouped;
	if (s->grouped)
		node->shapes[0] = s->back_part;
	if (nn_ops[node->op]->infer(&s->bare, node->shapes, 1, &s->bare_out, err))
		return -1;
	node->shapes[1] = node->shape = s->bare_out;
	s->image = s->whole_out;
	if (!s->pooled)
		return 0;
	s->image.dim[1] = s->bare_out.dim[1];
	s->image.dim[2] = s->bare_out.dim[2];
	return nn_ops[node->op]->infer(node->attrs, node->shapes, 1, &node->shape, err);
}

struct nn_site nn_sharded_back_site(const struct nn_bound *b, const struct nn_bound_node *node)
{
	const struct nn_sharded_node *s = node->sharded;

	if (s->turned)
		return (struct nn_site){ .attrs = &s->back,
					 .in = &s->whole_out,
					 .n_in = 1,
					 .out = s->back_part,
					 .queue = b->queue };
	return (struct nn_site){ .attrs = &s->back,
				 .in = &s->back_part,
				 .n_in = 1,
				 .out = s->image,
				 .training = true,
				 .want_dx = true,
				 .queue = b->queue };
}

size_t nn_sharded_saved(const struct nn_bound *b, const struct nn_bound_node *node, size_t rows)
{
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	struct nn_site site = { .attrs = &node->sharded->whole,
				.in = node->sharded->whole_in,
				.n_in = node->n_in,
				.out = node->sharded->whole_out,
				.training = true };

	return kernel->saved ? kernel->saved(&site, rows) : 0;
}

size_t nn_sharded_place_size(const struct nn_bound *b, const struct nn_bound_node *node)
{
	return node->sharded->pooled
		       ? nn_sharded_saved(b, node, 1) / nn_shape_count(&node->sharded->whole_out)
		       : 0;
}

/* ---- what it brings and costs ---- */

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
