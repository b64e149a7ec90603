/* The step of a task on a layout. */
#ifndef NN_PARALLEL_STEP_OPTIONS_H
#define NN_PARALLEL_STEP_OPTIONS_H

#include "parallel/layout.h"
#include "step/step.h"
#include "step/task.h"

/* As it would be with `micro` rows at once: for nn_step_new, or to plan its memory. */
struct nn_step_options nn_layout_step(const struct nn_layout *layout, const struct nn_task *task,
				      size_t micro);
/* Is the noise of the gradient measured at all: for a log, or for notes? */
bool nn_layout_measures(const struct nn_layout *layout, const struct nn_task *task);

#endif
