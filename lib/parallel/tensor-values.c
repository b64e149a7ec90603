/*
 * What ranks of a group have of parameters and gradients, brought together: parts for files, and
 * norms whose sums are those of one rank.
 */
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "parallel/tensor.h"
#include "parallel/worker.h"

#define BLOCK ((size_t)4096) /* elements that nn_sum adds up before blocks are added (device.h) */

/* ---- norms ---- */

/*
 * What is summed: of each parameter a number of elements, of which each rank of the group has some,
 * in their order.
 */
struct param_sums {
	const struct nn_worker *worker;
	const void *const *values; /* [params] this rank's; NULL: the parameter is not asked for */
	void *host; /* of a device with memory of its own: room for the largest of them */
};

/*
 * Of a rank's part [from, end) of the elements blocks begin at multiples of BLOCK: it adds up those
 * that it has whole, and the elements of others, before `first` and from `last` on, go to all. As
 * numbers: elements, sums of blocks, elements.
 */
struct block_part {
	size_t from, first, last, end;
};

static bool is_asked(const struct param_sums *s, int param)
{
	return s->values[param] && nn_tensor_shares(s->worker, param);
}

/* Where the elements of each rank begin, [ranks + 1]. */
static size_t *bounds_of(const struct nn_worker *w, int param)
{
	return w->layout->tensor->exchange->bounds +
	       (size_t)param * ((size_t)nn_tensor_ranks(w->layout) + 1);
}

static struct block_part part_of(const struct nn_worker *w, int param, int r)
{
	const size_t *bounds = bounds_of(w, param);
	size_t count = bounds[nn_tensor_ranks(w->layout)];
	struct block_part p = { .from = bounds[r], .end = bounds[r + 1] };

	p.first = (p.from + BLOCK - 1) / BLOCK * BLOCK;
	p.first = p.first < p.end ? p.first : p.end;
	p.last = p.end == count ? count : p.end / BLOCK * BLOCK;
	p.last = p.last > p.first ? p.last : p.first;
	return p;
}

static size_t blocks_of(struct block_part p)
{
	return (p.last - p.first + BLOCK - 1) / BLOCK;
}

static size_t numbers_of(struct block_part p)
{
	return p.first - p.from + blocks_of(p) + p.end - p.last;
}

/* counts: what this rank has of each; NULL: its slice. */
static int find_bounds(struct nn_worker *w, const size_t *counts, struct nn_error *err)
{
	size_t params = (size_t)w->task->program->n_params,
	       ranks = (size_t)nn_tensor_ranks(w->layout),
	       *all = w->layout->tensor->exchange->bounds + params * (ranks + 1);

	if (counts &&
	    nn_comm_all_gather(w->layout->tensor->line, counts, all, params * sizeof *all, err) < 0)
		return -1;
	for (size_t p = 0; p < params; p++)
		for (size_t r = 0; r < ranks; r++) {
			size_t from,
				n = counts ? all[r * params + p]
					   : nn_tensor_slice(w, (int)p, (int)r, &from),
				*bounds = bounds_of(w, (int)p);

			bounds[0] = 0;
			bounds[r + 1] = bounds[r] + n;
		}
	return 0;
}

/*
 * Room for the numbers of all ranks, one rank after the other, and where those of each parameter
 * begin.
 */
static int make_room(const struct param_sums *s, struct nn_error *err)
{
	struct nn_tensor_parallel *g = s->worker->layout->tensor;
	struct nn_tensor_exchange *e = g->exchange;
	int params = s->worker->task->program->n_params;
	size_t *at = e->squares_at, n = 0;

	for (int r = 0; r < g->columns.ranks; r++, *at++ = n)
		for (int p = 0; p < params; p++) {
			*at++ = n;
			n += is_asked(s, p) ? numbers_of(part_of(s->worker, p, r)) : 0;
		}
	if (e->squares && n <= e->room)
		return 0;
	nn_free(e->squares);
	e->squares = nn_alloc(n, sizeof *e->squares, err);
	e->room = e->squares ? n : 0;
	return e->squares ? 0 : -1;
}

static int host_room(struct param_sums *s, struct nn_error *err)
{
	const struct nn_worker *w = s->worker;
	size_t most = 1;

	if (!w->task->device->remote)
		return 0;
	for (int p = 0; p < w->task->program->n_params; p++)
		if (is_asked(s, p)) {
			struct block_part mine = part_of(w, p, w->layout->tensor->columns.rank);

			most = mine.end - mine.from > most ? mine.end - mine.from : most;
		}
	s->host = nn_alloc(most, nn_dtype_size(w->task->device->dtype), err);
	return s->host ? 0 : -1;
}

/* Numbers of rank r for parameter `param`; their end with n_params. */
static double *numbers_at(const struct nn_worker *w, int param, int r)
{
	const struct nn_tensor_exchange *e = w->layout->tensor->exchange;

	return e->squares +
	       e->squares_at[((size_t)w->task->program->n_params + 1) * (size_t)r + (size_t)param];
}

static void fill_part(void *arg, size_t param, int thread)
{
	const struct param_sums *s = arg;
	const struct nn_worker *w = s->worker;
	const struct nn_device *device = nn_device_host(w->task->device);
	const char *values = s->values[param];
	size_t size = nn_dtype_size(device->dtype);
	int mine = w->layout->tensor->columns.rank;
	struct block_part p;
	double *to;

	(void)thread;
	if (!is_asked(s, (int)param))
		return;
	p = part_of(w, (int)param, mine);
	to = numbers_at(w, (int)param, mine);
	if (s->host) {
		nn_queue_read(nn_graph_queue(nn_step_graph(w->step)), s->host, values,
			      (p.end - p.from) * size);
		values = s->host;
	}
	for (size_t i = p.from; i < p.first; i++)
		*to++ = nn_real_at(device->dtype, values, i - p.from);
	for (size_t i = p.first; i < p.last; i += BLOCK)
		device->sum_squares(NULL, values + (i - p.from) * size,
				    p.last - i < BLOCK ? p.last - i : BLOCK, to++);
	for (size_t i = p.last; i < p.end; i++)
		*to++ = nn_real_at(device->dtype, values, i - p.from);
}

/* Blocks in order, as nn_sum adds them: neighbours first, in the type of the device. */
struct adder {
	const struct nn_device *device;
	double stack[64];
	size_t n;
	int depth;
	union {
		double f64[BLOCK];
		float f32[BLOCK];
	} open; /* elements of a block that several ranks have */
	size_t n_open;
};

static double add(const struct nn_device *device, double a, double b)
{
	return device->dtype == NN_F64 ? a + b : (double)((float)a + (float)b);
}

static void add_block(struct adder *a, double sum)
{
	for (size_t t = a->n++; t & 1; t >>= 1)
		sum = add(a->device, a->stack[--a->depth], sum);
	a->stack[a->depth++] = sum;
}

static void close_block(struct adder *a)
{
	double sum;

	if (a->n_open > 0) {
		a->device->sum_squares(NULL, &a->open, a->n_open, &sum);
		add_block(a, sum);
	}
	a->n_open = 0;
}

static void add_elements(struct adder *a, const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (a->device->dtype == NN_F64)
			a->open.f64[a->n_open++] = values[i];
		else
			a->open.f32[a->n_open++] = (float)values[i];
		if (a->n_open == BLOCK)
			close_block(a);
	}
}

static double total(struct adder *a)
{
	double sum = 0;

	close_block(a);
	if (a->depth > 0)
		sum = a->stack[--a->depth];
	while (a->depth > 0)
		sum = add(a->device, a->stack[--a->depth], sum);
	return sum;
}

static double join(const struct nn_worker *w, int param)
{
	struct adder a = { .device = nn_device_host(w->task->device) };

	for (int r = 0; r < nn_tensor_ranks(w->layout); r++) {
		struct block_part p = part_of(w, param, r);
		const double *at = numbers_at(w, param, r);

		add_elements(&a, at, p.first - p.from);
		for (size_t i = 0; i < blocks_of(p); i++)
			add_block(&a, at[p.first - p.from + i]);
		add_elements(&a, at + (p.first - p.from) + blocks_of(p), p.end - p.last);
	}
	return total(&a);
}

/* All numbers of rank r, sent to or received from `peer`. */
static struct nn_message message(const struct nn_worker *w, int r, int peer)
{
	double *from = numbers_at(w, 0, r);

	return (struct nn_message){ peer, from,
				    (size_t)(numbers_at(w, w->task->program->n_params, r) - from) *
					    sizeof *from };
}

int nn_tensor_squares(void *arg, const void *const *values, const size_t *counts, double *squares,
		      struct nn_error *err)
{
	struct nn_worker *w = arg;
	struct nn_tensor_parallel *g = w->layout->tensor;
	int ranks = g->columns.ranks, mine = g->columns.rank, params = w->task->program->n_params;
	struct nn_message sends[ranks], receives[ranks];
	struct param_sums s = { w, values, NULL };
	size_t n = 0;

	if (find_bounds(w, counts, err) < 0 || make_room(&s, err) < 0 || host_room(&s, err) < 0)
		return -1;
	nn_pool_run(s.host ? NULL : w->task->pool, (size_t)params, fill_part, &s);
	nn_free(s.host);
	for (int r = 0; r < ranks; r++) {
		if (r == mine)
			continue;
		sends[n] = message(w, mine, r);
		receives[n++] = message(w, r, r);
	}
	if (nn_comm_exchange(g->line, sends, n, receives, n, err) < 0)
		return -1;
	for (int p = 0; p < params; p++)
		if (is_asked(&s, p))
			squares[p] = join(w, p);
	return 0;
}

/* ---- parts for files ---- */

int nn_tensor_gather(struct nn_worker *w, void *const *set, struct nn_error *err)
{
	struct nn_tensor_parallel *g = w->layout->tensor;
	size_t size = nn_dtype_size(w->task->device->dtype), n = 0,
	       most = (size_t)w->task->program->n_params * (size_t)g->columns.ranks;
	struct nn_message *list;
	bool receives = g->columns.rank == 0;
	int status;

	if (nn_layout_sharers(w->layout)->rank > 0)
		return 0;
	if (!(list = nn_alloc(most, sizeof *list, err)))
		return -1;
	for (int p = 0; p < w->task->program->n_params; p++)
		for (int r = receives ? 1 : g->columns.rank;
		     nn_tensor_shares(w, p) &&
		     r < (receives ? g->columns.ranks : g->columns.rank + 1);
		     r++) {
			size_t from, count = nn_tensor_slice(w, p, r, &from);

			list[n++] =
				(struct nn_message){ receives ? r : 0,
						     (char *)set[p] + (receives ? from * size : 0),
						     count * size };
		}
	status = receives ? nn_comm_exchange(g->line, NULL, 0, list, n, err)
			  : nn_comm_exchange(g->line, list, n, NULL, 0, err);
	nn_free(list);
	return status;
}
