/* What the steps of a shared product are made of: its parts in scratch, and what brings them there.
 */
#include <string.h>

#include "base/memory.h"
#include "graph/sharded/parts.h"

/* ---- this rank's channels of rows, in scratch ---- */

static size_t rounded(size_t bytes)
{
	return (bytes + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

struct nn_shared_rooms nn_shared_rooms_of(const struct nn_bound *b,
					  const struct nn_bound_node *node, size_t rows)
{
	const struct nn_sharded_node *s = node->sharded;
	size_t size = nn_dtype_size(b->device->dtype),
	       in = rounded(rows * nn_shape_count(&s->back_part) * size);
	size_t out = nn_shape_count(&node->shape), image = nn_shape_count(&s->bare_out);
	struct nn_shared_rooms r = { .residual = rounded(rows * larger(out, image) * size) };

	r.places = r.residual + (s->epilogue.residual ? r.residual : 0);
	r.x = r.places + rounded(rows * out * nn_sharded_place_size(b, node));
	r.back = r.x + (s->grouped ? in : 0);
	r.old = r.back + (s->want_dx ? in : 0);
	r.image = r.old + (s->turned ? r.old - r.back : 0);
	r.end = r.image + (s->pooled ? rounded(rows * nn_shape_count(&s->image) * size) : 0);
	return r;
}

/* ---- what steps are made of ---- */

static void take(const struct nn_call *call)
{
	const struct nn_take_call *t = (const struct nn_take_call *)call;

	nn_queue_copy_lines(call->site.queue, t->to, t->bytes, t->from + t->at, t->line, t->bytes,
			    call->rows * t->lines);
}

static void gather(const struct nn_call *call)
{
	const struct nn_gather_call *g = (const struct nn_gather_call *)call;
	const struct nn_column_shard *c = g->columns;
	struct nn_queue *queue = call->site.queue;
	size_t lines = call->rows * g->lines, whole = lines * g->units * g->bytes,
	       part = lines * g->bytes *
		      (nn_sharded_first(g->units, c->rank + 1, c->ranks) -
		       nn_sharded_first(g->units, c->rank, c->ranks));

	if (!queue) {
		c->gather(c->arg, g->part, g->whole, lines, g->units, g->bytes);
		return;
	}
	nn_queue_read(queue, g->host + whole, g->part, part);
	c->gather(c->arg, g->host + whole, g->host, lines, g->units, g->bytes);
	nn_queue_write(queue, g->whole, g->host, whole);
}

/* to += from, n elements of a row */
struct add_call {
	struct nn_call call;
	const struct nn_device *device;
	void *to;
	const void *from;
	size_t n;
};

static void add(const struct nn_call *call)
{
	const struct add_call *a = (const struct add_call *)call;

	a->device->add(call->site.queue, a->to, a->from, call->rows * a->n, call->pool);
}

struct nn_shared_parts nn_shared_parts_of(struct nn_graph *graph,
					  const struct nn_planned_step *step)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_bound_node *node = &b->nodes[step->node];
	const struct nn_sharded_node *s = node->sharded;

	return (struct nn_shared_parts){
		.graph = graph,
		.b = b,
		.node = node,
		.s = s,
		.call = nn_graph_call(graph, step),
		.kernel = b->device->kernels[node->op],
		.room = nn_graph_at(graph, graph->plan.scratch[NN_SCRATCH_ROOM]),
		.rooms = nn_shared_rooms_of(b, node, graph->max_rows),
		.size = nn_dtype_size(b->device->dtype),
		.in_lines = nn_bound_count(b, node->in[0]) / s->in,
		.out_lines = nn_shape_count(&s->whole_out) / s->out,
	};
}

void *nn_shared_call(const struct nn_shared_parts *h, struct nn_graph_step *made,
		     void (*run)(const struct nn_call *call), size_t bytes, struct nn_error *err)
{
	struct nn_call *call = made->owned = nn_alloc(1, bytes, err);

	if (call)
		*call = *h->call;
	made->call = call;
	made->run = run;
	return call;
}

int nn_shared_take(const struct nn_shared_parts *h, struct nn_graph_step *made,
		   const struct nn_take_call *as, struct nn_error *err)
{
	struct nn_take_call *t = nn_shared_call(h, made, take, sizeof *t, err);

	if (!t)
		return -1;
	*t = *as;
	t->call = *h->call;
	return 0;
}

int nn_shared_take_in(const struct nn_shared_parts *h, struct nn_graph_step *made, const void *from,
		      void *to, struct nn_error *err)
{
	const struct nn_sharded_node *s = h->s;
	struct nn_take_call t = { .from = from,
				  .to = to,
				  .lines = h->in_lines,
				  .line = s->in * h->size,
				  .at = s->in_from * h->size,
				  .bytes = s->in_width * h->size };

	return nn_shared_take(h, made, &t, err);
}

int nn_shared_take_out(const struct nn_shared_parts *h, struct nn_graph_step *made,
		       const void *from, void *to, struct nn_error *err)
{
	const struct nn_sharded_node *s = h->s;
	struct nn_take_call t = { .from = from,
				  .to = to,
				  .lines = nn_shape_count(&s->image) / s->out,
				  .line = s->out * h->size,
				  .at = s->from * h->size,
				  .bytes = s->width * h->size };

	return nn_shared_take(h, made, &t, err);
}

int nn_shared_gather(const struct nn_shared_parts *h, struct nn_graph_step *made,
		     const struct nn_gather_call *as, struct nn_error *err)
{
	size_t whole = h->b->queue ? h->graph->max_rows * as->lines * as->units * as->bytes : 0;
	struct nn_gather_call *g = nn_shared_call(h, made, gather, sizeof *g + 2 * whole, err);

	if (!g)
		return -1;
	*g = *as;
	g->host = (unsigned char *)(g + 1);
	g->call = *h->call;
	g->columns = h->b->columns;
	return 0;
}

int nn_shared_add(const struct nn_shared_parts *h, struct nn_graph_step *made, void *to,
		  const void *from, size_t n, struct nn_error *err)
{
	struct add_call *a = nn_shared_call(h, made, add, sizeof *a, err);

	if (!a)
		return -1;
	a->device = h->b->device;
	a->to = to;
	a->from = from;
	a->n = n;
	return 0;
}

const void *nn_shared_input(const struct nn_shared_parts *h)
{
	return h->s->grouped ? h->room + h->rooms.x : h->call->x[0];
}

int nn_shared_fill_input(struct nn_graph *graph, const struct nn_planned_step *step,
			 struct nn_graph_step *made, struct nn_error *err)
{
	struct nn_shared_parts h = nn_shared_parts_of(graph, step);

	return nn_shared_take_in(&h, made, h.call->x[0], h.room + h.rooms.x, err);
}

void nn_shared_put(struct nn_steps *to, const struct nn_planned_step *step, bool wanted,
		   nn_fill *fill)
{
	struct nn_planned_step one = *step;

	one.fill = fill;
	one.event = -1;
	if (wanted)
		nn_steps_add(to, &one);
}
