/* Sending requests at their times. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "bench/load/pass.h"

#define BURST 64 /* requests that are sent before answers are looked at again */

struct pass {
	const struct nn_load_plan *plan;
	struct nn_load_result *result;
	struct nn_load_arrivals arrivals;
	double start, next; /* of the request to be sent next: when, from the start */
	uint64_t made;
	/* The begin of an answer, for errors; where several come in pieces they share it. */
	char body[NN_LOAD_EXCERPT];
};

/* ---- answers ---- */

static void keep_error(struct nn_load_result *r, const struct nn_load_done *done, const char *body)
{
	char line[NN_LOAD_EXCERPT];

	if (*r->why)
		return;
	if (!done->answer)
		snprintf(r->why, sizeof r->why, "%s", done->why);
	else
		snprintf(r->why, sizeof r->why, "status %d%s%s", done->answer->status,
			 *body ? ": " : "", nn_one_line(line, sizeof line, body));
}

static void add_answer(struct nn_load_result *r, const struct nn_load_plan *plan,
		       const struct nn_load_done *done)
{
	double latency = done->at - done->intended, flight = done->at - done->sent;

	r->ok++;
	r->late += plan->slo > 0 && latency > plan->slo;
	nn_load_latency_add(&r->latency, latency);
	r->waiting += done->sent - done->intended;
	r->flight += flight;
	if (!done->answer->timed)
		return;
	r->timed++;
	r->flight_timed += flight;
	for (int i = 0; i < NN_LOAD_PARTS; i++)
		r->part[i] += done->answer->part[i];
}

static void take_done(void *arg, const struct nn_load_done *done)
{
	struct pass *p = arg;
	struct nn_load_result *r = p->result;

	r->elapsed = done->at - p->start;
	if (done->answer && done->answer->status == 200) {
		add_answer(r, p->plan, done);
		return;
	}
	p->body[done->answer ? done->answer->got : 0] = '\0';
	r->errors++;
	r->late++;
	keep_error(r, done, p->body);
}

/* ---- requests ---- */

static bool is_due(const struct pass *p, double now)
{
	if (p->plan->most && p->made == p->plan->most)
		return false;
	return p->plan->arrivals ? p->next <= now : now < p->plan->seconds;
}

static void call_next(struct pass *p, double now)
{
	const struct nn_text *request = &p->plan->requests->text[p->made++ % p->plan->requests->n];
	struct nn_load_call call = { .request = request->data,
				     .size = request->length,
				     .intended = p->start + (p->plan->arrivals ? p->next : now),
				     .body = p->body,
				     .most = sizeof p->body - 1 };

	if (p->plan->arrivals)
		p->next = nn_load_arrivals_next(&p->arrivals);
	nn_load_client_call(p->plan->client, &call);
}

/* Can another one be sent? */
static bool is_ready(const struct pass *p, double now)
{
	const struct nn_load_plan *plan = p->plan;

	if (plan->at_once && nn_load_client_pending(plan->client) >= plan->at_once)
		return false;
	return nn_load_client_ready(plan->client, p->start + now);
}

/* Will there be another request? */
static bool has_more(const struct pass *p, double now)
{
	if (p->plan->most && p->made == p->plan->most)
		return false;
	return p->plan->arrivals ? isfinite(p->next) : now < p->plan->seconds;
}

/*
 * The server cannot keep up, and the time for what is left over is out: requests whose turn has
 * come are errors.
 */
static void leave_unsent(struct pass *p, double now)
{
	struct nn_load_result *r = p->result;

	for (; is_due(p, now); p->made++) {
		p->next = nn_load_arrivals_next(&p->arrivals);
		r->unsent++;
		r->errors++;
		r->late++;
	}
	if (r->unsent > 0 && !*r->why)
		strcpy(r->why, "no connection was free to send it on");
}

/* Is it known by now that the objective does not hold? */
static bool is_hopeless(const struct pass *p)
{
	return p->plan->slo > 0 && (double)p->result->late > p->plan->late_most;
}

/* When the client need not be waited for any longer: for the next request where one can be sent. */
static double wait_until(const struct pass *p, bool ready)
{
	return ready && p->plan->arrivals ? p->start + p->next : INFINITY;
}

static int run(struct pass *p, struct nn_error *err)
{
	struct nn_load_client *client = p->plan->client;

	for (;;) {
		double now = nn_now_s() - p->start;
		bool ready = is_ready(p, now);

		for (int i = 0; i < BURST && ready && is_due(p, now); i++) {
			call_next(p, now);
			now = nn_now_s() - p->start;
			ready = is_ready(p, now);
		}
		if (!has_more(p, now) && nn_load_client_pending(client) == 0)
			return 0;
		p->result->stopped = p->plan->stop && *p->plan->stop;
		p->result->hopeless = is_hopeless(p);
		if (p->result->stopped || p->result->hopeless)
			return 0;
		if (p->plan->arrivals && now > p->plan->seconds + p->plan->timeout) {
			leave_unsent(p, now);
			if (nn_load_client_pending(client) == 0)
				return 0;
		}
		if (nn_load_client_wait(client, ready && is_due(p, now) ? 0 : wait_until(p, ready),
					err) < 0)
			return -1;
	}
}

int nn_load_pass(const struct nn_load_plan *plan, struct nn_load_result *r, struct nn_error *err)
{
	struct pass p = { .plan = plan, .result = r };
	int status;

	memset(r, 0, sizeof *r);
	if (plan->arrivals) {
		p.arrivals = *plan->arrivals;
		p.next = nn_load_arrivals_next(&p.arrivals);
	}
	nn_load_client_report(plan->client, take_done, &p);
	p.start = nn_now_s();
	status = run(&p, err);
	nn_load_client_abandon(plan->client);
	return status;
}
