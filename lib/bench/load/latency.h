/*
 * Latencies as a histogram whose cells are 1/512 of their value wide: percentiles of any number of
 * requests in the same memory (as in HdrHistogram).
 */
#ifndef NN_BENCH_LOAD_LATENCY_H
#define NN_BENCH_LOAD_LATENCY_H

#include <stddef.h>
#include <stdint.h>

#define NN_LOAD_OCTAVES 44 /* from a nanosecond to hours */
#define NN_LOAD_CELLS 512  /* of an octave */

struct nn_load_latency {
	uint64_t n;
	double sum, max; /* seconds, exact */
	uint64_t cells[NN_LOAD_OCTAVES * NN_LOAD_CELLS];
};

void nn_load_latency_add(struct nn_load_latency *latency, double seconds);
/*
 * The least latency that `share` of the requests stay within; NAN where fewer than five lie beyond
 * it.
 */
double nn_load_latency_at(const struct nn_load_latency *latency, double share);
/* The same of any number of requests but none. */
double nn_load_latency_least(const struct nn_load_latency *latency, double share);

#endif
