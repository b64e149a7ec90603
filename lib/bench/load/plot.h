/* The picture of a load: how many requests were answered within a time; of several rates latency.
 */
#ifndef NN_BENCH_LOAD_PLOT_H
#define NN_BENCH_LOAD_PLOT_H

#include "bench/bench.h"
#include "bench/load/pass.h"

struct nn_load_plot;

/* title: what is measured; slo in seconds, 0: none. */
int nn_load_plot_new(struct nn_load_plot **plot, const char *title, const struct nn_bench *bench,
		     double slo, struct nn_error *err);
void nn_load_plot_free(struct nn_load_plot *plot);
/* A pass of that rate; what it shows is copied. */
void nn_load_plot_add(struct nn_load_plot *plot, double rate, const struct nn_load_result *result);
int nn_load_plot_write(struct nn_load_plot *plot, struct nn_output *output, struct nn_error *err);

#endif
