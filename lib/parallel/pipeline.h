/*
 * The grid of ranks, and the pipeline: ranks that hold a stage of the network each and pass rows
 * on.
 *
 * Rank d * P + s is stage s of pipeline d, so neighbours in a pipeline are neighbours in the list
 * of hosts. Costs are measured on rank 0, node by node, with values of zero. Losses are computed
 * in the last stage, to which outputs of earlier ones are passed on. Held-out rows go through
 * whole on the first rank of each pipeline. More stages than layers are status 2 for inline text
 * and 1 for a file. Not with --folds.
 */
#ifndef NN_PARALLEL_PIPELINE_H
#define NN_PARALLEL_PIPELINE_H

#include "comm/comm.h"
#include "step/stages.h"
#include "step/step.h"

struct nn_layout;
struct nn_task;
struct nn_worker;

/* Rank d * stages + s is stage s of pipeline d. */
struct nn_pipe {
	int stages, stage;
	enum nn_pipeline_schedule schedule;
	struct nn_comm *line; /* the stages of this pipeline, in their order */
	struct nn_comm *side; /* the ranks of this stage, which sum gradients as if they were all */
	struct nn_graph_node *nodes; /* of the network */
	int n_nodes;
	int *bounds;                   /* [stages + 1] */
	double *costs;                 /* [n_nodes] seconds for a micro-batch, or FLOP */
	int threads;                   /* with which they were measured, 0: these are FLOP */
	int *owner;                    /* [params of the program] the stage that has it */
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
	/*
	 * the share of the time that stages stood still, all together, and where all took the same
	 */
	double idle, formula;
	size_t bad; /* the first micro-batch whose loss is not finite, SIZE_MAX: none */
};

/* The ranks of a training where --pipeline is given: the grid, checked, and communicators. */
int nn_pipe_open(struct nn_layout *layout, struct nn_error *err);
void nn_pipe_free(struct nn_pipe *pipe);
/*
 * Where the network is cut: costs are measured on rank 0, or in a plan, where it takes long
 * guessed. Needs program and micro-batch.
 */
int nn_pipe_divide(const struct nn_layout *layout, const struct nn_task *task, size_t micro,
		   struct nn_error *err);
/* What of the network this rank's step computes; pipe NULL: all. */
struct nn_step_part nn_pipe_part(const struct nn_pipe *pipe);
/*
 * Rows that go through at once where nothing says so: whole leaves, so that some micro-batches flow
 * for each stage.
 */
size_t nn_pipe_micro(const struct nn_layout *layout, const struct nn_task *task, size_t rows);
/*
 * What goes from rank to rank are the same rows: as many at once as the one that can take fewest.
 * For columns, too. In: what this rank can take; out: what all do.
 */
int nn_pipe_agree(const struct nn_layout *layout, size_t *micro, struct nn_error *err);
/* The step was made: room for its messages. */
int nn_pipe_attach(struct nn_worker *worker, struct nn_error *err);

/* Room for what crosses the bounds of this stage; slots and edges are known. */
int nn_pipe_take_crossing(struct nn_worker *worker, struct nn_error *err);

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
int nn_pipe_collect(struct nn_worker *worker, void *const *set, bool buffers, struct nn_error *err);
/* At the end: fills idle and formula, and tells them. */
int nn_pipe_end(struct nn_worker *worker, struct nn_error *err);
/* The grid and its stages, as notes of rank 0. */
void nn_pipe_tell(struct nn_worker *worker);

#endif
