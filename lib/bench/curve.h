/* Throughput and latency over the batch: where it saturates, and the picture. */
#ifndef NN_BENCH_CURVE_H
#define NN_BENCH_CURVE_H

#include "bench/bench.h"

struct nn_curves;

/* title: what is measured. */
int nn_curves_new(struct nn_curves **curves, const char *title, const struct nn_bench *bench,
		  struct nn_error *err);
void nn_curves_free(struct nn_curves *curves);
/* A figure of a device in a mode; both names must stay. */
void nn_curves_add(struct nn_curves *curves, const char *mode, const char *device, double batch,
		   const struct nn_measure *m);
/*
 * The knee is the smallest batch that reaches 90 % of the largest throughput: larger ones only cost
 * latency and memory. A note for each curve of at least three batches.
 */
void nn_curves_notes(const struct nn_curves *curves, const struct nn_bench *bench);
/* SVG: for each mode throughput with its knees and latency percentiles. */
int nn_curves_plot(const struct nn_curves *curves, struct nn_output *output, struct nn_error *err);

#endif
