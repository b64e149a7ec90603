/*
 * The grid of ranks of --pipeline: which rank is which stage, and where the network is cut.
 *
 * Rank d * P + s is stage s of pipeline d, so neighbours in a pipeline are neighbours in the list
 * of hosts. Costs are measured on rank 0, node by node, with values of zero. Losses are computed
 * in the last stage, to which outputs of earlier ones are passed on. Held-out rows go through
 * whole on the first rank of each pipeline. More stages than layers are status 2 for inline text
 * and 1 for a file. Not with --folds.
 */
#ifndef NN_PARALLEL_GRID_H
#define NN_PARALLEL_GRID_H

#include "parallel/layout.h"
#include "step/step.h"

struct nn_task;

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

#endif
