/* Latencies counted by size. */
#include <math.h>

#include "bench/load/latency.h"

#define BEYOND 5 /* samples that a percentile needs beyond it */

/* The cell of a time: its octave above a nanosecond, and where in that it lies. */
static size_t cell_of(double seconds)
{
	double ns = seconds * 1e9;
	int octave;
	double mantissa = frexp(ns, &octave); /* ns = mantissa * 2^octave, mantissa in [0.5, 1) */

	if (!(ns >= 1))
		return 0;
	if (octave > NN_LOAD_OCTAVES)
		return (size_t)NN_LOAD_OCTAVES * NN_LOAD_CELLS - 1;
	return (size_t)(octave - 1) * NN_LOAD_CELLS +
	       (size_t)((mantissa - 0.5) * 2 * NN_LOAD_CELLS);
}

/* The upper end of a cell. */
static double seconds_of(size_t cell)
{
	double within = (double)(cell % NN_LOAD_CELLS + 1) / NN_LOAD_CELLS;

	return ldexp(1 + within, (int)(cell / NN_LOAD_CELLS)) / 1e9;
}

void nn_load_latency_add(struct nn_load_latency *l, double seconds)
{
	l->cells[cell_of(seconds)]++;
	l->n++;
	l->sum += seconds;
	l->max = fmax(l->max, seconds);
}

double nn_load_latency_least(const struct nn_load_latency *l, double share)
{
	double wanted = ceil(share * (double)l->n);
	size_t cell = 0;
	double seen = (double)l->cells[0];

	if (l->n == 0)
		return NAN;
	while (seen < wanted && cell + 1 < (size_t)NN_LOAD_OCTAVES * NN_LOAD_CELLS)
		seen += (double)l->cells[++cell];
	return fmin(seconds_of(cell), l->max);
}

double nn_load_latency_at(const struct nn_load_latency *l, double share)
{
	/* 500 requests have five beyond the 99th percentile, whatever 1 - 0.99 rounds to. */
	return (1 - share) * (double)l->n < BEYOND - 1e-6 ? NAN : nn_load_latency_least(l, share);
}
