/* Drawing batches from a source in an order. */
#include "base/memory.h"
#include "data/loader.h"

int nn_loader_init(struct nn_loader *l, const struct nn_source *source, size_t most,
		   struct nn_error *err)
{
	*l = (struct nn_loader){ .source = *source };
	if (source->ops->lengths && !(l->lengths = nn_alloc(most, sizeof *l->lengths, err)))
		return -1;
	return 0;
}

void nn_loader_fini(struct nn_loader *l)
{
	nn_free(l->lengths);
	l->lengths = NULL;
}

void nn_loader_prefetch(struct nn_loader *l, bool ahead)
{
	l->ahead = ahead;
}

void nn_loader_begin(struct nn_loader *l, const uint64_t *order, size_t n, size_t size, size_t at)
{
	l->order = order;
	l->n = n;
	l->size = size;
	l->at = at;
}

bool nn_loader_next(struct nn_loader *l, struct nn_batch *batch)
{
	size_t left = l->n - l->at, n = left < l->size ? left : l->size;

	if (n == 0)
		return false;
	*batch = nn_batch_of(&l->source, l->order + l->at, n);
	l->at += n;
	left -= n;
	if (l->lengths) {
		l->source.ops->lengths(l->source.data, batch->rows, n, l->lengths);
		batch->lengths = l->lengths;
	}
	if (l->ahead) {
		batch->next = batch->rows + n;
		batch->n_next = left < n ? left : n;
	}
	return true;
}

struct nn_batch nn_batch_of(const struct nn_source *source, const uint64_t *rows, size_t n)
{
	return (struct nn_batch){ .source = *source, .rows = rows, .n = n };
}

void nn_batch_target(const struct nn_batch *b, size_t target, size_t from, size_t n, void *values)
{
	b->source.ops->fill_target(b->source.data, target, b->rows + from, n, values);
}
