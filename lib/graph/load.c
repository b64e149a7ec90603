/*
 * Parameters into a graph: fetched, packed and rid of subnormals, a large weight in pieces of its
 * out-channels that stay in a cache between these steps and that threads share.
 */
#include <string.h>

#include "base/memory.h"
#include "base/subnormal.h"
#include "graph/instance.h"

/* Out-channels of a piece are a multiple of this: panels of all types and kernels end there. */
#define UNIT 32
#define PIECE ((size_t)256 << 10) /* bytes of a piece, about */

struct loading {
	struct nn_graph *graph;
	const struct nn_graph_values *values;
	struct nn_pool *pool;
	void *room; /* of whole parameters, one after the other */
	size_t room_bytes;
};

static size_t size_of(const struct loading *l)
{
	return nn_dtype_size(l->graph->bound.device->dtype);
}

/* The whole of a parameter of the program: where it lies, or in room of `bytes` that grows. */
static const void *fetch(struct loading *l, int param, struct nn_error *err)
{
	size_t n = nn_shape_count(&l->graph->bound.program->params[param].desc.shape);
	const void *there = l->values->get(l->values->arg, param, 0, n, NULL, NULL);

	if (there)
		return there;
	if (n * size_of(l) > l->room_bytes || !l->room) {
		nn_free(l->room);
		l->room_bytes = n * size_of(l);
		l->room = nn_alloc(n, size_of(l), err);
		if (!l->room)
			return NULL;
	}
	return l->values->get(l->values->arg, param, 0, n, l->room, err);
}

static unsigned char *packed_at(const struct loading *l, const struct nn_bound_param *param)
{
	const struct nn_graph *g = l->graph;

	return nn_graph_param_at(g, param->desc.role == NN_BUFFER ? g->buffers : g->weights, param);
}

/* ---- in pieces ---- */

struct pieces {
	struct loading *l;
	const struct nn_bound_param *param;
	size_t channels, each; /* of the weight; of a piece */
	size_t row;            /* elements of a channel */
	char *rooms;           /* [threads] of a piece each; NULL: values are fetched where they lie */
	struct nn_error *errors; /* [threads] */
};

/* Elements of the first n out-channels as they are packed. */
static size_t packed_of(const struct pieces *p, const union nn_op_attrs *attrs, size_t n)
{
	const struct nn_bound *b = &p->l->graph->bound;
	const struct nn_bound_node *node = &b->nodes[p->param->node];
	struct nn_site site = nn_bound_site(b, node);
	union nn_op_attrs part = *attrs;

	nn_ops[node->op]->narrow(&part, n, 1);
	site.attrs = &part;
	return n ? b->device->kernels[node->op]->packed(&site, p->param->index) : 0;
}

static void load_piece(void *arg, size_t i, int thread)
{
	const struct pieces *p = arg;
	const struct nn_bound *b = &p->l->graph->bound;
	const struct nn_bound_node *node = &b->nodes[p->param->node];
	const struct nn_graph_values *values = p->l->values;
	size_t first = i * p->each, size = size_of(p->l), n = p->channels - first, before;
	struct nn_site site = nn_bound_site(b, node);
	union nn_op_attrs whole, part;
	const void *canonical;
	unsigned char *to;

	n = n < p->each ? n : p->each;
	canonical = values->get(values->arg, p->param->source, first * p->row, n * p->row,
				p->rooms ? p->rooms + (size_t)thread * p->each * p->row * size : NULL,
				&p->errors[thread]);
	if (!canonical)
		return;
	memcpy(&whole, node->attrs, nn_ops[node->op]->attrs_size);
	before = packed_of(p, &whole, first);
	part = whole;
	nn_ops[node->op]->narrow(&part, n, 1);
	site.attrs = &part;
	to = packed_at(p->l, p->param) + before * size;
	b->device->kernels[node->op]->pack(&site, p->param->index, canonical, to);
	nn_flush_values(to, packed_of(p, &whole, n), b->device->dtype);
}

/* A weight of the host that is packed out-channel by out-channel, and more than one piece. */
static bool in_pieces(struct pieces *p)
{
	const struct nn_bound *b = &p->l->graph->bound;
	const struct nn_bound_node *node = &b->nodes[p->param->node];
	const struct nn_op *op = nn_ops[node->op];
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	const struct nn_shape *shape = &p->param->desc.shape;
	struct nn_site site = nn_bound_site(b, node);
	size_t unit;

	if (b->queue || p->param->index > 0 || !nn_op_is_product(node->op) || !op->bias ||
	    node->sharded || op->product(node->attrs, &site.in[0]).groups > 1 ||
	    !kernel->packed || !kernel->packed(&site, 0))
		return false;
	p->channels = shape->dim[0];
	p->row = nn_shape_count(shape) / p->channels;
	unit = UNIT * p->row * size_of(p->l);
	p->each = unit < PIECE ? PIECE / unit * UNIT : UNIT;
	return p->channels > p->each;
}

static int load_pieces(struct pieces *p, struct nn_error *err)
{
	struct loading *l = p->l;
	size_t threads = (size_t)nn_pool_threads(l->pool),
	       n = (p->channels + p->each - 1) / p->each;
	bool there = l->values->get(l->values->arg, p->param->source, 0, 1, NULL, NULL);
	int status = 0;

	p->errors = nn_alloc(threads, sizeof *p->errors, err);
	p->rooms = there ? NULL : nn_alloc(threads * p->each * p->row, size_of(l), err);
	if (!p->errors || !(there || p->rooms))
		status = -1;
	else
		nn_pool_run(l->pool, n, load_piece, p);
	for (size_t t = 0; p->errors && t < threads && status == 0; t++)
		if (p->errors[t].text[0])
			status = nn_fail(err, p->errors[t].code, "%s", p->errors[t].text);
	nn_free(p->errors);
	nn_free(p->rooms);
	return status;
}

/* ---- all of them ---- */

static int load_param(struct loading *l, const struct nn_bound_param *param, struct nn_error *err)
{
	struct pieces p = { .l = l, .param = param };
	const void *canonical;

	if (in_pieces(&p))
		return load_pieces(&p, err);
	canonical = fetch(l, param->source, err);
	if (!canonical)
		return -1;
	nn_graph_put_param(l->graph, param, canonical, packed_at(l, param));
	return 0;
}

/* A node's parameters, where they lie or in rooms, which are nn_free'd. */
static int fetch_node(struct loading *l, const struct nn_node *node, const void **params,
		      void **rooms, struct nn_error *err)
{
	const struct nn_graph_values *v = l->values;

	for (int k = 0; k < node->n_params; k++) {
		int p = node->param + k;
		size_t n = nn_shape_count(&l->graph->bound.program->params[p].desc.shape);

		params[p] = v->get(v->arg, p, 0, n, NULL, NULL);
		if (params[p])
			continue;
		rooms[k] = nn_alloc(n, size_of(l), err);
		params[p] = rooms[k] ? v->get(v->arg, p, 0, n, rooms[k], err) : NULL;
		if (!params[p])
			return -1;
	}
	return 0;
}

/* Weight and bias of a product with a batchnorm folded in. */
static int load_folded(struct loading *l, const struct nn_bound_node *node, struct nn_error *err)
{
	struct nn_bound *b = &l->graph->bound;
	const struct nn_node *nodes = b->program->nodes;
	struct nn_bound_param *weight = &b->params[node->param], *bias = weight + 1;
	const void **params = nn_alloc((size_t)b->program->n_params, sizeof *params, err);
	void *w = nn_alloc(nn_shape_count(&weight->desc.shape), size_of(l), err);
	void *c = nn_alloc(nn_shape_count(&bias->desc.shape), size_of(l), err);
	void *rooms[2 * NN_MAX_PARAMS] = { 0 };
	int status = -1;

	if (params && w && c && fetch_node(l, &nodes[node->source], params, rooms, err) == 0 &&
	    fetch_node(l, &nodes[node->norm], params, rooms + NN_MAX_PARAMS, err) == 0) {
		nn_fold_batchnorm(b, node, params, w, c);
		nn_graph_put_param(l->graph, weight, w, packed_at(l, weight));
		nn_graph_put_param(l->graph, bias, c, packed_at(l, bias));
		status = 0;
	}
	for (size_t i = 0; i < 2 * NN_MAX_PARAMS; i++)
		nn_free(rooms[i]);
	nn_free(params);
	nn_free(w);
	nn_free(c);
	return status;
}

int nn_graph_load_values(struct nn_graph *graph, const struct nn_graph_values *values,
			 struct nn_pool *pool, struct nn_error *err)
{
	struct loading l = { .graph = graph, .values = values, .pool = pool };
	struct nn_bound *b = &graph->bound;
	int status = 0;

	if (graph->share)
		NN_BUG("the weights belong to another graph");
	for (int i = 0; i < b->n_nodes && status == 0; i++) {
		const struct nn_bound_node *node = &b->nodes[i];

		if (node->norm >= 0)
			status = load_folded(&l, node, err);
		for (int k = 0; node->norm < 0 && k < node->n_params && status == 0; k++)
			status = load_param(&l, &b->params[node->param + k], err);
	}
	nn_free(l.room);
	if (status < 0)
		return -1;
	nn_graph_refresh(graph);
	return nn_queue_wait(b->queue, err);
}

/* ---- of values that are all in memory ---- */

struct there {
	const void *const *params;
	size_t size;
};

static const void *get_there(void *arg, int param, size_t first, size_t n, void *room,
			     struct nn_error *err)
{
	const struct there *t = arg;

	(void)n;
	(void)room;
	(void)err;
	return (const char *)t->params[param] + first * t->size;
}

int nn_graph_load(struct nn_graph *graph, const void *const *params, struct nn_error *err)
{
	struct there t = { params, nn_dtype_size(graph->bound.device->dtype) };

	return nn_graph_load_values(graph, &(struct nn_graph_values){ get_there, &t }, NULL, err);
}
