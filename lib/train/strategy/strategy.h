/* How the ranks of a training work together: a strategy is a file, and a line in the array beside
 * it. */
#ifndef NN_TRAIN_STRATEGY_STRATEGY_H
#define NN_TRAIN_STRATEGY_STRATEGY_H

#include "train/step.h"

struct nn_train;

/* What is asked of all ranks after a step. Each may wish; after the step all know what was agreed:
 * what any of them asked for. */
struct nn_wish {
	int stop;  /* the signal that ends the training, 0: none */
	int save;  /* the signal that asks for the state, 0: none */
	bool due;  /* by its clock the state is to be written */
	bool over; /* by its clock the time is over */
	bool norm; /* this step is logged: its gradient norm is wanted */
};

/* A global batch, the same on all ranks. */
struct nn_strategy_batch {
	const uint64_t *rows; /* [n] */
	size_t n;
	uint64_t sample; /* samples drawn in training before it */
	uint64_t number; /* of the update, from 1 */
	double lr;
};

/* The samples of an epoch in the order of training. */
struct nn_order {
	uint64_t *rows; /* [n_rows] owned */
	uint64_t epoch; /* + 1, 0: none yet */
};

/* What --strategy says besides the name. */
struct nn_strategy_terms {
	uint64_t every, from; /* local:H@STEP; from 0: from the beginning */
};

/*
 * prepare and release go around the life of the training's step, of which each fold has its own. In
 * between the loop (loop.c) calls open, then step and settle as often as it needs, then close. All
 * are collective but release; where one fails (-1) the job is lost. A strategy with steps of its
 * own kind (a server, stages) has `run` in place of the loop. NULL members: nothing to do.
 */
struct nn_strategy {
	const char *name;
	bool whole; /* a rank computes whole batches, else its share of the leaves of each */
	/* What follows the name: ":8@100" of local. Said to be wrong before anything runs
	 * (NN_EUSAGE); NULL: nothing may follow. */
	int (*parse)(struct nn_strategy_terms *terms, const char *text, struct nn_error *err);
	/* Before the step is made: options, the memory it is to lie in among them. State of the
	 * strategy's own goes to train->team. */
	int (*prepare)(struct nn_train *train, struct nn_step_options *options,
		       struct nn_error *err);
	void (*release)(struct nn_train *train); /* the step is gone, or was never there */
	/* Parameters are loaded. */
	int (*open)(struct nn_train *train, struct nn_error *err);
	void (*close)(struct nn_train *train);
	int (*run)(struct nn_train *train, int *stopped, struct nn_error *err);
	/*
	 * Gradient and update of a batch. result is the same on all ranks but for the times; with
	 * result->finite false nothing was updated. wish: in what this rank wishes, out what is
	 * agreed.
	 */
	int (*step)(struct nn_train *train, const struct nn_strategy_batch *batch,
		    struct nn_wish *wish, struct nn_step_result *result, struct nn_error *err);
	/* Parameters, buffers and slots will be read (evaluation, state, model): make them whole
	 * and the same on all ranks. */
	int (*settle)(struct nn_train *train, struct nn_error *err);
};

extern const struct nn_strategy nn_strategy_sync, nn_strategy_local, nn_strategy_async,
	nn_strategy_master;
/* All of them, NULL at the end. */
extern const struct nn_strategy *const nn_strategies[];

/* --strategy=TEXT; terms may be NULL. NULL with *err where there is none of that name, or its terms
 * are wrong. */
const struct nn_strategy *nn_strategy_parse(const char *text, struct nn_strategy_terms *terms,
					    struct nn_error *err);
/* The name of what was asked for, pipeline and tensor included. */
const char *nn_strategy_asked(const struct nn_train *train);

/* The rows of batch `batch`, from 0 and whatever epoch it lies in, for update batch + 1; they point
 * into order. The rate is not set. */
struct nn_strategy_batch nn_train_batch(const struct nn_train *train, struct nn_order *order,
					uint64_t batch);

/* Before parameters, buffers and slots are read: whatever ranks keep of them comes together.
 * Collective. */
int nn_train_settle(struct nn_train *train, struct nn_error *err);

/* The loop over epochs and steps, for a strategy whose `run` lets some ranks do something else. */
int nn_train_loop(struct nn_train *train, int *stopped, struct nn_error *err);

/* What sync does before the step is made and after it is gone, for strategies whose ranks at times
 * go as sync: by messages alone. */
int nn_sync_prepare(struct nn_train *train, struct nn_step_options *options, struct nn_error *err);
void nn_sync_release(struct nn_train *train);
/* Parameters that a step of sync has left on their way are there. */
int nn_sync_arrive(struct nn_train *train, struct nn_error *err);

/* A wish as it travels: what any rank asked for, the lowest rank's signal first. */
void nn_wish_join(struct nn_wish *wish, const struct nn_wish *other);

#endif
