/*
 * Tables take the steps of the optimizer row by row: those that a batch has, or all of them, others
 * with a gradient of 0.
 */
#include <string.h>

#include "base/memory.h"
#include "step/optimizer-table.h"

static size_t elements(const struct nn_table_steps *s)
{
	return nn_graph_trained(s->graph) - nn_graph_block(s->graph);
}

static size_t real_size(const struct nn_table_steps *s)
{
	return nn_dtype_size(s->device->dtype);
}

int nn_table_steps_init(struct nn_table_steps *s, enum nn_optimizer_kind kind, size_t n_slots,
			const struct nn_device *device, struct nn_graph *graph,
			const struct nn_program *program, struct nn_error *err)
{
	size_t bytes, n = (size_t)program->n_params;

	*s = (struct nn_table_steps){
		.device = device, .queue = nn_graph_queue(graph), .graph = graph, .n_slots = n_slots
	};
	bytes = elements(s) * real_size(s);
	s->values = nn_alloc(n, sizeof *s->values, err);
	s->counts = nn_alloc(n, sizeof *s->counts, err);
	s->n_params = n;
	if (!s->values || !s->counts ||
	    nn_mirror_new(&s->w_norm, s->queue, n * sizeof(double), err) < 0 ||
	    nn_mirror_new(&s->d_norm, s->queue, n * sizeof(double), err) < 0 ||
	    nn_mirror_new(&s->ratios, s->queue, n * sizeof(double), err) < 0)
		return -1;
	if (bytes && n_slots && !(s->slots = nn_memory_new(s->queue, n_slots * bytes, err)))
		return -1;
	return bytes && nn_optimizer_steps_along(kind) &&
			       !(s->direction = nn_memory_new(s->queue, bytes, err))
		       ? -1
		       : 0;
}

void nn_table_steps_fini(struct nn_table_steps *s)
{
	nn_memory_free(s->queue, s->slots);
	nn_memory_free(s->queue, s->direction);
	nn_mirror_free(&s->ratios, s->queue);
	nn_free((void *)s->values);
	nn_free(s->counts);
	nn_mirror_free(&s->w_norm, s->queue);
	nn_mirror_free(&s->d_norm, s->queue);
}

size_t nn_table_steps_bytes(enum nn_optimizer_kind kind, size_t n_slots, size_t n,
			    enum nn_dtype dtype)
{
	return n * (n_slots + nn_optimizer_steps_along(kind)) * nn_dtype_size(dtype);
}

/* ---- slots ---- */

/* Of a table in an array of all tables. */
static char *part(const struct nn_table_steps *s, char *all, const struct nn_graph_table *t)
{
	return all + (t->offset - nn_graph_block(s->graph)) * real_size(s);
}

static char *slot_at(const struct nn_table_steps *s, size_t slot, const struct nn_graph_table *t)
{
	return part(s, s->slots + slot * elements(s) * real_size(s), t);
}

void nn_table_steps_reset(struct nn_table_steps *s)
{
	if (s->slots)
		nn_queue_clear(s->queue, s->slots, s->n_slots * elements(s) * real_size(s));
}

void nn_table_steps_save(const struct nn_table_steps *s, size_t slot, void *const *params)
{
	for (int i = 0; i < nn_graph_tables(s->graph); i++) {
		struct nn_graph_table t = nn_graph_table(s->graph, i);

		if (params[t.param])
			nn_queue_read(s->queue, params[t.param], slot_at(s, slot, &t),
				      t.rows * t.width * real_size(s));
	}
}

void nn_table_steps_load(struct nn_table_steps *s, size_t slot, const void *const *params)
{
	for (int i = 0; i < nn_graph_tables(s->graph); i++) {
		struct nn_graph_table t = nn_graph_table(s->graph, i);

		nn_queue_write(s->queue, slot_at(s, slot, &t), params[t.param],
			       t.rows * t.width * real_size(s));
	}
}

/* ---- updates ---- */

/* Have ranks parts of table i? */
static bool is_cut(const struct nn_table_steps *s, const struct nn_optimizer_ranks *ranks, int i)
{
	return ranks->cut && nn_graph_channels(s->graph, nn_graph_table(s->graph, i).param);
}

/* Their sum is over all ranks: `values` has n elements of table i here. */
static void ask_ranks(struct nn_table_steps *s, int i, const void *values, size_t n)
{
	int param = nn_graph_table(s->graph, i).param;

	s->values[param] = values;
	s->counts[param] = n;
	s->asked = true;
}

static void ask(struct nn_table_steps *s, const struct nn_optimizer_ranks *ranks, int i,
		const void *values, size_t n, const struct nn_mirror *squares)
{
	if (is_cut(s, ranks, i))
		ask_ranks(s, i, values, n);
	else
		s->device->sum_squares(s->queue, values, n,
				       (double *)squares->there +
					       nn_graph_table(s->graph, i).param);
}

int nn_optimizer_join_squares(const struct nn_optimizer_ranks *ranks, struct nn_queue *queue,
			      const void *const *values, const size_t *counts,
			      struct nn_mirror *squares, size_t n, struct nn_error *err)
{
	size_t bytes = n * sizeof(double);
	int status;

	nn_mirror_fetch(squares, queue, 0, bytes);
	if (nn_queue_wait(queue, err) < 0)
		return -1;
	status = values ? ranks->cut(ranks->arg, values, counts, squares->host, err)
			: ranks->squares(ranks->arg, squares->host, err);
	nn_mirror_send(squares, queue, 0, bytes);
	return status;
}

/* listed: what was asked for are rows of a batch, on each rank its own number. */
static int answer(struct nn_table_steps *s, const struct nn_optimizer_ranks *ranks, bool listed,
		  struct nn_mirror *squares, struct nn_error *err)
{
	if (!s->asked)
		return 0;
	s->asked = false;
	return nn_optimizer_join_squares(ranks, s->queue, s->values, listed ? s->counts : NULL,
					 squares, s->n_params, err);
}

int nn_table_steps_squares(struct nn_table_steps *s, const struct nn_optimizer_ranks *ranks,
			   struct nn_mirror *squares, struct nn_error *err)
{
	for (int i = 0; i < nn_graph_tables(s->graph); i++) {
		const struct nn_row_list *sums = nn_graph_table_sums(s->graph, i);

		if (is_cut(s, ranks, i))
			ask_ranks(s, i, sums->value,
				  nn_graph_table_count(s->graph, i) * sums->width);
		else
			s->device->sum_list_squares(s->queue, sums,
						    (double *)squares->there +
							    nn_graph_table(s->graph, i).param);
	}
	return answer(s, ranks, true, squares, err);
}

/* The update under way of table i, whose gradient are its sums. */
static struct nn_update update_of(struct nn_table_steps *s, const struct nn_update *all, int i,
				  struct nn_graph_table *t)
{
	struct nn_update u = *all;

	*t = nn_graph_table(s->graph, i);
	u.n = t->rows * t->width;
	u.w = (char *)all->w + t->offset * real_size(s);
	for (size_t k = 0; k < s->n_slots; k++)
		u.slot[k] = slot_at(s, k, t);
	u.rows = nn_graph_table_sums(s->graph, i);
	/* where nothing is kept and nothing decays: w - lr * 0 is w */
	u.every = !t->lazy && (s->n_slots > 0 || u.weight_decay != 0);
	return u;
}

/* The norms of whole tables, and of their directions. */
static int weigh(struct nn_table_steps *s, const struct nn_optimizer_ranks *ranks,
		 const struct nn_update *all, struct nn_error *err)
{
	struct nn_graph_table t;

	for (int i = 0; i < nn_graph_tables(s->graph); i++) {
		struct nn_update u = update_of(s, all, i, &t);

		ask(s, ranks, i, u.w, u.n, &s->w_norm);
	}
	if (answer(s, ranks, false, &s->w_norm, err) < 0)
		return -1;
	for (int i = 0; nn_optimizer_steps_along(all->kind) && i < nn_graph_tables(s->graph); i++) {
		struct nn_update u = update_of(s, all, i, &t);

		s->device->direction(&u, part(s, s->direction, &t));
		ask(s, ranks, i, part(s, s->direction, &t), u.n, &s->d_norm);
	}
	return answer(s, ranks, false, &s->d_norm, err);
}

int nn_table_steps_update(struct nn_table_steps *s, const struct nn_optimizer_ranks *ranks,
			  const struct nn_update *all, const uint8_t *role,
			  const struct nn_mirror *squares, struct nn_error *err)
{
	const struct nn_ratio_call ratio = {
		.kind = all->kind,
		.n = s->n_params,
		.role = role,
		.along = nn_optimizer_steps_along(all->kind),
		.w = s->w_norm.there,
		.g = nn_optimizer_steps_along(all->kind) ? s->d_norm.there : squares->there,
		.weight_decay = all->weight_decay,
		.now = all->now,
		.ratio = s->ratios.there,
		.queue = s->queue,
	};
	struct nn_graph_table t;

	if (nn_optimizers[all->kind].ratio && nn_graph_tables(s->graph) > 0) {
		if (weigh(s, ranks, all, err) < 0)
			return -1;
		s->device->ratio(&ratio);
	}
	for (int i = 0; i < nn_graph_tables(s->graph); i++) {
		struct nn_update u = update_of(s, all, i, &t);

		if (nn_optimizers[all->kind].ratio)
			u.ratio = (const double *)s->ratios.there + t.param;
		if (s->direction) { /* a step along it */
			u.rows = NULL;
			u.g = part(s, s->direction, &t);
		}
		s->device->update(&u);
	}
	return 0;
}
