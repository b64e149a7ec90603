/*
 * A queue of batches in the making. They are as few as keep steps from waiting: two at first, one
 * more whenever a step had to wait, at most as many as the memory holds.
 */
#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "data/ahead/ahead.h"
#include "data/ahead/made.h"

#define MOST_BATCHES 16
#define RESIZE_S 0.1 /* workers are counted anew so often, while a step waits, too */

struct nn_ahead {
	struct nn_ahead_options options;
	struct nn_made_form form;
	struct nn_stages *stages;
	/* in order, the first is the one that was drawn; then, behind these, those to be used again
	 */
	struct nn_made_batch *batch[MOST_BATCHES];
	size_t n, made; /* in order; and all there are */
	size_t depth, most;
	bool drawn;
	uint64_t next; /* number of the batch that is put next */
	struct {
		double began_s, waited_s, resized_s, resized_waited_s;
		uint64_t rows, resized_rows;
		double wanted;
	} seen;
};

static size_t bytes_of(size_t bytes, size_t memory)
{
	size_t most = memory / bytes;

	return most < 2 ? 0 : bytes * (most < MOST_BATCHES ? most : MOST_BATCHES);
}

size_t nn_ahead_bytes(const struct nn_source *source, size_t batch, size_t memory)
{
	struct nn_made_form form;

	if (!source->ops->stages || batch == 0)
		return 0;
	nn_made_form_init(&form, source, batch, true);
	return bytes_of(nn_made_bytes(&form), memory);
}

size_t nn_ahead_row_bytes(size_t row_bytes, size_t batch, size_t memory)
{
	return batch ? bytes_of(nn_made_row_bytes(row_bytes) * batch, memory) : 0;
}

int nn_ahead_new(struct nn_ahead **ahead, const struct nn_ahead_options *options,
		 struct nn_error *err)
{
	struct nn_ahead *a = nn_alloc(1, sizeof *a, err);

	*ahead = NULL;
	if (!a)
		return -1;
	a->options = *options;
	nn_made_form_init(&a->form, &options->source, options->batch, options->whole);
	a->most = options->memory / nn_made_bytes(&a->form);
	a->most = a->most < MOST_BATCHES ? a->most : MOST_BATCHES;
	a->depth = 2;
	a->seen.wanted = NAN;
	if (a->most < a->depth) {
		nn_free(a);
		return 0;
	}
	if (nn_stages_new(&a->stages, &a->options.source, options->threads, err) < 0) {
		nn_free(a);
		return -1;
	}
	*ahead = a;
	return 0;
}

void nn_ahead_free(struct nn_ahead *a)
{
	if (!a)
		return;
	nn_stages_free(a->stages);
	for (size_t i = 0; i < a->made; i++)
		nn_made_batch_free(a->batch[i]);
	nn_free(a);
}

/* The first is used up: its place is behind all. */
static void retire(struct nn_ahead *a)
{
	struct nn_made_batch *first = a->batch[0];

	for (size_t i = 1; i < a->made; i++)
		a->batch[i - 1] = a->batch[i];
	a->batch[a->made - 1] = first;
	a->n--;
}

static int put_next(struct nn_ahead *a, struct nn_error *err)
{
	size_t n;
	const uint64_t *rows;

	if (a->n == a->made) {
		if (!(a->batch[a->made] = nn_made_batch_new(&a->form, err)))
			return -1;
		a->made++;
	}
	rows = a->options.rows(a->options.arg, a->next++, &n);
	return nn_made_batch_put(a->batch[a->n++], rows, n, a->stages, err);
}

/* Rows a second that steps took of late while they did not wait, and workers for as many. */
static int resize(struct nn_ahead *a, double now, bool waits, struct nn_error *err)
{
	double passed = now - a->seen.resized_s,
	       computed = passed - (a->seen.waited_s - a->seen.resized_waited_s);

	if (passed < RESIZE_S)
		return 0;
	if (a->seen.rows > a->seen.resized_rows && computed > 0)
		a->seen.wanted = (double)(a->seen.rows - a->seen.resized_rows) / computed;
	a->seen.resized_s = now;
	a->seen.resized_waited_s = a->seen.waited_s;
	a->seen.resized_rows = a->seen.rows;
	return nn_stages_resize(a->stages, isnan(a->seen.wanted) && waits ? 0 : a->seen.wanted,
				err);
}

/* Until the batch is made. */
static int wait_for(struct nn_ahead *a, struct nn_made_batch *m, struct nn_error *err)
{
	double start = nn_now_s(), before = start;
	bool done = nn_stages_wait(a->stages, &m->left, 0);

	if (!done && a->depth < a->most)
		a->depth++;
	while (!done) {
		double now;

		done = nn_stages_wait(a->stages, &m->left, RESIZE_S);
		now = nn_now_s();
		a->seen.waited_s += now - before;
		before = now;
		if (!done && resize(a, now, true, err) < 0)
			return -1;
	}
	return nn_made_batch_status(m, err);
}

int nn_ahead_draw(struct nn_ahead *a, uint64_t number, struct nn_source *source,
		  const uint64_t **rows, struct nn_error *err)
{
	double now = nn_now_s();

	if (a->seen.began_s == 0)
		a->seen.began_s = a->seen.resized_s = now;
	if (a->n == 0 || number != a->next - a->n + a->drawn) {
		nn_stages_drop(a->stages);
		a->n = 0;
		a->next = number;
	} else if (a->drawn) {
		retire(a);
	}
	a->drawn = false;
	if (resize(a, now, false, err) < 0)
		return -1;
	while (a->n < a->depth)
		if (put_next(a, err) < 0)
			return -1;
	if (wait_for(a, a->batch[0], err) < 0)
		return -1;
	a->drawn = true;
	a->seen.rows += a->batch[0]->n;
	*source = nn_made_batch_source(a->batch[0]);
	*rows = a->batch[0]->rows;
	return 0;
}

struct nn_stages *nn_ahead_stages(struct nn_ahead *a)
{
	return a->stages;
}

double nn_ahead_waited(const struct nn_ahead *a)
{
	return a->seen.waited_s;
}

struct nn_ahead_figures nn_ahead_figures(struct nn_ahead *a)
{
	struct nn_ahead_figures f = {
		.seconds = a->seen.began_s > 0 ? nn_now_s() - a->seen.began_s : 0,
		.waited_s = a->seen.waited_s,
		.rows = a->seen.rows,
		.batches = a->n,
		.most = a->most,
		.bytes = a->made * nn_made_bytes(&a->form),
	};

	f.achieved = f.seconds > 0 ? (double)f.rows / f.seconds : NAN;
	f.wanted = f.seconds > f.waited_s ? (double)f.rows / (f.seconds - f.waited_s) : NAN;
	f.predicted = f.wanted;
	for (size_t i = 0; i < nn_stages_count(a->stages); i++) {
		double can = nn_stages_figures(a->stages, i).rows_per_s;

		f.predicted = isnan(can) || can > f.predicted ? f.predicted : can;
	}
	return f;
}
