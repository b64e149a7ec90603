/*
 * Offsets in one block of memory for things that live for a known time: the largest first, each in
 * the smallest gap that fits. That takes the square of their number: more than MANY get theirs as
 * they come to life.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "graph/arena.h"

#define MANY 2048

/* ---- the largest first ---- */

static int by_size(const void *a, const void *b)
{
	const struct nn_arena_item *x = *(struct nn_arena_item *const *)a,
				   *y = *(struct nn_arena_item *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x < y ? -1 : x > y;
}

static bool meet(const struct nn_arena_item *a, const struct nn_arena_item *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/*
 * Where the smallest gap that fits begins. placed: n items sorted by offset, of which those count
 * that live at the time of `item`.
 */
static size_t best_gap(struct nn_arena_item *const *placed, int n, const struct nn_arena_item *item)
{
	size_t end = 0, best = SIZE_MAX, best_size = SIZE_MAX;

	for (int i = 0; i < n; i++) {
		const struct nn_arena_item *busy = placed[i];

		if (!meet(busy, item))
			continue;
		if (busy->offset > end && busy->offset - end >= item->bytes &&
		    busy->offset - end < best_size) {
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

static int place_by_size(struct nn_arena_item **own, int n, size_t *bytes, struct nn_error *err)
{
	struct nn_arena_item **placed = nn_alloc((size_t)n, sizeof *placed, err);

	if (!placed)
		return -1;
	qsort(own, (size_t)n, sizeof *own, by_size);
	for (int i = 0; i < n; i++) {
		own[i]->offset = best_gap(placed, i, own[i]);
		insert(placed, i, own[i]);
		if (own[i]->offset + own[i]->bytes > *bytes)
			*bytes = own[i]->offset + own[i]->bytes;
	}
	nn_free(placed);
	return 0;
}

/* ---- as they come to life ---- */

/* What is free below `top`: gaps sorted by offset, no two of which touch. */
struct gaps {
	struct gap {
		size_t from, to;
	} * gap;
	size_t n, top;
};

static int by_first(const void *a, const void *b)
{
	const struct nn_arena_item *x = *(struct nn_arena_item *const *)a,
				   *y = *(struct nn_arena_item *const *)b;

	return x->first != y->first ? x->first < y->first ? -1 : 1 : by_size(a, b);
}

static int by_last(const void *a, const void *b)
{
	const struct nn_arena_item *x = *(struct nn_arena_item *const *)a,
				   *y = *(struct nn_arena_item *const *)b;

	return x->last != y->last ? x->last < y->last ? -1 : 1 : by_size(a, b);
}

static void take(struct gaps *g, struct nn_arena_item *item)
{
	struct gap *best = NULL;

	for (size_t i = 0; i < g->n; i++) {
		struct gap *gap = &g->gap[i];

		if (gap->to - gap->from >= item->bytes &&
		    (!best || gap->to - gap->from < best->to - best->from))
			best = gap;
	}
	if (!best) {
		item->offset = g->top;
		g->top += item->bytes;
		return;
	}
	item->offset = best->from;
	best->from += item->bytes;
	if (best->from == best->to) {
		memmove(best, best + 1, (size_t)(g->gap + g->n - (best + 1)) * sizeof *best);
		g->n--;
	}
}

static void give(struct gaps *g, const struct nn_arena_item *item)
{
	size_t from = item->offset, to = from + item->bytes, i = g->n;

	while (i > 0 && g->gap[i - 1].from > from)
		i--;
	if (i < g->n && g->gap[i].from == to) {
		to = g->gap[i].to;
		memmove(&g->gap[i], &g->gap[i + 1], (g->n - i - 1) * sizeof *g->gap);
		g->n--;
	}
	if (i > 0 && g->gap[i - 1].to == from) {
		from = g->gap[--i].from;
		memmove(&g->gap[i], &g->gap[i + 1], (g->n - i - 1) * sizeof *g->gap);
		g->n--;
	}
	if (to == g->top) {
		g->top = from;
		return;
	}
	memmove(&g->gap[i + 1], &g->gap[i], (g->n - i) * sizeof *g->gap);
	g->gap[i] = (struct gap){ from, to };
	g->n++;
}

static int place_by_time(struct nn_arena_item **own, int n, size_t *bytes, struct nn_error *err)
{
	struct nn_arena_item **leaving = nn_alloc((size_t)n, sizeof *leaving, err);
	struct gaps g = { .gap = nn_alloc((size_t)n + 1, sizeof *g.gap, err) };
	int status = leaving && g.gap ? 0 : -1;

	if (status == 0) {
		memcpy(leaving, own, (size_t)n * sizeof *own);
		qsort(own, (size_t)n, sizeof *own, by_first);
		qsort(leaving, (size_t)n, sizeof *leaving, by_last);
		for (int i = 0, gone = 0; i < n; i++) {
			if (own[i]->bytes == 0 || own[i]->last < own[i]->first)
				continue;
			for (; leaving[gone]->last < own[i]->first; gone++)
				if (leaving[gone]->bytes > 0 &&
				    leaving[gone]->last >= leaving[gone]->first)
					give(&g, leaving[gone]);
			take(&g, own[i]);
			*bytes = g.top > *bytes ? g.top : *bytes;
		}
	}
	nn_free(leaving);
	nn_free(g.gap);
	return status;
}

/* ---- all ---- */

/*
 * The item whose memory item i has. Those on the way to it name it afterwards, so that long chains
 * are followed once.
 */
static int owner_of(struct nn_arena_item *items, int i)
{
	int owner = i, next;

	while (items[owner].same >= 0)
		owner = items[owner].same;
	for (; i != owner; i = next) {
		next = items[i].same;
		items[i].same = owner;
	}
	return owner;
}

/*
 * Give one memory the time and size of all that share it; the items that have memory of their own,
 * and their number.
 */
static int unite(struct nn_arena_item *items, int n, struct nn_arena_item **own,
		 struct nn_error *err)
{
	int n_own = 0;
	size_t total = 0, bytes;

	for (int i = 0; i < n; i++) {
		int owner = owner_of(items, i);

		if (owner == i) {
			own[n_own++] = &items[i];
			continue;
		}
		items[owner].first =
			items[i].first < items[owner].first ? items[i].first : items[owner].first;
		items[owner].last =
			items[i].last > items[owner].last ? items[i].last : items[owner].last;
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
	int n_own = own ? unite(items, n, own, err) : -1, status = n_own < 0 ? -1 : 0;

	*bytes = 0;
	if (n_own > 0)
		status = (n_own > MANY ? place_by_time : place_by_size)(own, n_own, bytes, err);
	for (int i = 0; status == 0 && i < n; i++)
		items[i].offset = items[owner_of(items, i)].offset;
	nn_free(own);
	return status;
}

int nn_arena_append(size_t *end, size_t bytes, size_t *offset, struct nn_error *err)
{
	size_t begin = *end;

	if (!nn_add(begin, bytes, end) || !nn_add(*end, NN_ALIGN - 1, end))
		return nn_fail(err, NN_ENOMEM, "the batch is larger than memory can be");
	*end -= *end % NN_ALIGN;
	if (offset)
		*offset = begin;
	return 0;
}
