/* Samples made up for a network: what steps are tried and measured on without data. */
#ifndef NN_STEP_MADE_H
#define NN_STEP_MADE_H

#include "data/data.h"
#include "op/program.h"
#include "predict/score/metrics.h"

/* A dataset of `rows` samples for the program's inputs, with targets for losses[n_outputs]. */
int nn_made_samples(struct nn_dataset **dataset, const struct nn_program *program,
		    const struct nn_loss_spec *losses, size_t rows, enum nn_dtype dtype,
		    uint64_t seed, struct nn_error *err);

#endif
