/*
 * A product whose out-channels ranks share, and its steps forward. Every rank makes its channels,
 * and these are brought together. Backward (sharded-backward.c) each has all of dy: the gradients
 * of its weights need its channels of it alone, and of the input's gradient it makes some channels
 * over all of dy with weights that every rank gets after an update: for each of its input channels
 * those of all out-channels. A dense layer has them the other way round, for a product forward; a
 * convolution has what its kernel derives from them, for one backward. So every sum over channels
 * is one chain in one place, and no rank has more than its share of a weight. Of a pooling all know
 * where the largest values were. Where a convolution has groups each rank has whole ones: what they
 * need and make is its own.
 */
#include "graph/sharded/parts.h"
#include "graph/sharded/steps.h"

static int fill_take_residual(struct nn_graph *graph, const struct nn_planned_step *step,
			      struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);

	return nn_shared_take_out(&h, made, h.call->x[1], h.room + h.rooms.residual, err);
}

static int fill_forward(struct nn_graph *graph, const struct nn_planned_step *step,
			struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);
	struct nn_part_call *p = nn_shared_call(&h, made, h.kernel->forward, sizeof *p, err);

	if (!p)
		return -1;
	p->x[0] = nn_shared_input(&h);
	p->x[1] = h.room + h.rooms.residual;
	p->call.x = p->x;
	p->call.y = h.room;
	p->call.saved = h.room + h.rooms.places;
	return 0;
}

static int fill_gather_output(struct nn_graph *graph, const struct nn_planned_step *step,
			      struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);
	struct nn_gather_call g = { .part = h.room,
				    .whole = h.call->y,
				    .lines = h.out_lines,
				    .units = h.node->units,
				    .bytes = h.s->out / h.node->units * h.size };

	return nn_shared_gather(&h, made, &g, err);
}

static int fill_gather_places(struct nn_graph *graph, const struct nn_planned_step *step,
			      struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);
	struct nn_gather_call g = { .part = h.room + h.rooms.places,
				    .whole = h.call->saved,
				    .lines = h.out_lines,
				    .units = h.node->units,
				    .bytes = h.s->out / h.node->units *
					     nn_sharded_place_size(h.b, h.node) };

	return nn_shared_gather(&h, made, &g, err);
}

/* Scratch of the product over dy; of a convolution the input's gradient alone needs none. */
static size_t back_work(const struct nn_bound *b, const struct nn_bound_node *node,
			const struct nn_graph_options *options)
{
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	struct nn_site site = nn_sharded_back_site(b, node);

	if (!node->sharded->want_dx || !kernel->work || !node->sharded->turned)
		return 0;
	return kernel->work(&site, options->max_rows, options->max_leaves,
			    nn_pool_threads(options->pool));
}

void nn_sharded_product_forward(struct nn_steps *to, const struct nn_planned_step *step,
				const struct nn_bound *b, const struct nn_graph_options *options)
{
	const struct nn_bound_node *node = &b->nodes[step->node];
	const struct nn_sharded_node *s = node->sharded;
	struct nn_planned_step all = *step;
	size_t work = back_work(b, node, options);

	if (work > all.scratch[NN_SCRATCH_WORK])
		all.scratch[NN_SCRATCH_WORK] = work;
	all.scratch[NN_SCRATCH_ROOM] = nn_shared_rooms_of(b, node, options->max_rows).end;
	all.saved = nn_sharded_saved(b, node, options->max_rows);
	nn_shared_put(to, &all, s->grouped, nn_shared_fill_input);
	nn_shared_put(to, &all, s->epilogue.residual, fill_take_residual);
	nn_shared_put(to, &all, true, fill_forward);
	nn_shared_put(to, &all, true, fill_gather_output);
	nn_shared_put(to, &all, s->pooled, fill_gather_places);
}
