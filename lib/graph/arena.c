/* Offsets in one block of memory for things that live for a known time: the largest first, each in the smallest gap that fits. */
#include <stdlib.h>

#include "base/memory.h"
#include "graph/bound.h"

static int by_size(const void *a, const void *b)
{
	const struct nn_arena_item *x = *(struct nn_arena_item *const *)a, *y = *(struct nn_arena_item *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x < y ? -1 : x > y;
}

static int by_offset(const void *a, const void *b)
{
	const struct nn_arena_item *x = *(struct nn_arena_item *const *)a, *y = *(struct nn_arena_item *const *)b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool meet(const struct nn_arena_item *a, const struct nn_arena_item *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* busy: placed items of the same time, sorted by offset. */
static size_t best_gap(struct nn_arena_item *const *busy, int n, size_t bytes)
{
	size_t end = 0, best = SIZE_MAX, best_size = SIZE_MAX;

	for (int i = 0; i < n; i++) {
		if (busy[i]->offset > end && busy[i]->offset - end >= bytes && busy[i]->offset - end < best_size) {
			best = end;
			best_size = busy[i]->offset - end;
		}
		if (busy[i]->offset + busy[i]->bytes > end)
			end = busy[i]->offset + busy[i]->bytes;
	}
	return best != SIZE_MAX ? best : end;
}

/* Give one memory the time and size of all that share it; the items that have memory of their own, and their number. */
static int unite(struct nn_arena_item *items, int n, struct nn_arena_item **own, struct nn_error *err)
{
	int n_own = 0;
	size_t total = 0, bytes;

	for (int i = 0; i < n; i++) {
		int owner = i;

		while (items[owner].same >= 0)
			owner = items[owner].same;
		if (owner == i) {
			own[n_own++] = &items[i];
			continue;
		}
		items[owner].first = items[i].first < items[owner].first ? items[i].first : items[owner].first;
		items[owner].last = items[i].last > items[owner].last ? items[i].last : items[owner].last;
		if (items[i].bytes > items[owner].bytes)
			items[owner].bytes = items[i].bytes;
	}
	for (int i = 0; i < n_own; i++) {
		if (!nn_add(own[i]->bytes, NN_ALIGN - 1, &bytes) ||
		    !nn_add(total, own[i]->bytes = bytes - bytes % NN_ALIGN, &total))
			return nn_fail(err, NN_ENOMEM, "the batch is larger than memory can be");
	}
	return n_own;
}

int nn_arena_place(struct nn_arena_item *items, int n, size_t *bytes, struct nn_error *err)
{
	struct nn_arena_item **own = nn_alloc((size_t)n, sizeof *own, err);
	struct nn_arena_item **busy = nn_alloc((size_t)n, sizeof *busy, err);
	int n_own = own && busy ? unite(items, n, own, err) : -1;

	*bytes = 0;
	if (n_own > 0)
		qsort(own, (size_t)n_own, sizeof *own, by_size);
	for (int i = 0; i < n_own; i++) {
		int n_busy = 0;

		for (int k = 0; k < i; k++)
			if (meet(own[k], own[i]))
				busy[n_busy++] = own[k];
		qsort(busy, (size_t)n_busy, sizeof *busy, by_offset);
		own[i]->offset = best_gap(busy, n_busy, own[i]->bytes);
		if (own[i]->offset + own[i]->bytes > *bytes)
			*bytes = own[i]->offset + own[i]->bytes;
	}
	for (int i = 0; n_own >= 0 && i < n; i++) {
		int owner = i;

		while (items[owner].same >= 0)
			owner = items[owner].same;
		items[i].offset = items[owner].offset;
	}
	nn_free(own);
	nn_free(busy);
	return n_own < 0 ? -1 : 0;
}
