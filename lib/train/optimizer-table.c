/* Tables take the steps of the optimizer row by row: those that a batch has, or all of them, others with a gradient of 0. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "train/optimizer-table.h"

static size_t elements(const struct nn_table_steps *s)
{
	return nn_graph_trained(s->graph) - nn_graph_block(s->graph);
}

static size_t real_size(const struct nn_table_steps *s)
{
	return nn_dtype_size(s->device->dtype);
}

int nn_table_steps_init(struct nn_table_steps *s, enum nn_optimizer_kind kind, size_t n_slots, const struct nn_device *device,
			struct nn_graph *graph, struct nn_error *err)
{
	size_t bytes;

	*s = (struct nn_table_steps){ .device = device, .graph = graph, .n_slots = n_slots };
	bytes = elements(s) * real_size(s);
	if (bytes && n_slots && !(s->slots = device->alloc(n_slots * bytes, err)))
		return -1;
	return bytes && kind == NN_LAMB && !(s->direction = device->alloc(bytes, err)) ? -1 : 0;
}

void nn_table_steps_fini(struct nn_table_steps *s)
{
	if (s->slots)
		s->device->free(s->slots);
	if (s->direction)
		s->device->free(s->direction);
}

size_t nn_table_steps_bytes(enum nn_optimizer_kind kind, size_t n_slots, size_t n, enum nn_dtype dtype)
{
	return n * (n_slots + (kind == NN_LAMB)) * nn_dtype_size(dtype);
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
		memset(s->slots, 0, s->n_slots * elements(s) * real_size(s));
}

void nn_table_steps_save(const struct nn_table_steps *s, size_t slot, void *const *params)
{
	for (int i = 0; i < nn_graph_tables(s->graph); i++) {
		struct nn_graph_table t = nn_graph_table(s->graph, i);

		if (params[t.param])
			memcpy(params[t.param], slot_at(s, slot, &t), t.rows * t.width * real_size(s));
	}
}

void nn_table_steps_load(struct nn_table_steps *s, size_t slot, const void *const *params)
{
	for (int i = 0; i < nn_graph_tables(s->graph); i++) {
		struct nn_graph_table t = nn_graph_table(s->graph, i);

		memcpy(slot_at(s, slot, &t), params[t.param], t.rows * t.width * real_size(s));
	}
}

/* ---- updates ---- */

void nn_table_steps_squares(const struct nn_table_steps *s, double *squares)
{
	for (int i = 0; i < nn_graph_tables(s->graph); i++) {
		const struct nn_row_list *sums = nn_graph_table_sums(s->graph, i);

		squares[nn_graph_table(s->graph, i).param] = s->device->sum_squares(sums->value, sums->n * sums->width);
	}
}

static double norm(const struct nn_table_steps *s, const void *values, size_t n)
{
	return sqrt(s->device->sum_squares(values, n));
}

double nn_lars_ratio(double w, double g, double weight_decay)
{
	const double coefficient = 0.001;

	return w > 0 && g > 0 ? coefficient * w / (g + weight_decay * w) : 1;
}

/* lamb: the direction of the whole table, then a step of its ratio. */
static void follow(struct nn_table_steps *s, struct nn_update *u, const struct nn_graph_table *t)
{
	char *direction = part(s, s->direction, t);
	double w, d;

	s->device->direction(u, direction);
	w = norm(s, u->w, u->n);
	d = norm(s, direction, u->n);
	u->rows = NULL;
	u->g = direction;
	u->ratio = w > 0 && d > 0 ? w / d : 1;
	s->device->update(u);
}

static void update(struct nn_table_steps *s, const struct nn_update *all, int i, const double *squares)
{
	struct nn_graph_table t = nn_graph_table(s->graph, i);
	struct nn_update u = *all;

	u.n = t.rows * t.width;
	u.w = (char *)all->w + t.offset * real_size(s);
	for (size_t k = 0; k < s->n_slots; k++)
		u.slot[k] = slot_at(s, k, &t);
	u.rows = nn_graph_table_sums(s->graph, i);
	/* w - lr * 0 is w */
	u.every = !t.lazy && !(u.kind == NN_SGD && u.momentum == 0 && u.weight_decay == 0);
	if (u.kind == NN_LAMB) {
		follow(s, &u, &t);
		return;
	}
	if (u.kind == NN_LARS)
		u.ratio = nn_lars_ratio(norm(s, u.w, u.n), sqrt(squares[t.param]) * all->clip, u.weight_decay);
	s->device->update(&u);
}

void nn_table_steps_update(struct nn_table_steps *s, const struct nn_update *all, const double *squares)
{
	for (int i = 0; i < nn_graph_tables(s->graph); i++)
		update(s, all, i, squares);
}
