/* One rank at work: the argument of strategies. */
#ifndef NN_PARALLEL_WORKER_H
#define NN_PARALLEL_WORKER_H

#include "base/text.h"
#include "parallel/layout.h"
#include "step/counters.h"
#include "step/step.h"
#include "step/task.h"

struct nn_rank_times;
struct nn_sync_group;
struct nn_local;
struct nn_async;
struct nn_pipe_flow;

/* The origin of a training: the first line of its --record, compared by --replay-run. */
struct nn_origin {
	struct nn_text text; /* one line, no newline */
	int (*compare)(void *arg, const char *path, const char *text, struct nn_error *err);
	void *arg;
};

struct nn_worker {
	const struct nn_task *task;
	struct nn_layout *layout;
	struct nn_step *step;
	struct nn_loader
		*loader; /* what strategies draw global batches from, the same on all ranks */
	struct nn_counters *counters;
	/*
	 * in canonical order, for files and the evaluator; where ranks have parts of the network,
	 * this rank's, on rank 0 all
	 */
	void **params;
	size_t *keeps; /* [params] elements of each that those are; NULL: all */
	/* seconds of the steps by cause, and the number of steps before the first of this run */
	double compute_s, input_s, comm_s, wait_s;
	uint64_t started_step;
	struct nn_rank_times *ranks; /* [size] of all ranks, once they were gathered; NULL before */
	/* What strategies keep between open and close. */
	struct nn_sync_group *team;
	struct nn_local *local;
	struct nn_async *async;
	struct nn_origin origin;   /* of async */
	struct nn_pipe_flow *flow; /* of a stage at work; NULL: no pipeline */
	/*
	 * Callbacks. note: a line without newline for the user; at: the number of steps done, where
	 * only rank 0 makes them.
	 */
	void (*note)(void *arg, const char *text);
	void (*at)(void *arg, uint64_t steps);
	void *arg;
};

void nn_worker_note(const struct nn_worker *worker, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Gather what ranks keep of parameters, buffers and slots, before these are read, and add to
 * control what ranks that train alone asked for. Collective.
 */
int nn_worker_synchronize(struct nn_worker *worker, struct nn_control *control,
			  struct nn_error *err);

#endif
