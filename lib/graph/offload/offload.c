/*
 * Values that lie in a file between forward and backward (Rhu, Gimelshein, Clemons, Zulfiqar,
 * Keckler: vDNN, 2016): written behind the last step forward that uses them, while the next ones
 * compute, and read back while the step before the one that needs them does. Those that are away
 * longest go first, as many as it takes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "graph/instance.h"
#include "graph/offload/transfer.h"

#define LEAST_BYTES 4096 /* worth a step of its own */
#define TRIES 48         /* numbers of values that are looked at */

struct offload {
	struct nn_bound *b;
	const struct nn_graph_options *options;
	const struct nn_steps *steps; /* without the pass */
	double *value_bytes;          /* [n_values] */
	struct nn_spilled *item;      /* [n], longest away first */
	int n, chosen;                /* the first ones are chosen */
	int *which; /* [n_values + n_nodes] the item of a value, of what a node saves; -1 */
	/* [chosen]: by the last step forward, by the first one backward; the next, in a pass */
	struct due {
		int time, item;
	} * out, *back;
	int next_out, next_back;
	/* of the list that the pass changes; what was written last and is in use; -1 */
	const struct nn_planned_step *first;
	int under_way;
};

static int *which(const struct offload *o, bool saved, int index)
{
	return &o->which[saved ? o->b->n_values + index : index];
}

/* ---- the pass ---- */

static void use(const struct offload *o, struct nn_steps *to, int item, bool backward)
{
	const struct nn_spilled *s = &o->item[item];

	if (s->saved)
		nn_steps_use(to, backward ? NN_STEP_SAVED_AGAIN : NN_STEP_SAVED, s->index);
	else
		nn_steps_use(to, backward ? NN_STEP_AGAIN : NN_STEP_VALUE, s->index);
}

/* Wait for what is under way, and begin with the item, or with none. */
static void spill(struct offload *o, struct nn_steps *to, int item, bool backward)
{
	nn_steps_add_spill(to, item, backward);
	if (o->under_way >= 0)
		use(o, to, o->under_way, backward);
	if (item >= 0)
		use(o, to, item, backward);
	o->under_way = item;
}

static void forward(struct offload *o, struct nn_steps *to, const struct nn_planned_step *step)
{
	int t = (int)(step - o->first);

	nn_steps_add(to, step);
	while (o->next_out < o->chosen && o->out[o->next_out].time == t)
		spill(o, to, o->out[o->next_out++].item, false);
	if (t == o->steps->turn - 1)
		spill(o, to, -1, false);
}

static void read_next(struct offload *o, struct nn_steps *to)
{
	int next = o->next_back;

	o->next_back = next < o->chosen ? next + 1 : next;
	spill(o, to, next < o->chosen ? o->back[next].item : -1, true);
}

static void backward(struct offload *o, struct nn_steps *to, const struct nn_planned_step *step)
{
	struct nn_planned_step again = *step;
	int t = (int)(step - o->first);

	if (t == o->steps->turn + 1)
		read_next(o, to);
	while (o->under_way >= 0 && o->item[o->under_way].first <= t)
		read_next(o, to);
	again.use = to->n_uses;
	again.n_uses = 0;
	nn_steps_add(to, &again);
	for (int u = step->use; u < step->use + step->n_uses; u++) {
		struct nn_step_use now = to->uses[u];
		bool saved = now.memory == NN_STEP_SAVED;
		int item = saved || now.memory == NN_STEP_VALUE ? *which(o, saved, now.index) : -1;

		if (item >= 0 && item < o->chosen) {
			now.memory = saved ? NN_STEP_SAVED_AGAIN : NN_STEP_AGAIN;
			to->step[to->n - 1].again = true;
		}
		nn_steps_use(to, now.memory, now.index);
	}
}

static void each(void *arg, struct nn_steps *to, const struct nn_planned_step *step)
{
	struct offload *o = arg;

	if (step - o->first < o->steps->turn)
		forward(o, to, step);
	else if (step - o->first == o->steps->turn)
		nn_steps_add(to, step);
	else
		backward(o, to, step);
}

static int pass(void *arg, struct nn_steps *steps, struct nn_error *err)
{
	struct offload *o = arg;

	o->first = steps->step;
	o->next_out = o->next_back = 0;
	o->under_way = -1;
	return nn_steps_pass(steps, each, o, err);
}

/* ---- how many ---- */

static int by_time(const void *a, const void *b)
{
	const struct due *x = a, *y = b;

	return x->time != y->time ? x->time - y->time : x->item - y->item;
}

static void choose(struct offload *o, int n)
{
	o->chosen = n;
	for (int i = 0; i < n; i++) {
		o->out[i] = (struct due){ o->item[i].last, i };
		o->back[i] = (struct due){ o->item[i].first, i };
	}
	qsort(o->out, (size_t)n, sizeof *o->out, by_time);
	qsort(o->back, (size_t)n, sizeof *o->back, by_time);
}

/* The fewest with which it takes at most what is wanted, else those with which it takes least. */
static int find_best(struct offload *o, int *best, struct nn_error *err)
{
	double target = (double)o->options->offload * (double)o->options->max_rows, least, bytes;
	int tries = o->n < TRIES ? o->n : TRIES;

	*best = 0;
	if (nn_steps_peak(o->steps, o->b, o->value_bytes, &least, err) < 0)
		return -1;
	for (int i = 1; i <= tries && least > target; i++) {
		choose(o, (int)((int64_t)o->n * i / tries));
		if (nn_steps_try(o->steps, pass, o, o->b, o->value_bytes, &bytes, err) < 0)
			return -1;
		if (bytes < least) {
			least = bytes;
			*best = o->chosen;
		}
	}
	return 0;
}

/* ---- what may go ---- */

static int by_time_away(const void *a, const void *b)
{
	const struct nn_spilled *x = a, *y = b;
	int away = x->first - x->last, other = y->first - y->last;

	return away != other ? other - away : x->last - y->last;
}

/* By value, then by node: the item, as far as it is known. */
static void measure(struct offload *o, struct nn_spilled *all)
{
	const struct nn_bound *b = o->b;
	size_t size = nn_dtype_size(b->device->dtype);

	for (int i = 0; i < b->n_values + b->n_nodes; i++)
		all[i] = (struct nn_spilled){ .saved = i >= b->n_values,
					      .index = i < b->n_values ? i : i - b->n_values,
					      .node = i < b->n_values ? -1 : i - b->n_values,
					      .last = -1,
					      .first = -1 };
	for (int i = 0; i < b->n_values; i++) {
		all[i].row_bytes = nn_bound_count(b, i) * size;
		all[i].bytes = all[i].row_bytes * o->options->max_rows;
		o->value_bytes[i] = (double)all[i].bytes;
	}
	for (int i = 0; i < b->n_nodes; i++)
		all[nn_bound_root(b, b->nodes[i].out)].node = i;
	for (int i = 0; i < b->program->n_inputs; i++) { /* which have memory of their own */
		o->value_bytes[b->inputs[i]] = 0;
		all[b->inputs[i]].node = -1;
	}
}

/* What the caller uses, and what is computed again, stays as it is: node -1. */
static void find_times(const struct offload *o, struct nn_spilled *all)
{
	for (int t = 0; t < o->steps->n; t++) {
		const struct nn_planned_step *step = &o->steps->step[t];

		if (step->saved && !step->again)
			all[o->b->n_values + step->node].bytes = step->saved;
		for (int u = step->use; u < step->use + step->n_uses; u++) {
			struct nn_step_use use = o->steps->uses[u];
			bool saved =
				use.memory == NN_STEP_SAVED || use.memory == NN_STEP_SAVED_AGAIN;
			struct nn_spilled *item =
				&all[saved ? o->b->n_values + use.index : use.index];

			if (use.memory == NN_STEP_GRADIENT)
				continue;
			if (!step->fill || use.memory == NN_STEP_AGAIN ||
			    use.memory == NN_STEP_SAVED_AGAIN)
				item->node = -1;
			if (t < o->steps->turn)
				item->last = t;
			else if (item->first < 0)
				item->first = t;
		}
	}
}

static int find_items(struct offload *o, struct nn_error *err)
{
	size_t n = (size_t)(o->b->n_values + o->b->n_nodes);

	o->item = nn_alloc(n, sizeof *o->item, err);
	o->which = nn_alloc(n, sizeof *o->which, err);
	o->out = nn_alloc(2 * n, sizeof *o->out, err);
	o->value_bytes = nn_alloc((size_t)o->b->n_values, sizeof *o->value_bytes, err);
	if (!o->item || !o->which || !o->out || !o->value_bytes)
		return -1;
	o->back = o->out + n;
	measure(o, o->item);
	find_times(o, o->item);
	for (size_t i = 0; i < n; i++)
		if (o->item[i].node >= 0 && o->item[i].last >= 0 && o->item[i].first >= 0 &&
		    o->item[i].bytes >= LEAST_BYTES)
			o->item[o->n++] = o->item[i];
	qsort(o->item, (size_t)o->n, sizeof *o->item, by_time_away);
	for (size_t i = 0; i < n; i++)
		o->which[i] = -1;
	for (int i = 0; i < o->n; i++)
		*which(o, o->item[i].saved, o->item[i].index) = i;
	return 0;
}

/* ---- the choice ---- */

static int keep(struct offload *o, struct nn_steps *steps, int n, struct nn_error *err)
{
	struct nn_bound *b = o->b;

	choose(o, n);
	if (!b->again) /* calls of backward have places of their own */
		b->again = nn_alloc((size_t)b->n_nodes, sizeof *b->again, err);
	b->spilled = nn_alloc((size_t)n, sizeof *b->spilled, err);
	if (!b->again || !b->spilled)
		return -1;
	memcpy(b->spilled, o->item, (size_t)n * sizeof *b->spilled);
	b->n_spilled = n;
	for (int i = 0; i < n; i++) {
		b->spilled[i].at = b->spilled_bytes;
		if (!nn_add(b->spilled_bytes, b->spilled[i].bytes, &b->spilled_bytes))
			return nn_fail(err, NN_ENOMEM, "the batch is larger than a file can be");
	}
	return pass(o, steps, err);
}

int nn_steps_offload(struct nn_steps *steps, struct nn_bound *b,
		     const struct nn_graph_options *options, struct nn_error *err)
{
	struct nn_steps before = *steps; /* whose turn the pass moves */
	struct offload o = { .b = b, .options = options, .steps = &before };
	int best = 0, status = 0;

	if (b->training && b->n_nodes)
		status = find_items(&o, err) < 0 || find_best(&o, &best, err) < 0 ? -1 : 0;
	if (status == 0 && best > 0)
		status = keep(&o, steps, best, err);
	nn_free(o.item);
	nn_free(o.which);
	nn_free(o.out);
	nn_free(o.value_bytes);
	return status;
}
