/*
 * The cost table. A measured time is the cost or more (another process had the core), so a mean
 * follows what is less quickly and what is more slowly; larger batches never cost less, so means
 * that fall are put together (pool adjacent violators). Nor do they cost much more than in
 * proportion: what one took that was interrupted would keep others of its size away for good.
 */
#include <math.h>

#include "serve/batch/cost.h"

#define SMOOTH_EVERY 8
#define MOST_RATIO 2 /* what a row takes, to what it takes in the next smaller batch seen */

static unsigned point_of(size_t rows)
{
	unsigned octave = 0;

	if (rows < 8)
		return rows ? (unsigned)rows - 1 : 0;
	while (rows >> (octave + 3))
		octave++; /* 2^(octave + 2) <= rows < 2^(octave + 3) */
	octave = 7 + (octave - 1) * 4 + (unsigned)(rows >> octave & 3);
	return octave < NN_COST_POINTS ? octave : NN_COST_POINTS - 1;
}

static void bound(struct nn_costs *c)
{
	int below = -1;

	for (int i = 0; i < NN_COST_POINTS; i++) {
		double most;

		if (c->points[i].seen == 0)
			continue;
		most = below < 0 ? INFINITY : MOST_RATIO * c->smooth[below] / c->points[below].rows;
		c->smooth[i] = fmin(c->smooth[i], most * c->points[i].rows);
		below = i;
	}
}

/* Means of neighbours that fall become one, weighted by how often they were seen. */
static void smooth(struct nn_costs *c)
{
	struct {
		double seconds, weight;
		unsigned end;
	} runs[NN_COST_POINTS];
	unsigned n = 0, at = 0;

	for (unsigned i = 0; i < NN_COST_POINTS; i++) {
		if (c->points[i].seen == 0)
			continue;
		runs[n].seconds = c->points[i].seconds;
		runs[n].weight = c->points[i].seen;
		runs[n++].end = i;
		while (n > 1 && runs[n - 1].seconds < runs[n - 2].seconds) {
			double weight = runs[n - 2].weight + runs[n - 1].weight;

			runs[n - 2].seconds = (runs[n - 2].seconds * runs[n - 2].weight +
					       runs[n - 1].seconds * runs[n - 1].weight) /
					      weight;
			runs[n - 2].weight = weight;
			runs[n - 2].end = runs[n - 1].end;
			n--;
		}
	}
	for (unsigned r = 0; r < n; r++)
		for (; at <= runs[r].end; at++)
			c->smooth[at] = runs[r].seconds;
	bound(c);
	c->n = 0;
}

void nn_costs_add(struct nn_costs *c, size_t rows, double seconds)
{
	struct nn_cost_point *p = &c->points[point_of(rows)];
	double first = p->seen < 16 ? 1.0 / (p->seen + 1) : 0;
	double step = seconds < p->seconds ? 0.25 : 0.0625;

	/* what took four times as long was interrupted, unless it goes on */
	if (p->seen > 2 && seconds > 4 * p->seconds)
		seconds = 4 * p->seconds;
	step = step > first ? step : first;
	p->seconds += (seconds - p->seconds) * step;
	p->rows += ((double)rows - p->rows) * step;
	p->seen += p->seen < 256;
	if (p->seen < 8 || ++c->n >= SMOOTH_EVERY)
		smooth(c);
}

double nn_costs_at(const struct nn_costs *c, size_t rows)
{
	double n = (double)rows;
	int below = -1;

	for (int i = 0; i < NN_COST_POINTS; i++) {
		const struct nn_cost_point *p = &c->points[i], *q;

		if (p->seen == 0)
			continue;
		if (n <= p->rows) {
			if (below < 0)
				return c->smooth[i];
			q = &c->points[below];
			return c->smooth[below] + (c->smooth[i] - c->smooth[below]) *
							  (n - q->rows) / (p->rows - q->rows);
		}
		below = i;
	}
	return below < 0 ? 0 : c->smooth[below] * n / c->points[below].rows;
}

bool nn_costs_know(const struct nn_costs *c, size_t rows)
{
	return c->points[point_of(rows)].seen > 0;
}
