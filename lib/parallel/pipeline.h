/* The pipeline: ranks that hold a stage of the network each and pass rows on (grid.h). */
#ifndef NN_PARALLEL_PIPELINE_H
#define NN_PARALLEL_PIPELINE_H

#include "comm/comm.h"
#include "step/stages.h"
#include "step/step.h"

struct nn_worker;

/* A stage at work. */
struct nn_pipe_flow {
	struct nn_pipeline_work *work; /* of a step */
	struct nn_posted *posted;      /* [slots] sends of what lies in a slot */
	struct nn_message *messages;   /* [edges] */
	/*
	 * [slots][sides][edges of that side at most][2]: values and gradients that cross, and the
	 * queue of their pinned memory
	 */
	struct nn_mirror *crossing;
	size_t edges; /* of the side that has more */
	struct nn_queue *pins;
	size_t slots, most; /* most: micro-batches of a step */
	/* of the steps so far: waiting for other stages; from the first work to the last */
	double idle_s, total_s;
	/* the share of the time that all stages idled, and what it is where all take the same */
	double idle, formula;
	size_t bad; /* the first micro-batch whose loss is not finite, SIZE_MAX: none */
};

/* The step was made: worker->flow, and which stage has which parameter. Collective. */
int nn_pipe_attach(struct nn_worker *worker, struct nn_error *err);
void nn_pipe_detach(struct nn_worker *worker);

/*
 * Forward and backward of a batch that nn_step_begin has begun, as nn_step_run. result->finite:
 * what this stage knows.
 */
int nn_pipe_run(struct nn_worker *worker, struct nn_step_result *result, struct nn_error *err);
/* After nn_step_finish: what the last stage found, to all. */
int nn_pipe_result(struct nn_worker *worker, struct nn_step_result *result, struct nn_error *err);
/* Some loss was not finite: result->nonfinite_line, the same on all ranks. */
int nn_pipe_find_nonfinite(struct nn_worker *worker, struct nn_step_result *result,
			   struct nn_error *err);
/* A hook of the optimizer: squares of all stages. */
int nn_pipe_squares(void *worker, double *squares, struct nn_error *err);
/*
 * Tensors of all stages to the set of rank 0, where all of them are; from the others', which have
 * their own. Slots have no buffers.
 */
int nn_pipe_gather(struct nn_worker *worker, void *const *set, bool buffers, struct nn_error *err);
/* At the end: fills idle and formula, and tells them. */
int nn_pipe_end(struct nn_worker *worker, struct nn_error *err);
/* The grid and its stages, as notes of rank 0. */
void nn_pipe_note(struct nn_worker *worker);

#endif
