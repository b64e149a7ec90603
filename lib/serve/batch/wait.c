/*
 * When a batch is sent: full, out of time, or because waiting does not pay.
 *
 * Two ways are compared. Now: q rows are computed, and the m that come meanwhile after them, in
 * C[q] + C[m]. Waiting until k of these have come: C[q + k] + C[m - k] after k gaps. What counts is
 * the sum over these rows of the time to their answers. Where nobody comes after these m before
 * there are answers, all go round together, cycle after cycle, and what counts for each is how long
 * the cycle is.
 *
 * So an open stream of requests never waits for long: rows that come while others are computed make
 * up the next batch anyway. A closed circle of clients whose rows are cheaper together does.
 */
#include <math.h>
#include <stdint.h>

#include "serve/batch/wait.h"

/* Computing and answering take this much longer than the table says, now and then. */
#define MARGIN 1.5
/* The part of what company is worth that is spent on one who is late. */
#define PATIENCE 0.25
/* What is gained below this does not pay for a look at the clock. */
#define LEAST_S 5e-6

static struct nn_wait now(enum nn_dispatch because)
{
	return (struct nn_wait){ .because = because };
}

/* An earlier moment, and why then. */
static void before(struct nn_wait *wait, double moment, enum nn_dispatch because)
{
	if (moment < wait->until)
		*wait = (struct nn_wait){ moment, because };
}

/* Seconds that n rows take; 0 take none. */
static double cost(const struct nn_wait_view *v, size_t n)
{
	return n ? nn_costs_at(v->costs, n) : 0;
}

/* Rows of n requests. */
static size_t rows_of(const struct nn_wait_view *v, size_t n)
{
	return v->gaps->rows > 1 ? (size_t)((double)n * v->gaps->rows + 0.5) : n;
}

/* Requests that come while the queue is computed now. */
struct coming {
	size_t n;
	bool closed; /* nobody follows them before there are answers */
};

static struct coming expect(const struct nn_wait_view *v)
{
	double busy = cost(v, v->queued), time = 0;
	struct coming c = { 0, false };

	for (; rows_of(v, c.n) < v->max_batch; c.n++) {
		struct nn_gap gap = nn_gaps_next(v->gaps, v->pending + c.n);

		c.closed = c.n == v->can_come || gap.part < 0.5;
		time += gap.mean;
		if (c.closed || time > busy)
			break;
	}
	return c;
}

/* From answers to all until k requests after those that wait have come again. */
static double gather(const struct nn_wait_view *v, size_t k)
{
	size_t n = (size_t)((double)v->queued / fmax(1, v->gaps->rows) + 0.5);
	double time = 0;

	for (size_t at = v->pending > n ? v->pending - n : 0; at < v->pending + k; at++)
		time += nn_gaps_next(v->gaps, at).mean;
	return time;
}

/* What is gained, in seconds of all rows, once k requests of those coming have been waited for. */
static double gain(const struct nn_wait_view *v, const struct coming *c, size_t k, double wait)
{
	size_t early = rows_of(v, k), all = rows_of(v, c->n), late = all - early;
	double q = (double)v->queued;
	double first_now = cost(v, v->queued), end_now = first_now + cost(v, all);
	double first = cost(v, v->queued + early), end = first + cost(v, late);

	/* two batches in turn: clients of one think while the other is computed; else nobody does
	 */
	if (c->closed)
		return (q + (double)all) *
		       (end_now - end - (late > 0 ? wait : fmax(wait, gather(v, k))));
	first += wait;
	end += wait;
	return q * first_now + (double)all * end_now - (q + (double)early) * first -
	       (double)late * end;
}

/*
 * For how many seconds the arrival of some number of requests is worth waiting for, beyond the time
 * that they are expected to take; 0: it does not pay.
 */
static double worth(const struct nn_wait_view *v)
{
	struct coming c;
	double part = 1, time = 0, lost = 0, best = 0;
	size_t room = v->max_batch - v->queued, next = 1;

	if (v->can_come == 0 || v->others || cost(v, v->queued) <= 0)
		return 0;
	c = expect(v);
	while (c.n > 0 && rows_of(v, c.n) > room)
		c.n--;
	if (c.n == 0 || gain(v, &c, c.n, 0) < LEAST_S)
		return 0;
	for (size_t k = 1; k <= c.n; k++) {
		struct nn_gap gap = nn_gaps_next(v->gaps, v->pending + k - 1);
		double rows = (double)(v->queued + rows_of(v, c.closed ? c.n : k - 1));

		/* should it not come, this was in vain */
		lost += part * (1 - gap.part) * rows * (time + nn_gap_patience(&gap));
		part *= gap.part;
		time += gap.mean;
		if (k < next && k < c.n)
			continue;
		next *= 2;
		best = fmax(best, (part * gain(v, &c, k, time) - lost) / rows);
	}
	return best;
}

struct nn_wait nn_wait_decide(const struct nn_wait_view *v)
{
	double margin = MARGIN * cost(v, v->queued);
	struct nn_wait wait;

	if (v->queued >= v->max_batch)
		return now(NN_FULL);
	if (v->draining)
		return now(NN_DRAIN);
	if (v->max_delay >= 0) {
		wait.until = v->oldest + v->max_delay;
	} else {
		struct nn_gap gap = nn_gaps_next(v->gaps, v->pending);
		double spare = worth(v);

		if (spare == 0)
			return now(NN_IDLE);
		wait.until = v->gaps->since + fmax(nn_gap_patience(&gap), spare * PATIENCE);
	}
	wait.because = NN_TIMEOUT;
	before(&wait, v->deadline - margin, NN_DEADLINE);
	if (v->slo > 0)
		before(&wait, v->oldest + v->slo - margin, NN_TIMEOUT);
	if (wait.until <= v->now) {
		wait.until = 0;
		if (v->max_delay == 0)
			wait.because = NN_IDLE;
	}
	return wait;
}
