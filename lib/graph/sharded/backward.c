/*
 * The steps backward of a product that ranks share: the gradient before epilogue and pooling, this
 * rank's weights, and the input's gradient.
 */
#include "graph/sharded/parts.h"
#include "graph/sharded/steps.h"

/* ---- backward: the gradient before the epilogue and the pooling, of all channels ---- */

/* An op's backward that the kernel's epilogue stands for: with its arithmetic. */
static struct nn_part_call *undo(const struct nn_shared_parts *h, struct nn_graph_step *made,
				 enum nn_op_id op, const struct nn_shape *in, void *dx,
				 struct nn_error *err)
{
	struct nn_part_call *p =
		nn_shared_call(h, made, h->b->device->kernels[op]->backward, sizeof *p, err);

	if (!p)
		return NULL;
	p->dx[0] = dx;
	p->call.site = (struct nn_site){ .attrs = &p->attrs,
					 .in = in,
					 .n_in = 1,
					 .out = h->s->whole_out,
					 .training = true,
					 .want_dx = true,
					 .queue = h->b->queue };
	p->call.dx = p->dx;
	p->call.dx_add = p->add;
	return p;
}

static int fill_undo_activation(struct nn_graph *graph, const struct nn_planned_step *step,
				struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);
	const struct nn_epilogue *epilogue = &h.s->epilogue;
	struct nn_part_call *p =
		undo(&h, made, nn_op_of(NN_ROLE_ACTIVATION), &h.s->whole_out, h.call->dy, err);

	if (!p)
		return -1;
	p->attrs.activation = (struct nn_activation_attrs){ epilogue->activation, epilogue->slope };
	p->x[0] = h.call->y;
	p->call.x = p->x;
	return 0;
}

/* The residual's gradient is dy, unless it lies there already. */
static int fill_residual_gradient(struct nn_graph *graph, const struct nn_planned_step *step,
				  struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);
	size_t n = nn_shape_count(&h.s->whole_out);
	struct nn_take_call copy = { .from = h.call->dy,
				     .to = h.call->dx[1],
				     .lines = 1,
				     .line = n * h.size,
				     .bytes = n * h.size };

	if (!h.call->dx[1] || h.call->dx[1] == h.call->dy)
		return 0;
	if (!h.call->dx_add[1])
		return nn_shared_take(&h, made, &copy, err);
	return nn_shared_add(&h, made, h.call->dx[1], h.call->dy, n, err);
}

static int fill_undo_pooling(struct nn_graph *graph, const struct nn_planned_step *step,
			     struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);
	struct nn_part_call *p =
		undo(&h, made, nn_op_of(NN_ROLE_MAXPOOL), &h.s->image, h.room + h.rooms.image, err);

	if (!p)
		return -1;
	p->attrs.pool =
		(struct nn_pool2d){ nn_op_pooling(h.node->op, (void *)&h.s->whole)->window };
	return 0;
}

static void *bare_gradient(const struct nn_shared_parts *h)
{
	return h->s->pooled ? h->room + h->rooms.image : h->call->dy;
}

/* ---- backward: weights, and the input's gradient ---- */

static int fill_take_gradient(struct nn_graph *graph, const struct nn_planned_step *step,
			      struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);

	return nn_shared_take_out(&h, made, bare_gradient(&h), h.room, err);
}

/* What this rank's channels of the input's gradient are added to. */
static int fill_take_old(struct nn_graph *graph, const struct nn_planned_step *step,
			 struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);

	if (!h.call->dx_add[0])
		return 0;
	return nn_shared_take_in(&h, made, h.call->dx[0],
				 h.room + (h.s->turned ? h.rooms.old : h.rooms.back), err);
}

static int fill_backward(struct nn_graph *graph, const struct nn_planned_step *step,
			 struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);
	struct nn_part_call *p = nn_shared_call(&h, made, h.kernel->backward, sizeof *p, err);

	if (!p)
		return -1;
	p->x[0] = nn_shared_input(&h);
	p->dx[0] = h.s->grouped && h.call->dx[0] ? h.room + h.rooms.back : NULL;
	p->call.site.attrs = &h.s->bare;
	p->call.site.out = h.s->bare_out;
	p->call.site.n_in = 1;
	p->call.x = p->x;
	p->call.dx = p->dx;
	p->call.y = p->call.dy = h.room;
	return 0;
}

/* Dense: this rank's channels of the input's gradient are a product over dy. */
static int fill_back_product(struct nn_graph *graph, const struct nn_planned_step *step,
			     struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);
	struct nn_part_call *p = nn_shared_call(&h, made, h.kernel->forward, sizeof *p, err);

	if (!p)
		return -1;
	p->x[0] = bare_gradient(&h);
	p->w[0] = nn_graph_at(graph, h.s->weights);
	p->call.site = nn_sharded_back_site(h.b, h.node);
	p->call.x = p->x;
	p->call.w = p->w;
	p->call.y = h.room + h.rooms.back;
	return 0;
}

static int fill_add_old(struct nn_graph *graph, const struct nn_planned_step *step,
			struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);

	if (!h.call->dx_add[0])
		return 0;
	return nn_shared_add(&h, made, h.room + h.rooms.back, h.room + h.rooms.old,
			     h.in_lines * h.s->in_width, err);
}

/* Convolutions have a kernel for it. */
static int fill_back_kernel(struct nn_graph *graph, const struct nn_planned_step *step,
			    struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);
	struct nn_part_call *p = nn_shared_call(&h, made, h.kernel->backward, sizeof *p, err);

	if (!p)
		return -1;
	p->dx[0] = h.room + h.rooms.back;
	p->call.site = nn_sharded_back_site(h.b, h.node);
	p->call.dy = bare_gradient(&h);
	p->call.dx = p->dx;
	p->call.dw = p->dw;
	p->call.derived = nn_graph_at(graph, h.s->weights);
	return 0;
}

static int fill_gather_gradient(struct nn_graph *graph, const struct nn_planned_step *step,
				struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);
	struct nn_gather_call g = { .part = h.room + h.rooms.back,
				    .whole = h.call->dx[0],
				    .lines = h.in_lines,
				    .units = h.s->in_units,
				    .bytes = h.s->in / h.s->in_units * h.size };

	return nn_shared_gather(&h, made, &g, err);
}

void nn_sharded_product_backward(struct nn_steps *to, const struct nn_planned_step *step,
				 const struct nn_bound *b)
{
	const struct nn_sharded_node *s = b->nodes[step->node].sharded;
	bool turned = s->want_dx && !s->grouped && s->turned,
	     derived = s->want_dx && !s->grouped && !s->turned;

	nn_shared_put(to, step, s->grouped, nn_shared_fill_input);
	nn_shared_put(to, step, s->epilogue.activation != NN_ACT_NONE, fill_undo_activation);
	nn_shared_put(to, step, s->epilogue.residual, fill_residual_gradient);
	nn_shared_put(to, step, s->pooled, fill_undo_pooling);
	nn_shared_put(to, step, true, fill_take_gradient);
	nn_shared_put(to, step, s->want_dx && s->grouped, fill_take_old);
	nn_shared_put(to, step, true, fill_backward);
	nn_shared_put(to, step, turned || derived, fill_take_old);
	nn_shared_put(to, step, turned, fill_back_product);
	nn_shared_put(to, step, turned, fill_add_old);
	nn_shared_put(to, step, derived, fill_back_kernel);
	nn_shared_put(to, step, s->want_dx, fill_gather_gradient);
	if (to->status == 0)
		to->step[to->n - 1].event = step->event;
}
