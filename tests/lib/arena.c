/*
 * The arena: what lives at the same time lies apart, of few things and of many, in little more
 * memory than they fill at once.
 */
#include "base/memory.h"
#include "base/random.h"
#include "graph/arena.h"
#include "tap.h"

static uint64_t roll(uint64_t *state, uint64_t n)
{
	return (nn_lcg(state) >> 33) % n;
}

/*
 * n things of a chain: forward each is needed by the next, and in training again on the way back.
 */
static struct nn_arena_item *things(int n, bool training, uint64_t *seed)
{
	struct nn_arena_item *items = nn_alloc((size_t)n, sizeof *items, NULL);

	for (int i = 0; i < n; i++) {
		items[i] = (struct nn_arena_item){ .bytes = 64 * (1 + roll(seed, 50)),
						   .first = i,
						   .last = i + 1 + (int)roll(seed, 4),
						   .same = -1 };
		if (training && roll(seed, 3) > 0)
			items[i].last = 2 * n - i;
		if (roll(seed, 10) == 0)
			items[i] = (struct nn_arena_item){ .first = 0,
							   .last = -1,
							   .same = -1 }; /* needed never */
		else if (i > 0 && roll(seed, 10) == 0)
			items[i].same = i - 1;
	}
	return items;
}

static bool apart(const struct nn_arena_item *a, const struct nn_arena_item *b)
{
	return a->last < b->first || b->last < a->first || a->offset + a->bytes <= b->offset ||
	       b->offset + b->bytes <= a->offset;
}

/* The most bytes of owners that live at one time. */
static size_t filled(const struct nn_arena_item *items, int n)
{
	size_t most = 0;

	for (int time = 0; time <= 2 * n + 4; time++) {
		size_t now = 0;

		for (int i = 0; i < n; i++)
			if (items[i].same < 0 && items[i].first <= time && time <= items[i].last)
				now += items[i].bytes;
		most = now > most ? now : most;
	}
	return most;
}

static void placed(int n, bool training)
{
	uint64_t seed = (uint64_t)n;
	struct nn_arena_item *items = things(n, training, &seed);
	struct nn_error err = { 0 };
	size_t bytes = 0, beside = 0, strays = 0, least;

	if (!ok(nn_arena_place(items, n, &bytes, &err) == 0, "arena: %d things are placed%s", n,
		training ? ", of training" : ""))
		note("%s", err.text);
	for (int i = 0; i < n; i++) {
		strays += items[i].last >= items[i].first &&
			  (items[i].offset % 64 != 0 || items[i].offset + items[i].bytes > bytes);
		strays += items[i].same >= 0 && items[i].offset != items[items[i].same].offset;
		for (int j = 0; j < i; j++)
			beside += items[i].same < 0 && items[j].same < 0 &&
				  items[i].last >= items[i].first &&
				  items[j].last >= items[j].first && !apart(&items[i], &items[j]);
	}
	ok(beside == 0 && strays == 0,
	   "arena: what lives at the same time lies apart, what shares memory lies together");
	least = filled(items, n);
	if (!ok(bytes >= least && bytes <= least + least / 2,
		"arena: little more is taken than is filled at one time"))
		note("%zu bytes for %zu, %zu pairs, %zu strays", bytes, least, beside, strays);
	nn_free(items);
}

int main(void)
{
	placed(1, false);
	placed(300, false);
	placed(300, true);
	placed(5000, false);
	placed(5000, true);
	return tap_done();
}
