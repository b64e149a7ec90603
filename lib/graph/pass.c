/*
 * Few rows forward while weights of large dense layers stay where they are: each piece of such a
 * weight is multiplied as it comes, or packed into a small room and multiplied there, so that a
 * process which has few rows to answer needs no memory for it, and no time to have that cleared.
 */
#include <string.h>

#include "base/memory.h"
#include "graph/instance.h"
#include "graph/pieces.h"

/* A piece, as it comes and packed, stays in a second-level cache. */
#define UNIT 16
#define PIECE ((size_t)128 << 10) /* bytes, about */

bool nn_bound_passes(const struct nn_bound *b, const struct nn_bound_node *node)
{
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	struct nn_site site = nn_bound_site(b, node);

	return node->op == NN_OP_dense && node->norm < 0 && site.in->rank == 1 &&
	       !nn_bound_has_residual(node) && !(kernel->derived && kernel->derived(&site)) &&
	       nn_in_pieces(b, &b->params[node->param]);
}

bool nn_graph_has_rest(const struct nn_graph *graph)
{
	const struct nn_bound *b = &graph->bound;

	for (int i = 0; i < b->n_nodes; i++)
		if (nn_bound_passes(b, &b->nodes[i]))
			return true;
	return false;
}

/* A layer at work. Each thread has a room: a packed piece, its results, a kernel's scratch. */
struct passing {
	const struct nn_call *call;
	const struct nn_kernel *kernel;
	char *rooms;
	size_t room, results, work; /* bytes of a room; where results and scratch begin in it */
};

static void pass_piece(void *arg, const struct nn_weight_piece *piece)
{
	const struct passing *p = arg;
	size_t size = nn_dtype_size(piece->bound->device->dtype), n = piece->n * size;
	size_t first = piece->first * size, row = p->call->site.out.dim[0] * size;
	char *room = p->rooms + (size_t)piece->thread * p->room;
	bool bias = piece->bound->nodes[piece->param->node].n_params > 1;
	void *w[2] = { (void *)(uintptr_t)piece->canonical,
		       bias ? (char *)p->call->w[1] + first : NULL };
	struct nn_call call = *p->call;

	/* products take a subnormal for zero (base/flush.h) */
	call.site = piece->site;
	call.site.out.dim[0] = piece->n;
	call.w = w;
	call.y = room + p->results;
	call.work = room + p->work;
	call.pool = NULL;
	if (!p->kernel->plain || !p->kernel->plain(&call)) {
		w[0] = room;
		nn_piece_pack(piece, room);
		p->kernel->forward(&call);
	}
	for (size_t r = 0; r < call.rows; r++)
		memcpy((char *)p->call->y + r * row + first, (char *)call.y + r * n, n);
}

static size_t rounded(size_t bytes)
{
	return (bytes + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN;
}

static int pass_node(const struct nn_graph *graph, const struct nn_bound_node *node,
		     const struct nn_call *call, const struct nn_graph_values *values,
		     struct nn_pool *pool, struct nn_error *err)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_bound_param *param = &b->params[node->param];
	struct passing p = { .call = call, .kernel = b->device->kernels[node->op] };
	const struct nn_pieces pieces = {
		.bound = b,
		.param = param,
		.channels = nn_piece_channels(b, param, UNIT, PIECE),
		.values = values,
		.use = pass_piece,
		.arg = &p,
	};
	size_t size = nn_dtype_size(b->device->dtype);
	int status;

	p.results = rounded(nn_piece_packed(b, param, pieces.channels) * size);
	p.work = p.results + rounded(call->rows * pieces.channels * size);
	p.room = p.work + rounded(p.kernel->work(&call->site, call->rows, 0, 1));
	p.rooms = nn_alloc((size_t)nn_pool_threads(pool), p.room, err);
	status = p.rooms ? nn_pieces_run(&pieces, pool, err) : -1;
	nn_free(p.rooms);
	return status;
}

/* The node whose forward a step is; -1: it is no kernel's. */
static int node_of(const struct nn_graph *graph, const struct nn_graph_step *step)
{
	const struct nn_call *first = graph->calls;

	return step->call >= first && step->call < first + graph->bound.n_nodes
		       ? (int)(step->call - first)
		       : -1;
}

int nn_graph_pass(struct nn_graph *graph, const struct nn_span *span,
		  const struct nn_graph_values *values, struct nn_pool *pool, struct nn_error *err)
{
	const struct nn_step_list *forward = &graph->steps->forward;
	const struct nn_bound *b = &graph->bound;

	for (int i = 0; i < forward->n; i++) {
		struct nn_graph_step *step = &forward->step[i];
		int node = node_of(graph, step);

		if (node < 0 || !nn_bound_passes(b, &b->nodes[node])) {
			nn_graph_run_step(graph, step, span);
			continue;
		}
		step->call->rows = span->rows;
		if (pass_node(graph, &b->nodes[node], step->call, values, pool, err) < 0)
			return -1;
	}
	return 0;
}
