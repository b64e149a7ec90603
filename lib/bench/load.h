/* What the options of nn-bench load may say. */
#ifndef NN_BENCH_LOAD_H
#define NN_BENCH_LOAD_H

#include "bench/load/arrivals.h"
#include "bench/load/body.h"

/* Of options: any file, or a way; a time with s, ms or us. */
int nn_load_check_arrivals(const char *value, struct nn_error *err);
int nn_load_check_slo(const char *value, struct nn_error *err);

#endif
