/* The layers of a model under the roofs of this machine. */
#ifndef NN_BENCH_ROOFLINE_H
#define NN_BENCH_ROOFLINE_H

#include "bench/bench.h"

/* Does the operand of ops mean a model: a file, or text with a blank? */
bool nn_roofline_is_model(const char *operand);
/* Measure each layer as it runs, fused, at --batch rows: a row of the report each, and --plot. */
int nn_roofline(struct nn_bench *bench, const char *model, struct nn_error *err);

#endif
