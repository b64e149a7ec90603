/*
 * Asynchronous training: rank 0 holds the parameters and applies gradients as they come; the other
 * ranks compute them.
 *
 * A step is the gradient of a whole batch, computed by one rank; rank 0 serves and does not
 * compute. The default of --staleness is two for each computing rank. The statistics of batch norm
 * travel with the gradient, and rank 0 advances the running values in the order of updates. Rank 0
 * evaluates alone.
 */
#ifndef NN_PARALLEL_ASYNC_H
#define NN_PARALLEL_ASYNC_H

#include "comm/shared.h"
#include "parallel/worker.h"
#include "step/cut.h"

/*
 * ---- order.c: which gradients may be under way, and which may be applied, so that none is more
 * than `most` updates behind ----
 */

/*
 * A rank that computes. Of those with a batch in hand no order of arrival may force one beyond the
 * bound.
 */
struct nn_staleness {
	bool out;         /* has a batch in hand */
	bool there;       /* its gradient has come and waits */
	uint64_t batch;   /* number of the batch, from 0 */
	uint64_t version; /* updates in the parameters it was given */
};

/*
 * Would all that are out still be within the bound if one more went out now, after `updates`
 * updates?
 */
bool nn_staleness_may_dispatch(const struct nn_staleness *flights, size_t n, uint64_t updates,
			       uint64_t most);
/* ... if the gradient of this one were applied now? Of the oldest that is out always. */
bool nn_staleness_may_apply(const struct nn_staleness *flights, size_t n, size_t which,
			    uint64_t updates, uint64_t most);

/*
 * ---- replay.c: what was done, as a table: step, rank, batch, version; all but the rank from 1,
 * version 0 is the start; before it `# ` and what the training was made with ----
 */

struct nn_replay;

struct nn_replay_row {
	uint64_t rank, batch, version;
};
int nn_replay_open(struct nn_replay **replay, const char *path, const struct nn_origin *origin,
		   struct nn_error *err);
void nn_replay_free(struct nn_replay *replay); /* NULL allowed */
/* An update of a recorded run, in one process, to the bytes it had there. */
int nn_replay_step(struct nn_worker *worker, struct nn_replay *replay,
		   const struct nn_strategy_update *update, bool norm,
		   struct nn_step_result *result, struct nn_error *err);

/*
 * ---- async-line.c: what the server and a computing rank say to each other; the same calls on both
 * sides ----
 */

#define NN_ASYNC_SERVER 0

/* From the server: a batch to compute, or the end. Parameters come with a batch. */
struct nn_async_task {
	uint64_t batch;
	uint64_t step;  /* updates in the parameters */
	int32_t end;    /* 1: the training is over */
	int32_t signal; /* that ended it, or 0 */
};

/* To the server: what came of it. If finite, gradient, figures and statistics follow. */
struct nn_async_answer {
	double compute_s, comm_s,
		wait_s; /* of the rank so far: comm_s in messages, wait_s for its turn */
	int32_t finite, nonfinite_line;
};

struct nn_async_line {
	struct nn_shared
		*window; /* parameters and gradients of few bytes go through it; NULL: messages */
	/* the host's side of parameters and gradients in device memory */
	struct nn_mirror block;
	double comm_s; /* seconds in messages so messages, waiting for the other side among them */
	bool lost;     /* a message failed: nothing can be said to the others any more */
};

/* The rate of a gradient that is `staleness` updates behind (--staleness-lr). */
double nn_async_rate(const struct nn_worker *worker, double lr, uint64_t staleness);
/* Collective. */
int nn_async_line_open(struct nn_worker *worker, struct nn_async_line *line, struct nn_error *err);
void nn_async_line_close(struct nn_worker *worker, struct nn_async_line *line);
int nn_async_exchange(struct nn_worker *worker, struct nn_async_line *line, int peer, bool sends,
		      const struct nn_message *messages, size_t n, struct nn_error *err);
/*
 * A batch with the parameters; the rank receives the task (nn_async_exchange), then the parameters.
 */
int nn_async_send_task(struct nn_worker *worker, struct nn_async_line *line, int peer,
		       struct nn_async_task *task, struct nn_error *err);
int nn_async_receive_parameters(struct nn_worker *worker, struct nn_async_line *line,
				struct nn_error *err);
/* The server expects answers by itself. If finite, what follows is exchanged after it. */
int nn_async_send_answer(struct nn_worker *worker, struct nn_async_line *line,
			 struct nn_async_answer *answer, struct nn_error *err);
int nn_async_exchange_gradient(struct nn_worker *worker, struct nn_async_line *line, int peer,
			       bool sends, const struct nn_step_tables *tables,
			       struct nn_error *err);

#endif
