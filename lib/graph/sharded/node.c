/* What a product becomes where ranks share it. */
#include <string.h>

#include "graph/sharded/node.h"

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
