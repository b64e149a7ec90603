/*
 * Should a queue that somebody could compute now be computed now? A pure function of what is known.
 */
#ifndef NN_SERVE_WAIT_H
#define NN_SERVE_WAIT_H

#include <stdbool.h>
#include <stddef.h>

#include "serve/cost.h"
#include "serve/dispatch.h"

struct nn_wait_view {
	const struct nn_costs *costs;
	size_t queued, max_batch; /* rows; queued > 0 */
	double now, oldest;       /* nn_now_s; when the oldest row came */
	double deadline;          /* the first of those queued; INFINITY: none */
	double slo, max_delay;    /* seconds; 0: none; -1: tuned */
	bool draining;
	bool held; /* the queue waited before */
};

struct nn_wait {
	double until;             /* 0: compute now */
	enum nn_dispatch because; /* why now, or why then */
};

struct nn_wait nn_wait_decide(const struct nn_wait_view *view);

#endif
