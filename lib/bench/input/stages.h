/* The stages of an input as rows of a report and as a picture. */
#ifndef NN_BENCH_INPUT_STAGES_H
#define NN_BENCH_INPUT_STAGES_H

#include "bench/bench.h"
#include "data/ahead/stages.h"

/* What is known of a stage of an epoch is 0 or NAN of one of the start. */
struct nn_input_stage {
	const char *phase; /* "start": once, before the first sample; "epoch": for each batch */
	struct nn_stage_figures figures;
};

#define NN_INPUT_STAGES 12

struct nn_input_stages {
	struct nn_input_stage stage[NN_INPUT_STAGES];
	size_t n;
	uint64_t samples; /* that came into batches */
	double achieved;  /* of them a second */
	double predicted; /* as many by the times of stages */
	size_t bytes;     /* batches in the making; 0: none are */
};
extern const struct nn_report_column nn_input_columns[];

void nn_input_stages_add(struct nn_input_stages *stages, const char *phase,
			 const struct nn_stage_figures *figures);
/* A stage that was done once, in so many seconds. */
void nn_input_stages_start(struct nn_input_stages *stages, const char *name, uint64_t samples,
			   double seconds);
/* The stage of an epoch that was busiest. */
const struct nn_stage_figures *nn_input_stages_slowest(const struct nn_input_stages *stages);

/* A row for each, and one of all together. */
int nn_input_stages_put(const struct nn_input_stages *stages, struct nn_report *report,
			struct nn_error *err);
/* SVG: what each can do, and what came of them. */
int nn_input_stages_plot(const struct nn_input_stages *stages, const char *title, const char *note,
			 struct nn_output *output, struct nn_error *err);

#endif
