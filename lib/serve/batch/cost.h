/* What a batch of n rows takes: learned from batches as they pass, read between those seen. */
#ifndef NN_SERVE_BATCH_COST_H
#define NN_SERVE_BATCH_COST_H

#include <stdbool.h>
#include <stddef.h>

/* Four sizes for each doubling: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, ... up to 2^16. */
#define NN_COST_POINTS 64

/* Zero-initialize. Whoever shares one locks it. */
struct nn_costs {
	struct nn_cost_point {
		double rows, seconds; /* running means of what fell here */
		unsigned seen;
	} points[NN_COST_POINTS];
	double smooth[NN_COST_POINTS]; /* never falling, of points seen */
	unsigned n;                    /* batches since the last smoothing */
};

void nn_costs_add(struct nn_costs *costs, size_t rows, double seconds);
/*
 * Seconds that n rows take: between two sizes seen on the line between them, below the least at
 * most what that one takes, beyond the largest in proportion. 0: nothing was seen yet.
 */
double nn_costs_at(const struct nn_costs *costs, size_t rows);
/* Was a batch of about so many rows seen? */
bool nn_costs_know(const struct nn_costs *costs, size_t rows);

#endif
