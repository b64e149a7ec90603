/*
 * Tables whose rows ranks share. Every rank has the numbers of all samples, so each knows which
 * rows a call needs and who has them: a rank sends those of its own, each once, and all together
 * are a small table, which the kernel reads by numbers of its own. So rows are added in the order
 * in which one rank adds them. Backward lists what falls on this rank's rows from dy, all of which
 * it has.
 */
#include <string.h>

#include "base/memory.h"
#include "graph/instance.h"
#include "graph/sharded/node.h"
#include "graph/sharded/steps.h"

bool nn_rows_splits(const struct nn_bound *b, const struct nn_bound_node *node)
{
	return ((const struct nn_embedding *)node->attrs)->rows >= (size_t)b->columns->ranks;
}

void nn_rows_make(const struct nn_bound *b, struct nn_bound_node *node)
{
	int rank = b->columns->rank, ranks = b->columns->ranks;
	struct nn_sharded_node *s = node->sharded;
	struct nn_embedding *part = node->attrs;

	s->out = node->units = part->rows;
	s->from = nn_sharded_first(s->out, rank, ranks);
	s->width = nn_sharded_first(s->out, rank + 1, ranks) - s->from;
	part->rows = s->width;
	part->padding = NN_NO_ROW; /* its numbers become none before */
}

/* ---- the desk of a call ---- */

/* What a call works with, all in the room that shared nodes have. */
struct desk {
	size_t n, most; /* numbers of the call; different rows there can be */
	void *numbers;  /* [n] as the kernel is to read them */
	void *own; /* [most] this rank's rows that are needed, as numbers in its part */
	uint32_t *row,
		*place; /* [most] rows as they were met, and where they are in the small table */
	uint32_t *seen; /* [slots] 1 + which of them, by a hash of the row; 0: free */
	size_t slots;
	size_t *first; /* [ranks + 1] where the rows of each rank begin in the small table */
	void **send, **receive; /* [ranks] */
	size_t *send_bytes, *receive_bytes;
	unsigned char *table; /* [most][size] */
	void *x;              /* [n] the numbers as they came */
	size_t end;           /* bytes of all of it */
};

static size_t line_bytes(const struct nn_bound *b, const struct nn_bound_node *node)
{
	return ((const struct nn_embedding *)node->attrs)->size * nn_dtype_size(b->device->dtype);
}

static void *take(struct desk *d, unsigned char *room, size_t bytes)
{
	unsigned char *at = room ? room + d->end : NULL;

	d->end += (bytes + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN;
	return at;
}

/* room NULL: what it takes. */
static struct desk desk_at(const struct nn_bound *b, const struct nn_bound_node *node, size_t rows,
			   unsigned char *room)
{
	size_t size = nn_dtype_size(b->device->dtype), ranks = (size_t)b->columns->ranks;
	struct desk d = { .n = rows * nn_shape_count(node->shapes) };

	d.most = d.n < node->sharded->out ? d.n : node->sharded->out;
	d.slots = 2 * d.most;
	d.numbers = take(&d, room, d.n * size);
	d.own = take(&d, room, d.most * size);
	d.row = take(&d, room, d.most * sizeof *d.row);
	d.place = take(&d, room, d.most * sizeof *d.place);
	d.seen = take(&d, room, d.slots * sizeof *d.seen);
	d.first = take(&d, room, (ranks + 1) * sizeof *d.first);
	d.send = take(&d, room, ranks * sizeof *d.send);
	d.receive = take(&d, room, ranks * sizeof *d.receive);
	d.send_bytes = take(&d, room, ranks * sizeof *d.send_bytes);
	d.receive_bytes = take(&d, room, ranks * sizeof *d.receive_bytes);
	d.table = take(&d, room, d.most * line_bytes(b, node));
	d.x = take(&d, room, b->queue ? d.n * size : 0);
	return d;
}

/* A step's call. */
struct rows_call {
	struct nn_call call;
	const struct nn_bound *b;
	const struct nn_bound_node *node;
	unsigned char *room;
	unsigned char
		*host; /* a desk of the host's, of a device with memory of its own; else room */
};

/*
 * Of a device with memory of its own the desk is the host's, and what kernels read of it goes to
 * the same place of one that is the device's.
 */
static const void *read_numbers(const struct rows_call *c, const struct desk *d, const void *x)
{
	if (!c->b->queue)
		return x;
	nn_queue_read(c->b->queue, d->x, x, d->n * nn_dtype_size(c->b->device->dtype));
	return d->x;
}

static void *there(const struct rows_call *c, const void *at, size_t bytes)
{
	void *to = c->room + ((const unsigned char *)at - c->host);

	if (c->b->queue)
		nn_queue_write(c->b->queue, to, at, bytes);
	return to;
}

/* ---- numbers ---- */

#define NO_ROW UINT32_MAX

/*
 * The row that the i-th number means, as kernels see it (NaN is none); padding: a row that is none,
 * too.
 */
static uint32_t row_at(const struct nn_bound *b, const void *x, size_t i, size_t rows,
		       size_t padding)
{
	double number =
		b->device->dtype == NN_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
	uint32_t row = number >= 0 && number < (double)rows ? (uint32_t)number : NO_ROW;

	return row == padding ? NO_ROW : row;
}

static void put_number(const struct nn_bound *b, void *x, size_t i, double number)
{
	if (b->device->dtype == NN_F64)
		((double *)x)[i] = number;
	else
		((float *)x)[i] = (float)number; /* exact: NN_MOST_ROWS */
}

/* The rank that has a row: the last whose rows do not begin behind it. */
static size_t owner_of(const struct nn_bound *b, const struct nn_sharded_node *s, uint32_t row)
{
	return (((size_t)row + 1) * (size_t)b->columns->ranks - 1) / s->out;
}

/* Which of the rows met so far it is; a new one is noted. */
static uint32_t meet(struct desk *d, uint32_t row, uint32_t *met)
{
	size_t at = (uint64_t)(row * 2654435769u) * d->slots >>
		    32; /* Knuth, The Art of Computer Programming 3, 6.4 */

	while (d->seen[at] && d->row[d->seen[at] - 1] != row)
		at = at + 1 < d->slots ? at + 1 : 0;
	if (!d->seen[at]) {
		d->row[*met] = row;
		d->seen[at] = ++*met;
	}
	return d->seen[at] - 1;
}

/*
 * The different rows of a call in order of their ranks, and numbers by which these are found. How
 * many there are: as many on every rank.
 */
static size_t find_rows(const struct nn_bound *b, const struct nn_bound_node *node, const void *x,
			struct desk *d)
{
	const struct nn_embedding *e = &node->sharded->whole.embedding;
	const struct nn_sharded_node *s = node->sharded;
	size_t ranks = (size_t)b->columns->ranks, own = 0;
	uint32_t met = 0;

	memset(d->seen, 0, d->slots * sizeof *d->seen);
	memset(d->first, 0, (ranks + 1) * sizeof *d->first);
	for (size_t i = 0; i < d->n; i++) {
		uint32_t row = row_at(b, x, i, e->rows, e->sum ? e->padding : NN_NO_ROW);

		put_number(b, d->numbers, i, row == NO_ROW ? -1.0 : meet(d, row, &met));
	}
	for (uint32_t k = 0; k < met; k++) {
		size_t owner = owner_of(b, s, d->row[k]);

		d->place[k] = (uint32_t)d->first[owner + 1]++;
		if (owner == (size_t)b->columns->rank)
			put_number(b, d->own, own++, d->row[k] - (double)s->from);
	}
	for (size_t r = 0; r < ranks; r++)
		d->first[r + 1] += d->first[r];
	for (uint32_t k = 0; k < met; k++)
		d->place[k] += (uint32_t)d->first[owner_of(b, s, d->row[k])];
	for (size_t i = 0; i < d->n; i++) {
		uint32_t k = row_at(b, d->numbers, i, met, NN_NO_ROW);

		if (k != NO_ROW)
			put_number(b, d->numbers, i, d->place[k]);
	}
	return met;
}

/* ---- steps ---- */

/* Copy this rank's needed rows to their places in the small table. */
static void copy_own(const struct rows_call *c, struct desk *d)
{
	const struct nn_bound *b = c->b;
	const struct nn_bound_node *node = c->node;
	size_t first = d->first[b->columns->rank], line = line_bytes(b, node),
	       n = d->first[b->columns->rank + 1] - first;
	const struct nn_embedding *e = node->attrs,
				  rows = { .rows = e->rows, .size = e->size, .padding = NN_NO_ROW };
	struct nn_shape one = nn_shape1(1);
	const void *x[] = { there(c, d->own, n * nn_dtype_size(b->device->dtype)) };
	struct nn_call own = c->call;

	own.site = (struct nn_site){ .attrs = &rows,
				     .in = &one,
				     .n_in = 1,
				     .out = nn_shape2(1, e->size),
				     .training = true,
				     .queue = b->queue };
	own.x = x;
	own.y = there(c, d->table + first * line, 0);
	own.rows = n;
	if (n == 0)
		return;
	b->device->kernels[node->op]->forward(&own);
	if (b->queue)
		nn_queue_read(b->queue, d->table + first * line, own.y, n * line);
}

static void exchange_rows(const struct nn_bound *b, const struct nn_bound_node *node,
			  struct desk *d)
{
	const struct nn_column_shard *c = b->columns;
	size_t line = line_bytes(b, node);

	for (int r = 0; r < c->ranks; r++) {
		d->send[r] = d->table + d->first[c->rank] * line;
		d->send_bytes[r] = (d->first[c->rank + 1] - d->first[c->rank]) * line;
		d->receive[r] = d->table + d->first[r] * line;
		d->receive_bytes[r] = (d->first[r + 1] - d->first[r]) * line;
	}
	c->exchange(c->arg, d->send, d->send_bytes, d->receive, d->receive_bytes);
}

static void forward(const struct nn_call *call)
{
	const struct rows_call *own = (const struct rows_call *)call;
	const struct nn_bound *b = own->b;
	struct desk d = desk_at(b, own->node, call->rows, own->host);
	struct nn_embedding small = *(const struct nn_embedding *)own->node->attrs;
	const void *x[1];
	void *w[1];
	struct nn_call all = *call;

	small.rows = find_rows(b, own->node, read_numbers(own, &d, call->x[0]), &d);
	if (small.rows > 0) {
		copy_own(own, &d);
		exchange_rows(b, own->node, &d);
	}
	x[0] = there(own, d.numbers, d.n * nn_dtype_size(b->device->dtype));
	w[0] = there(own, d.table, small.rows * line_bytes(b, own->node));
	all.site.attrs = &small;
	all.x = x;
	all.w = w;
	b->device->kernels[own->node->op]->forward(&all);
}

static void backward(const struct nn_call *call)
{
	const struct rows_call *own = (const struct rows_call *)call;
	const struct nn_bound *b = own->b;
	const struct nn_embedding *e = &own->node->sharded->whole.embedding;
	const struct nn_sharded_node *s = own->node->sharded;
	struct desk d = desk_at(b, own->node, call->rows, own->host);
	const void *numbers = read_numbers(own, &d, call->x[0]), *x[1];
	struct nn_call all = *call;

	for (size_t i = 0; i < d.n; i++) {
		uint32_t row = row_at(b, numbers, i, e->rows, e->padding);

		put_number(b, d.numbers, i,
			   row != NO_ROW && row >= s->from && row - s->from < s->width
				   ? row - (double)s->from
				   : -1);
	}
	x[0] = there(own, d.numbers, d.n * nn_dtype_size(b->device->dtype));
	all.x = x;
	b->device->kernels[own->node->op]->backward(&all);
}

static int fill(struct nn_graph *graph, const struct nn_planned_step *step,
		struct nn_graph_step *made, struct nn_error *err)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_bound_node *node = &b->nodes[step->node];
	size_t desk = b->queue ? desk_at(b, node, graph->max_rows, NULL).end : 0;
	struct rows_call *own = made->owned = nn_alloc(1, sizeof *own + desk, err);

	if (!own)
		return -1;
	*own = (struct rows_call){
		.call = *nn_graph_call(graph, step),
		.b = b,
		.node = node,
		.room = nn_graph_at(graph, graph->plan.scratch[NN_SCRATCH_ROOM]),
	};
	own->host = b->queue ? (unsigned char *)(own + 1) : own->room;
	made->call = &own->call;
	made->run = step->backward ? backward : forward;
	return 0;
}

/* Forward and backward have a desk each. */
size_t nn_sharded_rows_bytes(const struct nn_bound *b, const struct nn_bound_node *node,
			     size_t max_rows)
{
	return 2 * desk_at(b, node, max_rows, NULL).end;
}

void nn_sharded_rows_step(struct nn_steps *to, const struct nn_planned_step *step,
			  const struct nn_bound *b, const struct nn_graph_options *options)
{
	struct nn_planned_step one = *step;

	one.fill = fill;
	one.scratch[NN_SCRATCH_ROOM] =
		desk_at(b, &b->nodes[step->node], options->max_rows, NULL).end;
	nn_steps_add(to, &one);
}
