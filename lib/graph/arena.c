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

static bool meet(const struct nn_arena_item *a, const struct nn_arena_item *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* Where the smallest gap that fits begins. placed: n items sorted by offset, of which those count that live at the time of `item`. */
static size_t best_gap(struct nn_arena_item *const *placed, int n, const struct nn_arena_item *item)
{
	size_t end = 0, best = SIZE_MAX, best_size = SIZE_MAX;

	for (int i = 0; i < n; i++) {
		const struct nn_arena_item *busy = placed[i];

		if (!meet(busy, item))
			continue;
		if (busy->offset > end && busy->offset - end >= item->bytes && busy->offset - end < best_size) {
			best = end;
			best_size = busy->offset - end;
		}
		if (busy->offset + busy->bytes > end)
			end = busy->offset + busy->bytes;
	}
	return best != SIZE_MAX ? best : end;
}

/* Into the list of n that is sorted by offset. */
static void insert(struct nn_arena_item **placed, int n, struct nn_arena_item *item)
{
	for (; n > 0 && placed[n - 1]->offset > item->offset; n--)
		placed[n] = placed[n - 1];
	placed[n] = item;
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
	struct nn_arena_item **placed = nn_alloc((size_t)n, sizeof *placed, err);
	int n_own = own && placed ? unite(items, n, own, err) : -1;

	*bytes = 0;
	if (n_own > 0)
		qsort(own, (size_t)n_own, sizeof *own, by_size);
	for (int i = 0; i < n_own; i++) {
		own[i]->offset = best_gap(placed, i, own[i]);
		insert(placed, i, own[i]);
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
	nn_free(placed);
	return n_own < 0 ? -1 : 0;
}
