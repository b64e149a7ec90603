/* What a training keeps: the state that outlives it, and the best parameters so far. */
#ifndef NN_TRAIN_STATE_KEEPING_H
#define NN_TRAIN_STATE_KEEPING_H

#include "parallel/worker.h"
#include "step/schedule.h"
#include "parallel/worker.h"
#include "train/state/state.h"
#include "train/tell/telling.h"

struct nn_lock;
struct nn_saver;

struct nn_keeping {
	/* const after opening; borrowed */
	struct nn_worker *worker; /* whose parameters, slots and counters these are */
	const struct nn_telling *telling;
	const struct nn_train_options *options;
	const struct nn_opt_list *list; /* of all options */
	const char *output;             /* -o */
	const struct nn_schedule *schedule;

	char *state_path; /* NULL: no state */
	struct nn_lock *lock;
	char *options_json;
	void **best;                     /* --patience: the best parameters so far */
	struct nn_state_tensors tensors; /* of a state on its way to or from the file */
	struct nn_keeping_snapshot {
		struct nn_counters counters; /* and the rest of it */
		uint64_t bytes;              /* of the file */
		double start_s; /* when it was taken; before the first one, when training began */
		bool due;       /* the next one waits for this to be written */
	} snapshot;
	struct nn_saver *saver; /* NULL: no state is kept */
	uint64_t save_steps;    /* --checkpoint-every */
	double save_s;
	uint64_t saved_step;  /* step of the newest state on disk, UINT64_MAX: none of this run */
	char save_error[512]; /* why the last try failed */
	bool save_failed, replaces; /* the last try failed; there was a state when it began */
};

#endif
