/*
 * One pass: requests for a while, and what came of them. Open loop: each has a time at which it is
 * to be sent, whatever the server does, and its latency counts from then, sent or not (so that a
 * stall shows in all requests that it delayed). Closed loop: a connection sends its next request
 * when its answer has come.
 */
#ifndef NN_BENCH_LOAD_PASS_H
#define NN_BENCH_LOAD_PASS_H

#include <signal.h>
#include "bench/load/arrivals.h"
#include "bench/load/body.h"
#include "bench/load/client.h"
#include "bench/load/latency.h"

struct nn_load_plan {
	struct nn_load_client *client;
	const struct nn_load_requests *requests;
	const struct nn_load_arrivals *arrivals; /* NULL: closed loop */
	double seconds;   /* after which no request is made; requests under way are waited for */
	double timeout;   /* seconds after that for those that could not be sent in time */
	uint64_t most;    /* requests at most; 0: any number */
	size_t at_once;   /* under way at a time, at most; 0: as many as there are connections */
	double slo;       /* seconds; 0: none */
	double late_most; /* requests that may be later than that, or fail; the pass ends then */
	volatile sig_atomic_t *stop; /* NULL: none */
};

struct nn_load_result {
	uint64_t ok, errors; /* answered with 200, and all others that were to be sent */
	uint64_t unsent;     /* of the errors: no connection was free for them in time */
	uint64_t late;       /* later than slo, and errors */
	double elapsed;      /* seconds to the last answer */
	bool hopeless;       /* ended at late_most */
	bool stopped;        /* by the signal */
	/* of those answered: from the intended time; sums of seconds before and after sending */
	struct nn_load_latency latency;
	double waiting, flight;
	uint64_t timed; /* answers that said what the server did, and its sums */
	double flight_timed, part[NN_LOAD_PARTS];
	char why[NN_LOAD_EXCERPT + 40]; /* the first error */
};

/* The client reports to the pass while it runs. */
int nn_load_pass(const struct nn_load_plan *plan, struct nn_load_result *result,
		 struct nn_error *err);

#endif
