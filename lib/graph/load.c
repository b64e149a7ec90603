/* Parameters into a graph: fetched, packed and rid of subnormals, a large weight in pieces. */
#include "base/memory.h"
#include "base/subnormal.h"
#include "graph/instance.h"
#include "graph/pieces.h"

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

/* Out-channels of a piece are a multiple of this: panels of all types and kernels end there. */
#define UNIT 32
#define PIECE ((size_t)256 << 10) /* bytes, about */

static void load_piece(void *arg, const struct nn_weight_piece *piece)
{
	const struct loading *l = arg;
	unsigned char *to = packed_at(l, piece->param) +
			    nn_piece_packed(piece->bound, piece->param, piece->first) * size_of(l);

	nn_piece_pack(piece, to);
	nn_flush_values(to, piece->packed, piece->bound->device->dtype);
}

static int load_pieces(struct loading *l, const struct nn_bound_param *param, struct nn_error *err)
{
	const struct nn_bound *b = &l->graph->bound;
	const struct nn_pieces pieces = {
		.bound = b,
		.param = param,
		.channels = nn_piece_channels(b, param, UNIT, PIECE),
		.values = l->values,
		.use = load_piece,
		.arg = l,
	};

	return nn_pieces_run(&pieces, l->pool, err);
}

/* ---- all of them ---- */

static int load_param(struct loading *l, const struct nn_bound_param *param, struct nn_error *err)
{
	const void *canonical;

	if (nn_in_pieces(&l->graph->bound, param))
		return load_pieces(l, param, err);
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

/* Is parameter k of the node to be loaded now? */
static bool wanted(const struct nn_bound *b, const struct nn_bound_node *node, int k,
		   enum nn_graph_load which)
{
	return which == NN_LOAD_ALL ||
	       (which == NN_LOAD_REST) == (k == 0 && nn_bound_passes(b, node));
}

int nn_graph_load_values(struct nn_graph *graph, const struct nn_graph_values *values,
			 enum nn_graph_load which, struct nn_pool *pool, struct nn_error *err)
{
	struct loading l = { .graph = graph, .values = values, .pool = pool };
	struct nn_bound *b = &graph->bound;
	int status = 0;

	if (graph->share)
		NN_BUG("the weights belong to another graph");
	if (which != NN_LOAD_ALL)
		nn_memory_sparse(graph->weights, graph->plan.memory.parameters,
				 which == NN_LOAD_SOME);
	for (int i = 0; i < b->n_nodes && status == 0; i++) {
		const struct nn_bound_node *node = &b->nodes[i];

		if (node->norm >= 0 && which != NN_LOAD_REST)
			status = load_folded(&l, node, err);
		for (int k = 0; node->norm < 0 && k < node->n_params && status == 0; k++)
			if (wanted(b, node, k, which))
				status = load_param(&l, &b->params[node->param + k], err);
	}
	nn_free(l.room);
	if (status < 0)
		return -1;
	if (which != NN_LOAD_REST) /* of which nothing is derived */
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

	return nn_graph_load_values(graph, &(struct nn_graph_values){ get_there, &t }, NN_LOAD_ALL,
				    NULL, err);
}
