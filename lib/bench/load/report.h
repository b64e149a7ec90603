/* What is told of a pass: its row, where the time of a request went, and what failed. */
#ifndef NN_BENCH_LOAD_REPORT_H
#define NN_BENCH_LOAD_REPORT_H

#include "bench/bench.h"
#include "bench/load/pass.h"

extern const struct nn_report_column nn_load_columns[];

struct nn_load_row {
	double rate;  /* requests a second that were to be sent; 0: as many as were answered */
	size_t rows;  /* of a request */
	double batch; /* rows of the server's batches, in the mean; NAN: unknown */
	double warmup;
	size_t connections;
	double timeout;
	const struct nn_load_result *result, *null; /* NULL: not asked for */
};
int nn_load_report_row(struct nn_report *report, const struct nn_load_row *row,
		       struct nn_error *err);
/* On standard error. */
void nn_load_report_notes(const struct nn_bench *bench, const struct nn_load_row *row);

#endif
