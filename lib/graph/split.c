/*
 * Products whose out-channels ranks share. Forward every rank makes its channels, and these are
 * brought together. Backward each has all of dy: the gradients of its weights need its channels of
 * it alone, and of the input's gradient it makes some channels over all of dy with weights that
 * every rank gets after an update: for each of its input channels those of all out-channels. A
 * dense layer has them the other way round, for a product forward; a convolution has what its
 * kernel derives from them, for one backward. So every sum over channels is one chain in one place,
 * and no rank has more than its share of a weight. Of a pooling all know where the largest values
 * were. Where a convolution has groups each rank has whole ones: what they need and make is its
 * own.
 */
#include <string.h>

#include "base/memory.h"
#include "graph/bound.h"

static size_t channels_in(const struct nn_bound *b, const struct nn_bound_node *node)
{
	const struct nn_shape *shape = &b->values[node->in[0]].shape;

	return node->op == NN_OP_conv2d ? shape->dim[0] : shape->dim[shape->rank - 1];
}

static size_t channels_out(const struct nn_bound_node *node)
{
	return node->op == NN_OP_conv2d ? ((const struct nn_conv2d *)node->attrs)->out
					: ((const struct nn_dense *)node->attrs)->out;
}

static bool pooled(const struct nn_bound_node *node)
{
	return node->op == NN_OP_conv2d && ((const struct nn_conv2d *)node->attrs)->pooled;
}

static size_t groups_of(const struct nn_bound_node *node)
{
	return node->op == NN_OP_conv2d ? ((const struct nn_conv2d *)node->attrs)->groups : 1;
}

/* Depthwise there is less to compute than to bring together: shared, a net of such layers took 1.4
 * times as much processor time. */
static bool shares(const struct nn_bound *b, const struct nn_bound_node *node)
{
	const struct nn_kernel *kernel = b->device->kernels[NN_OP_conv2d];
	size_t groups = groups_of(node);

	return (groups == 1 || groups < channels_in(b, node)) && kernel && kernel->derive;
}

bool nn_bound_splits(const struct nn_bound *b, const struct nn_bound_node *node)
{
	size_t ranks = b->columns ? (size_t)b->columns->ranks : 1;

	if (ranks < 2 || !b->training || node->source < 0)
		return false;
	if (node->op == NN_OP_embedding)
		return nn_rows_splits(b, node);
	if (node->op != NN_OP_dense && node->op != NN_OP_conv2d)
		return false;
	if (node->op == NN_OP_conv2d && !shares(b, node))
		return false;
	if (groups_of(node) > 1)
		return groups_of(node) >= ranks;
	return channels_out(node) >= ranks && (!node->want_dx || channels_in(b, node) >= ranks);
}

static void make_dense(struct nn_split *s, const struct nn_bound_node *node)
{
	s->part.dense = *(const struct nn_dense *)node->attrs;
	s->part.dense.out = s->width;
	s->bare.dense = s->part.dense;
	s->bare.dense.epilogue = (struct nn_epilogue){ 0 };
	s->back.dense = (struct nn_dense){ .out = s->in_width };
	s->back_part.dim[s->back_part.rank - 1] = s->in_width;
	s->taps = 1;
}

static void make_conv2d(struct nn_split *s, const struct nn_bound_node *node)
{
	const struct nn_conv2d *conv = node->attrs;

	s->part.conv2d = s->back.conv2d = *conv;
	s->part.conv2d.out = s->width;
	s->part.conv2d.groups = s->grouped ? s->width / (s->out / s->units) : 1;
	s->bare.conv2d = s->part.conv2d;
	s->bare.conv2d.epilogue = s->back.conv2d.epilogue = (struct nn_epilogue){ 0 };
	s->back.conv2d.bias = s->bare.conv2d.pooled = s->back.conv2d.pooled = false;
	s->back_part.dim[0] = s->in_width;
	s->taps = conv->kernel[0] * conv->kernel[1];
}

int nn_split_make(const struct nn_bound *b, struct nn_bound_node *node, struct nn_error *err)
{
	int rank = b->columns->rank, ranks = b->columns->ranks;
	struct nn_split *s = node->split = nn_alloc(1, sizeof *s, err);

	if (!s)
		return -1;
	if (node->op == NN_OP_embedding) {
		nn_rows_make(b, node);
		return 0;
	}
	s->out = channels_out(node);
	s->in = channels_in(b, node);
	s->grouped = groups_of(node) > 1;
	s->units = s->grouped ? groups_of(node) : s->out;
	s->in_units = s->grouped ? groups_of(node) : s->in;
	s->from = nn_split_first(s->units, rank, ranks) * (s->out / s->units);
	s->width = nn_split_first(s->units, rank + 1, ranks) * (s->out / s->units) - s->from;
	s->in_from = nn_split_first(s->in_units, rank, ranks) * (s->in / s->in_units);
	s->in_width =
		nn_split_first(s->in_units, rank + 1, ranks) * (s->in / s->in_units) - s->in_from;
	s->epilogue = *nn_bound_epilogue(node);
	s->back_part = node->shapes[0];
	(node->op == NN_OP_dense ? make_dense : make_conv2d)(s, node);
	s->part_in[0] = s->grouped ? s->back_part : node->shapes[0];
	if (nn_ops[node->op]->infer(&s->bare, s->part_in, 1, &s->bare_out, err))
		return -1;
	s->part_in[1] = s->part_out = s->bare_out;
	s->image = node->shape;
	if (!pooled(node))
		return 0;
	s->image.dim[1] = s->bare_out.dim[1];
	s->image.dim[2] = s->bare_out.dim[2];
	return nn_ops[node->op]->infer(&s->part, s->part_in, 1, &s->part_out, err);
}

struct nn_site nn_split_back_site(const struct nn_bound_node *node)
{
	const struct nn_split *s = node->split;

	if (node->op == NN_OP_dense)
		return (struct nn_site){
			.attrs = &s->back, .in = &node->shape, .n_in = 1, .out = s->back_part
		};
	return (struct nn_site){ .attrs = &s->back,
				 .in = &s->back_part,
				 .n_in = 1,
				 .out = s->image,
				 .training = true,
				 .want_dx = true };
}

size_t nn_split_saved(const struct nn_bound *b, const struct nn_bound_node *node, size_t rows)
{
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	struct nn_site site = { .attrs = node->attrs,
				.in = node->shapes,
				.n_in = node->n_in,
				.out = node->shape,
				.training = true };

	return kernel->saved ? kernel->saved(&site, rows) : 0;
}

/* Bytes that say where the largest value of a window was. */
static size_t place_size(const struct nn_bound *b, const struct nn_bound_node *node)
{
	return pooled(node) ? nn_split_saved(b, node, 1) / nn_shape_count(&node->shape) : 0;
}

/* ---- what it brings and costs ---- */

#define VECTOR 64 /* bytes of channels that a kernel makes at once */

static double vectors(const struct nn_bound *b, size_t channels)
{
	size_t lanes = VECTOR / nn_dtype_size(b->device->dtype);

	return (double)((channels + lanes - 1) / lanes);
}

void nn_split_count(const struct nn_bound *b, const struct nn_bound_node *node,
		    struct nn_graph_sharing *sharing)
{
	const struct nn_op *op = nn_ops[node->op];
	const struct nn_split *s = node->split;
	double ranks = s ? b->columns->ranks : 1,
	       crossing = 2 * (ranks - 1) / ranks * (double)nn_dtype_size(b->device->dtype);
	double flops = op->flops && !node->removed ? (double)op->flops(node->attrs, node->shapes,
								       node->n_in, &node->shape)
						   : 0;
	bool product = node->op == NN_OP_dense || node->op == NN_OP_conv2d;

	if (product)
		sharing->flops += flops;
	if (!s)
		return;
	sharing->row_bytes += crossing * (double)nn_shape_count(&node->shape);
	sharing->exchanges++;
	if (!product)
		return;
	sharing->saved += flops * (1 - vectors(b, (s->out + (size_t)ranks - 1) / (size_t)ranks) /
					       vectors(b, s->out));
	if (!node->want_dx)
		return;
	sharing->row_bytes += crossing * (double)nn_shape_count(&node->shapes[0]);
	sharing->step_bytes += crossing / ranks * (double)(s->out * s->in * s->taps);
	sharing->exchanges += 2;
}

/* ---- rows ---- */

static size_t rounded(size_t bytes)
{
	return (bytes + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN;
}

/*
 * Where this rank's channels of rows lie: of y or dy, of a residual, of places of maxima, of x, of
 * the input's gradient, and of what that is added to; and dy of all channels before a pooling.
 */
struct rooms {
	size_t residual, places, x, back, old, image, end; /* bytes from the beginning */
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static struct rooms rooms_of(const struct nn_bound *b, const struct nn_bound_node *node,
			     size_t rows)
{
	size_t size = nn_dtype_size(b->device->dtype),
	       in = rounded(rows * nn_shape_count(&node->split->back_part) * size);
	size_t out = nn_shape_count(&node->split->part_out),
	       image = nn_shape_count(&node->split->bare_out);
	struct rooms r = { .residual = rounded(rows * larger(out, image) * size) };

	r.places = r.residual + (node->split->epilogue.residual ? r.residual : 0);
	r.x = r.places + rounded(rows * out * place_size(b, node));
	r.back = r.x + (node->split->grouped ? in : 0);
	r.old = r.back + (node->want_dx ? in : 0);
	r.image = r.old + (node->op == NN_OP_dense ? r.old - r.back : 0);
	r.end = r.image +
		(pooled(node) ? rounded(rows * nn_shape_count(&node->split->image) * size) : 0);
	return r;
}

size_t nn_split_room(const struct nn_bound *b, const struct nn_bound_node *node, size_t max_rows)
{
	return node->op == NN_OP_embedding ? nn_rows_room(b, node, max_rows)
					   : rooms_of(b, node, max_rows).end;
}

static size_t lines_of(const struct nn_bound_node *node, const struct nn_call *call)
{
	return call->rows * (nn_shape_count(&node->shape) / node->split->out);
}

/* Elements from .. from + width - 1 of lines of n elements. */
static void take(const struct nn_bound *b, const void *all, size_t lines, size_t n, size_t from,
		 size_t width, void *part)
{
	size_t size = nn_dtype_size(b->device->dtype);

	for (size_t i = 0; i < lines; i++)
		memcpy((unsigned char *)part + i * width * size,
		       (const unsigned char *)all + (i * n + from) * size, width * size);
}

/* This rank's out-channels of rows that have all, before a pooling. */
static void take_channels(const struct nn_bound *b, const struct nn_bound_node *node,
			  const struct nn_call *call, const void *all, void *part)
{
	const struct nn_split *s = node->split;

	take(b, all, call->rows * (nn_shape_count(&s->image) / s->out), s->out, s->from, s->width,
	     part);
}

static size_t in_lines_of(const struct nn_bound *b, const struct nn_bound_node *node,
			  const struct nn_call *call)
{
	return call->rows * (nn_bound_count(b, node->in[0]) / node->split->in);
}

/* The same of the input, or its gradient. */
static void take_in(const struct nn_bound *b, const struct nn_bound_node *node,
		    const struct nn_call *call, const void *all, void *part)
{
	take(b, all, in_lines_of(b, node, call), node->split->in, node->split->in_from,
	     node->split->in_width, part);
}

/* What each rank has of lines of n channels, `size` bytes each, in units that are not cut. */
static void gather(const struct nn_bound *b, const void *part, void *whole, size_t lines, size_t n,
		   size_t units, size_t size)
{
	b->columns->gather(b->columns->arg, part, whole, lines, units, n / units * size);
}

/* The input as this rank needs it. */
static const void *input_of(struct nn_graph *graph, const struct nn_bound_node *node,
			    const struct nn_call *call)
{
	const struct nn_bound *b = &graph->bound;
	unsigned char *x = nn_graph_at(graph, graph->plan.room);

	if (!node->split->grouped)
		return call->x[0];
	x += rooms_of(b, node, graph->max_rows).x;
	take_in(b, node, call, call->x[0], x);
	return x;
}

void nn_split_forward(struct nn_graph *graph, const struct nn_bound_node *node,
		      struct nn_call *call)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_split *s = node->split;
	unsigned char *room = nn_graph_at(graph, graph->plan.room);
	struct rooms rooms = rooms_of(b, node, graph->max_rows);
	const void *x[2] = { input_of(graph, node, call), room + rooms.residual };
	struct nn_call own = *call;

	own.x = x;
	own.saved = room + rooms.places;
	if (s->epilogue.residual)
		take_channels(b, node, call, call->x[1], room + rooms.residual);
	b->device->kernels[node->op]->forward(&own);
	gather(b, call->y, nn_graph_value_at(graph, node->out), lines_of(node, call), s->out,
	       s->units, nn_dtype_size(b->device->dtype));
	if (pooled(node))
		gather(b, own.saved, call->saved, lines_of(node, call), s->out, s->units,
		       place_size(b, node));
}

/* Channels of the input's gradient from all of dy, and those of the others. */
static void input_gradient(struct nn_graph *graph, const struct nn_bound_node *node,
			   const struct nn_call *call, void *dy)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_split *s = node->split;
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	struct rooms rooms = rooms_of(b, node, graph->max_rows);
	unsigned char *room = nn_graph_at(graph, graph->plan.room), *part = room + rooms.back;
	unsigned char *old = node->op == NN_OP_dense ? room + rooms.old : part;
	void *w = nn_graph_at(graph, s->weights), *dx[] = { part }, *none[] = { NULL, NULL };
	struct nn_call back = *call;

	if (call->dx_add[0])
		take_in(b, node, call, call->dx[0], old);
	back.site = nn_split_back_site(node);
	if (node->op == NN_OP_dense) {
		back.x = (const void *const[]){ dy };
		back.y = part;
		back.w = &w;
		kernel->forward(&back);
		if (call->dx_add[0])
			b->device->add(part, old, in_lines_of(b, node, call) * s->in_width,
				       graph->pool);
	} else {
		back.dy = dy;
		back.dx = dx;
		back.dw = none;
		back.derived = w;
		kernel->backward(&back);
	}
	gather(b, part, call->dx[0], in_lines_of(b, node, call), s->in, s->in_units,
	       nn_dtype_size(b->device->dtype));
}

/* dy becomes the gradient before the epilogue, with the arithmetic of the ops that it stands for;
 * the residual gets it. */
static void undo_epilogue(struct nn_graph *graph, const struct nn_bound_node *node,
			  const struct nn_call *call, void *dy)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_epilogue *epilogue = &node->split->epilogue;
	size_t n = call->rows * nn_shape_count(&node->shape);

	if (epilogue->activation != NN_ACT_NONE) {
		struct nn_activation_attrs attrs = { epilogue->activation, epilogue->slope };
		void *y = nn_graph_value_at(graph, node->out), *dx[] = { dy };
		const void *x[] = { y };
		struct nn_call back = *call;

		back.site = (struct nn_site){ .attrs = &attrs,
					      .in = &node->shape,
					      .n_in = 1,
					      .out = node->shape,
					      .training = true,
					      .want_dx = true };
		back.x = x;
		back.y = y;
		back.dy = dy;
		back.dx = dx;
		back.dx_add = (const bool[]){ false };
		b->device->kernels[NN_OP_activation]->backward(&back);
	}
	if (!epilogue->residual || !call->dx[1] || call->dx[1] == dy)
		return;
	if (call->dx_add[1])
		b->device->add(call->dx[1], dy, n, graph->pool);
	else
		memcpy(call->dx[1], dy, n * nn_dtype_size(b->device->dtype));
}

/* The gradient before a pooling, of all channels. */
static void *undo_pooling(struct nn_graph *graph, const struct nn_bound_node *node,
			  const struct nn_call *call, void *dy)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_split *s = node->split;
	struct nn_pool2d attrs = { s->part.conv2d.pool };
	void *dx[] = { (unsigned char *)nn_graph_at(graph, graph->plan.room) +
		       rooms_of(b, node, graph->max_rows).image };
	struct nn_call back = *call;

	back.site = (struct nn_site){ .attrs = &attrs,
				      .in = &s->image,
				      .n_in = 1,
				      .out = node->shape,
				      .training = true,
				      .want_dx = true };
	back.dy = dy;
	back.dx = dx;
	back.dx_add = (const bool[]){ false };
	b->device->kernels[NN_OP_maxpool2d]->backward(&back);
	return dx[0];
}

void nn_split_backward(struct nn_graph *graph, const struct nn_bound_node *node,
		       struct nn_call *call)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_split *s = node->split;
	unsigned char *part = (unsigned char *)nn_graph_at(graph, graph->plan.room) +
			      rooms_of(b, node, graph->max_rows).back;
	void *dy = nn_graph_gradient_at(graph, node->out),
	     *dx[] = { s->grouped && call->dx[0] ? part : NULL, NULL };
	const void *x[] = { input_of(graph, node, call) };
	struct nn_call own = *call;

	undo_epilogue(graph, node, call, dy);
	if (pooled(node))
		dy = undo_pooling(graph, node, call, dy);
	take_channels(b, node, call, dy, own.dy);
	own.site.attrs = &s->bare;
	own.site.out = s->bare_out;
	own.site.n_in = 1;
	own.x = x;
	own.dx = dx;
	if (dx[0] && call->dx_add[0])
		take_in(b, node, call, call->dx[0], part);
	b->device->kernels[node->op]->backward(&own);
	if (dx[0])
		gather(b, part, call->dx[0], in_lines_of(b, node, call), s->in, s->in_units,
		       nn_dtype_size(b->device->dtype));
	else if (call->dx[0])
		input_gradient(graph, node, call, dy);
}
