/*
 * The bound on staleness: gradients under way are applied in some order, and each must find at most
 * `most` updates in between.
 */
#include "parallel/async.h"

/*
 * With the flights in order of their versions, the i-th to land does so i updates from now:
 * feasible where updates + i - version <= most for all. The oldest may always land next, so whoever
 * waits is served in the end.
 */
static bool feasible(const struct nn_staleness *flights, size_t n, size_t without, uint64_t updates,
		     uint64_t most)
{
	for (size_t k = 0; k < n; k++) {
		uint64_t before = 0;

		if (k == without || !flights[k].out)
			continue;
		for (size_t i = 0; i < n; i++)
			before += i != without && i != k && flights[i].out &&
				  (flights[i].version < flights[k].version ||
				   (i < k && flights[i].version == flights[k].version));
		if (updates + before - flights[k].version > most)
			return false;
	}
	return true;
}

bool nn_staleness_may_dispatch(const struct nn_staleness *flights, size_t n, uint64_t updates,
			       uint64_t most)
{
	uint64_t out = 0;

	for (size_t k = 0; k < n; k++)
		out += flights[k].out;
	return out <= most && feasible(flights, n, n, updates, most);
}

bool nn_staleness_may_apply(const struct nn_staleness *flights, size_t n, size_t which,
			    uint64_t updates, uint64_t most)
{
	return updates - flights[which].version <= most &&
	       feasible(flights, n, which, updates + 1, most);
}
