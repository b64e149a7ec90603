/* Costs never fall with more rows, so the best cut lies where the two ends cross. */
#include <math.h>

#include "serve/batch/split.h"

/* What a second batch takes beside its costs: another thread is woken. */
#define SPLIT_S 20e-6

static double whole(const struct nn_split_view *p, size_t rows)
{
	return p->busy + nn_costs_at(p->costs, rows);
}

/* When both are done, `own` with the first k rows now. */
static double both(const struct nn_split_view *own, const struct nn_split_view *other, size_t rows,
		   size_t k)
{
	return SPLIT_S + fmax(whole(own, k), whole(other, rows - k));
}

/* The least k from 1 to rows - 1 with which `own` is done last; rows - 1: there is none. */
static size_t cross(const struct nn_split_view *own, const struct nn_split_view *other, size_t rows)
{
	size_t low = 1, high = rows - 1;

	while (low < high) {
		size_t k = low + (high - low) / 2;

		if (whole(own, k) < whole(other, rows - k))
			low = k + 1;
		else
			high = k;
	}
	return low;
}

struct nn_split nn_split_decide(const struct nn_split_view *places, size_t n, size_t rows)
{
	struct nn_split best = { -1, 0 };
	double least = INFINITY;

	for (size_t p = 0; p < n; p++) {
		double ends = whole(&places[p], rows);

		if (ends < least) {
			least = ends;
			best = (struct nn_split){ places[p].busy > 0 ? -1 : (int)p, rows };
		}
	}
	for (size_t p = 0; p < n; p++)
		for (size_t o = 0; o < n && rows > 1 && places[p].busy <= 0; o++) {
			size_t k = o == p ? 0 : cross(&places[p], &places[o], rows);

			for (size_t i = k > 1 ? k - 1 : k; i > 0 && i <= k; i++)
				if (both(&places[p], &places[o], rows, i) < least) {
					least = both(&places[p], &places[o], rows, i);
					best = (struct nn_split){ (int)p, i };
				}
		}
	return best;
}
