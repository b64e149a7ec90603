/* A network divided into stages for a pipeline: consecutive nodes, balanced by what they cost. */
#ifndef NN_STEP_STAGES_H
#define NN_STEP_STAGES_H

#include "graph/graph.h"

enum nn_pipeline_schedule { NN_SCHEDULE_1F1B, NN_SCHEDULE_GPIPE, NN_SCHEDULE_NAIVE };
extern const char *const nn_pipeline_schedules[]; /* "1f1b", ...; NULL at the end */

/* "P" or "P:SCHEDULE" of --pipeline; NULL: one stage. */
int nn_parse_pipeline(const char *text, int *stages, enum nn_pipeline_schedule *schedule,
		      struct nn_error *err);

/* One thing that a stage does in a step: forward or backward of a micro-batch. */
struct nn_pipeline_work {
	bool backward;
	size_t micro; /* number of the micro-batch */
};
/*
 * The work of stage `stage` of `stages` on n micro-batches, in order: 2n entries. naive: one after
 * the other, each forward and backward through all stages; gpipe: all forward, then all backward;
 * 1f1b: backward as soon as there is something to do.
 */
void nn_pipeline_order(enum nn_pipeline_schedule schedule, int stage, int stages, size_t n,
		       struct nn_pipeline_work *work);
/* The most micro-batches that are between forward and backward in that stage. */
size_t nn_pipeline_slots(enum nn_pipeline_schedule schedule, int stage, int stages, size_t n);
/*
 * The share of a step in which stages are idle, where all take the same: (P - 1) / (M + P -
 * 1), naive (P - 1) / P.
 */
double nn_pipeline_idle(enum nn_pipeline_schedule schedule, int stages, size_t n);

/* Most stages that the nodes allow: a layer stays whole. */
int nn_stages_most(const struct nn_graph_node *nodes, int n);
/*
 * bounds[stages + 1]: stage s has nodes bounds[s] to bounds[s + 1] - 1, so that the most expensive
 * stage costs as little as possible. stages is at most nn_stages_most.
 */
int nn_stages_divide(const struct nn_graph_node *nodes, const double *costs, int n, int stages,
		     int *bounds, struct nn_error *err);
/* costs[n] of the nodes by their FLOP. */
void nn_stages_guess(const struct nn_graph_node *nodes, int n, double *costs);
/* costs[n] in seconds: each node alone forward and backward over the span, as the options say. */
int nn_stages_measure(const struct nn_program *program, const struct nn_graph_options *options,
		      const struct nn_span *span, int n, double *costs, struct nn_error *err);

#endif
