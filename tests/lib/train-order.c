/*
 * The order of async: whatever order gradients come in, none is applied too late, and somebody can
 * always go on.
 */
#include "base/random.h"
#include "tests/lib/tap.h"
#include "parallel/async.h"

#define RANKS 6

/* A generator of its own: the test needs many orders, not good ones. */
static uint64_t state;

static uint64_t draw(uint64_t below)
{
	return (nn_lcg(&state) >> 33) % below;
}

/* The oldest of all that are out may land: the rule that nobody waits for ever. */
static bool oldest_may_land(const struct nn_staleness *f, size_t n, uint64_t updates, uint64_t most)
{
	size_t oldest = n;

	for (size_t i = 0; i < n; i++)
		if (f[i].out && (oldest == n || f[i].version < f[oldest].version))
			oldest = i;
	return oldest == n || nn_staleness_may_apply(f, n, oldest, updates, most);
}

/*
 * A run: ranks of random speed, of which one may be stuck for long. The most that was ever stale,
 * or -1 where the rules failed.
 */
static int fly(size_t n, uint64_t most, int landings, uint64_t *seen_out)
{
	struct nn_staleness f[RANKS] = { 0 };
	uint64_t updates = 0;
	int stale = 0;

	for (int turn = 0; turn < landings * 20 && updates < (uint64_t)landings; turn++) {
		size_t who = draw(n), stuck = draw(4) ? n : turn / 50 % n;
		uint64_t out = 0;

		for (size_t i = 0; i < n; i++)
			if (!f[i].out && nn_staleness_may_dispatch(f, n, updates, most))
				f[i] = (struct nn_staleness){ .out = true, .version = updates };
		for (size_t i = 0; i < n; i++)
			out += f[i].out;
		*seen_out = out > *seen_out ? out : *seen_out;
		if (out == 0 || !oldest_may_land(f, n, updates, most))
			return -1;
		if (who != stuck && f[who].out)
			f[who].there = true;
		for (size_t i = 0; i < n; i++) {
			if (!f[i].there || !nn_staleness_may_apply(f, n, i, updates, most))
				continue;
			stale = updates - f[i].version > (uint64_t)stale
					? (int)(updates - f[i].version)
					: stale;
			if (updates - f[i].version > most)
				return -1;
			f[i] = (struct nn_staleness){ 0 };
			updates++;
		}
	}
	return updates < (uint64_t)landings ? -1 : stale;
}

int main(void)
{
	struct nn_staleness two[2] = { { .out = true, .version = 3 },
				       { .out = true, .version = 3 } };

	for (size_t n = 1; n <= RANKS; n++)
		for (uint64_t most = 0; most <= 8; most++) {
			uint64_t out = 0;
			int stale = 0;

			for (state = 1; state <= 20 && stale >= 0; state += 1) {
				uint64_t seed = state;
				int here = fly(n, most, 300, &out);

				stale = here < 0 || here > stale ? here : stale;
				state = seed;
			}
			ok(stale >= 0 && (uint64_t)stale <= most,
			   "%zu ranks, at most %d behind: never more, and never stuck", n,
			   (int)most);
			ok(out == (n <= most + 1 ? n : most + 1),
			   "%zu ranks, at most %d behind: %d compute at once", n, (int)most,
			   (int)out);
			if (n > 1 && most > 0)
				ok(stale > 0, "%zu ranks, at most %d behind: something is stale", n,
				   (int)most);
		}
	ok(nn_staleness_may_apply(two, 2, 0, 3, 1) && nn_staleness_may_apply(two, 2, 1, 3, 1),
	   "either of two from one version lands first");
	ok(!nn_staleness_may_apply(two, 2, 1, 4, 1),
	   "a second one before the first would make that one 2 behind");
	return tap_done();
}
