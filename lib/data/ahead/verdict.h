/* Which stage of an input starves the steps, in figures and in words. */
#ifndef NN_DATA_AHEAD_VERDICT_H
#define NN_DATA_AHEAD_VERDICT_H

#include "base/text.h"
#include "data/ahead/ahead.h"

struct nn_ahead_verdict {
	bool input_bound;  /* steps waited for rows for more than a twentieth of the time */
	double wait_share; /* of the time */
	struct nn_stage_figures slowest; /* the stage that was busiest */
};
struct nn_ahead_verdict nn_ahead_judge(struct nn_ahead *ahead);
#define NN_INPUT_BOUND 0.05 /* of the time that steps wait */
/* "input-bound: jpeg decode, 2 of 2 workers busy 98 %" or "compute-bound: ..." */
void nn_ahead_sentence(struct nn_ahead *ahead, struct nn_text *text);
/* A line for each stage, and one of batches and rates; 0 to nn_stages_count. */
void nn_ahead_line(struct nn_ahead *ahead, size_t i, struct nn_text *text);

#endif
