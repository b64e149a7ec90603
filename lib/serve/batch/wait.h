/*
 * Should a queue that somebody could compute now be computed now? A pure function of what is known.
 */
#ifndef NN_SERVE_BATCH_WAIT_H
#define NN_SERVE_BATCH_WAIT_H

#include <stdbool.h>
#include <stddef.h>

#include "serve/batch/cost.h"
#include "serve/batch/dispatch.h"
#include "serve/batch/gaps.h"

struct nn_wait_view {
	const struct nn_costs *costs;
	const struct nn_gaps *gaps;
	size_t queued, max_batch; /* rows; queued > 0 */
	size_t pending;           /* requests that wait for answers, those being computed too */
	size_t can_come;          /* clients that do not wait for an answer; SIZE_MAX: unknown */
	double now, oldest;       /* nn_now_s; when the oldest row came */
	double deadline;          /* the first of those queued; INFINITY: none */
	double slo, max_delay;    /* seconds; 0: none; -1: tuned */
	bool others;              /* others could compute who comes next */
	bool draining;
};

struct nn_wait {
	double until;             /* 0: compute now */
	enum nn_dispatch because; /* why now, or why then */
};

struct nn_wait nn_wait_decide(const struct nn_wait_view *view);

#endif
