/* Inside a trial, for the file that checks it. */
#ifndef NN_BENCH_TRIAL_INSIDE_H
#define NN_BENCH_TRIAL_INSIDE_H

#include "bench/machine/copies.h"
#include "bench/trial.h"
#include "data/data.h"
#include "predict/model.h"
#include "plan/alone.h"

struct nn_trial {
	struct nn_trial_options options;
	const struct nn_bench_model *subject;
	struct nn_pool *pool;
	size_t bytes;
	uint64_t calls;

	/* samples */
	size_t n_rows;
	struct nn_dataset *dataset;

	/* training */
	struct nn_task task;
	struct nn_alone alone;
	bool diverged;

	/* prediction */
	struct nn_model *model;
	struct nn_session *session;
	void **values;    /* [n_inputs] rows of all calls, in one piece */
	size_t at;        /* of the next one */
	void **in, **out; /* [n_inputs], [n_outputs] of a call */

	struct nn_copies copies;
};

#endif
