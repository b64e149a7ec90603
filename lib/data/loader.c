/* Drawing batches from a source, in an order of its rows for each epoch. */
#include "base/memory.h"
#include "data/ahead/ahead.h"
#include "data/augment/augment.h"
#include "data/data.h"
#include "data/loader.h"
#include "data/ring.h"

int nn_loader_init(struct nn_loader *l, const struct nn_loader_options *options,
		   struct nn_error *err)
{
	/* of a ring those of a batch */
	size_t ordered = options->ring ? options->batch : options->window ? options->n : 0;

	*l = (struct nn_loader){ .options = *options };
	if (ordered > 0 && !(l->order = nn_alloc(ordered, sizeof *l->order, err)))
		return -1;
	if (options->source.ops->lengths &&
	    !(l->lengths = nn_alloc(options->batch, sizeof *l->lengths, err)))
		return -1;
	return 0;
}

static void shuffle(struct nn_loader *l, uint64_t epoch)
{
	const struct nn_loader_options *o = &l->options;

	if (l->order && !o->ring)
		nn_shuffle(o->seed, epoch, o->rows, l->order, o->n, o->window);
	l->epoch = epoch + 1;
}

/* Rows of a batch, in the order of its epoch. */
static const uint64_t *rows_of(void *arg, uint64_t number, size_t *n)
{
	struct nn_loader *l = arg;
	uint64_t epoch = number / nn_loader_batches(l),
		 at = number % nn_loader_batches(l) * l->options.batch;

	if (l->epoch != epoch + 1)
		shuffle(l, epoch);
	*n = nn_loader_rows(l, number);
	return (l->order ? l->order : l->options.rows) + at;
}

/* Threads are started for rows that are drawn: a loader that is only planned with has none. */
static int open_ahead(struct nn_loader *l, struct nn_error *err)
{
	const struct nn_loader_options *o = &l->options;
	struct nn_ahead_options ahead = { .source = o->source,
					  .batch = o->n < o->batch ? o->n : o->batch,
					  .memory = o->ahead,
					  .threads = o->threads,
					  .rows = rows_of,
					  .arg = l,
					  .whole = o->whole };

	if (l->ahead || !o->ahead || !o->source.ops->stages)
		return 0;
	return nn_ahead_new(&l->ahead, &ahead, err);
}

void nn_loader_restart(struct nn_loader *l)
{
	nn_ahead_free(l->ahead);
	l->ahead = NULL;
}

double nn_loader_waited(const struct nn_loader *l)
{
	return l->ahead ? nn_ahead_waited(l->ahead) : 0;
}

void nn_loader_fini(struct nn_loader *l)
{
	nn_ahead_free(l->ahead);
	nn_free(l->order);
	nn_free(l->lengths);
	*l = (struct nn_loader){ 0 };
}

uint64_t nn_loader_batches(const struct nn_loader *l)
{
	return (l->options.n + l->options.batch - 1) / l->options.batch;
}

size_t nn_loader_rows(const struct nn_loader *l, uint64_t number)
{
	uint64_t left = l->options.n - number % nn_loader_batches(l) * l->options.batch;

	return left < l->options.batch ? left : l->options.batch;
}

int nn_loader_draw(struct nn_loader *l, uint64_t number, struct nn_batch *batch,
		   struct nn_error *err)
{
	const struct nn_loader_options *o = &l->options;
	uint64_t epoch = number / nn_loader_batches(l),
		 at = number % nn_loader_batches(l) * o->batch;
	size_t n = nn_loader_rows(l, number);

	*batch = (struct nn_batch){ .source = o->source,
				    .n = n,
				    .sample = epoch * o->n + at,
				    .augment = o->augment,
				    .epoch = epoch };
	if (o->ring) {
		nn_ring_draw(o->ring, number, l->order, n);
		batch->rows = l->order;
		return 0;
	}
	if (open_ahead(l, err) < 0)
		return -1;
	if (l->ahead)
		return nn_ahead_draw(l->ahead, number, &batch->source, &batch->rows, err);
	batch->rows = rows_of(l, number, &n);
	if (o->prefetch && at + n < o->n) {
		batch->next = batch->rows + n;
		batch->n_next = nn_loader_rows(l, number + 1);
	}
	if (!l->lengths)
		return 0;
	batch->lengths = l->lengths;
	return o->source.ops->lengths(o->source.data, batch->rows, n, l->lengths, err);
}

struct nn_batch nn_batch_of(const struct nn_source *source, const uint64_t *rows, size_t n)
{
	return (struct nn_batch){ .source = *source, .rows = rows, .n = n };
}

int nn_batch_target(const struct nn_batch *b, size_t target, size_t from, size_t n, void *values,
		    struct nn_error *err)
{
	if (b->augment)
		return nn_augment_fill_target(b, target, from, n, values, err);
	return b->source.ops->fill_target(b->source.data, target, b->rows + from, n, values, err);
}

int nn_batch_weights(const struct nn_batch *b, size_t from, size_t n, double *weights,
		     struct nn_error *err)
{
	return b->source.ops->fill_weights(b->source.data, b->rows + from, n, weights, err);
}
