/*
 * How the ranks of a training work together: a strategy is a file, and a line in the array beside
 * it.
 */
#ifndef NN_PARALLEL_STRATEGY_H
#define NN_PARALLEL_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct nn_step_options;
struct nn_step_result;
struct nn_step_terms;
struct nn_worker;

/* Terms of --strategy after the name. */
struct nn_strategy_terms {
	uint64_t every, from; /* local:H@STEP; from 0: from the beginning */
	uint64_t staleness;   /* of async; UINT64_MAX: as many ranks need */
};

/*
 * Requests of any rank that all ranks follow. After each step all ranks know what any of them
 * asked for.
 */
struct nn_control {
	int stop;  /* the signal that ends the training, 0: none */
	int save;  /* the signal that asks for the state, 0: none */
	bool due;  /* by its clock the state is to be written */
	bool over; /* by its clock the time is over */
	bool norm; /* this step is logged: its gradient norm is wanted */
};

/* The update to be made, the same on all ranks; its batch is number - 1 of the worker's loader. */
struct nn_strategy_update {
	uint64_t number; /* from 1 */
	double lr;
	/* of the update after it, which may be asked for meanwhile (nn_step_whole); NULL: not yet
	 */
	const struct nn_step_terms *next;
};

/* The loop over epochs and steps, for a strategy that lets some ranks do something else. */
struct nn_strategy_loop {
	int (*run)(void *arg, int *stopped, struct nn_error *err);
	void *arg;
};

/*
 * prepare and release go around the life of the training's step, of which each fold has its own. In
 * between the loop (loop.c) calls open, then step and synchronize as often as it needs, then close.
 * All are collective but release; where one fails (-1) the job is lost. A strategy with steps of
 * its own kind (a server, stages) has `run` in place of the loop. NULL members: nothing to do.
 */
struct nn_strategy {
	const char *name;
	/* Abilities. */
	bool whole;    /* a rank computes whole batches, else its share of the leaves of each */
	bool stale;    /* gradients may be behind: --staleness, --record, --replay-run */
	bool parts;    /* ranks may have parts: --pipeline, --tensor, --shard-optimizer */
	bool alike;    /* all ranks have the same parameters after every step */
	bool measures; /* the noise of the gradient is known */
	bool alone;    /* between exchanges each rank steps by itself */
	bool served;   /* rank 0 has all of the optimizer's state and makes the whole update */
	bool messages; /* its ranks see no memory together, on whatever hosts they are */
	/*
	 * Parse the terms after the name: ":8@100" of local; NN_EUSAGE where they are wrong. NULL:
	 * nothing may follow.
	 */
	int (*parse)(struct nn_strategy_terms *terms, const char *text, struct nn_error *err);
	/*
	 * Before the step is made: options, the memory it is to lie in among them. State of the
	 * strategy's own goes to worker->team.
	 */
	int (*prepare)(struct nn_worker *worker, struct nn_step_options *options,
		       struct nn_error *err);
	void (*release)(struct nn_worker *worker); /* after the step is freed, or not made */
	/* Parameters are loaded. */
	int (*open)(struct nn_worker *worker, struct nn_error *err);
	void (*close)(struct nn_worker *worker);
	int (*run)(struct nn_worker *worker, const struct nn_strategy_loop *loop, int *stopped,
		   struct nn_error *err);
	/*
	 * A batch is drawn from the worker's loader; its gradient and the update. result is the
	 * same on all ranks but for the times; with result->finite false nothing was updated.
	 * control: in what this rank asks for, out what all ranks do.
	 */
	int (*step)(struct nn_worker *worker, const struct nn_strategy_update *update,
		    struct nn_control *control, struct nn_step_result *result,
		    struct nn_error *err);
	/*
	 * Parameters, buffers and slots will be read (evaluation, state, model): make them whole
	 * and the same on all ranks. control: what ranks asked for since they last exchanged it is
	 * added.
	 */
	int (*synchronize)(struct nn_worker *worker, struct nn_control *control,
			   struct nn_error *err);
};

extern const struct nn_strategy nn_strategy_sync, nn_strategy_local, nn_strategy_async,
	nn_strategy_master;
/* All of them, NULL at the end. */
extern const struct nn_strategy *const nn_strategies[];

/*
 * --strategy=TEXT; terms may be NULL. NULL with *err where there is none of that name, or its terms
 * are wrong.
 */
const struct nn_strategy *nn_strategy_parse(const char *text, struct nn_strategy_terms *terms,
					    struct nn_error *err);
/* A control as it travels: what any rank asked for, the lowest rank's signal first. */
void nn_control_merge(struct nn_control *control, const struct nn_control *other);

#endif
