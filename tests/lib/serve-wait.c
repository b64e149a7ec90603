/*
 * When a queue is computed: the decision alone, and what it comes to on a clock of its own, beside
 * waits that are fixed.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/batch/wait.h"
#include "tap.h"

#define MOST_BATCH 32
#define REQUESTS 20000
#define CLIENTS 32

/* ---- a world with a clock of its own ---- */

struct load {
	const char *name;
	int clients;  /* 0: an open stream */
	double rate;  /* of it, as a part of what full batches could take */
	double think; /* of a client, seconds; half as much again at random */
	size_t idle;  /* connections on which nothing comes */
};

struct world {
	double fixed, row; /* a batch's cost in seconds: fixed + n * row */
	int workers;
	const struct load *load;
	double max_delay;
	/* ---- */
	double now, timer, next; /* next: of an open stream */
	double sends[CLIENTS];   /* INFINITY: waits for an answer */
	double queue[REQUESTS];
	int from[REQUESTS]; /* the client of a request */
	size_t head, tail;
	struct {
		double until; /* INFINITY: idle */
		size_t first, n;
		double began;
	} worker[4];
	struct nn_costs costs;
	struct nn_gaps gaps;
	double latency;
	size_t answered, batches;
	uint64_t random;
};

static double uniform(struct world *w)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (double)(w->random >> 11) * 0x1p-53;
}

static double cost_of(const struct world *w, size_t n)
{
	return w->fixed + w->row * (double)n;
}

static void arrive(struct world *w, int client)
{
	w->queue[w->tail] = w->now;
	w->from[w->tail++] = client;
	nn_gaps_came(&w->gaps, w->now, w->tail - 1 - w->answered, 1);
}

static void take_arrivals(struct world *w)
{
	double rate = w->load->rate * MOST_BATCH / cost_of(w, MOST_BATCH) * w->workers;

	for (; w->load->clients == 0 && w->next <= w->now && w->tail < REQUESTS;
	     w->next -= log(1 - uniform(w)) / rate)
		arrive(w, -1);
	for (int c = 0; c < w->load->clients && w->tail < REQUESTS; c++)
		if (w->sends[c] <= w->now) {
			w->sends[c] = INFINITY;
			arrive(w, c);
		}
}

static size_t thinking(const struct world *w)
{
	size_t n = w->load->idle;

	if (w->load->clients == 0)
		return 1000;
	for (int c = 0; c < w->load->clients; c++)
		n += w->sends[c] < INFINITY;
	return n;
}

static void finish(struct world *w, int i)
{
	size_t n = w->worker[i].n;

	nn_gaps_answered(&w->gaps, w->now, w->tail - w->answered, thinking(w));
	for (size_t k = w->worker[i].first; k < w->worker[i].first + n; k++) {
		w->latency += w->now - w->queue[k];
		w->answered++;
		if (w->from[k] >= 0)
			w->sends[w->from[k]] =
				w->now + w->load->think * (1 - log(1 - uniform(w)) / 2);
	}
	nn_costs_add(&w->costs, n, w->now - w->worker[i].began);
	w->worker[i].until = INFINITY;
}

static void serve(struct world *w)
{
	w->timer = INFINITY;
	for (int i = 0; i < w->workers && w->tail > w->head; i++) {
		int idle = -1;
		struct nn_wait_view view = { .costs = &w->costs,
					     .gaps = &w->gaps,
					     .queued = w->tail - w->head,
					     .max_batch = MOST_BATCH,
					     .pending = w->tail - w->answered,
					     .can_come = thinking(w),
					     .now = w->now,
					     .oldest = w->queue[w->head],
					     .deadline = INFINITY,
					     .max_delay = w->max_delay };
		struct nn_wait wait;

		for (int k = 0; k < w->workers; k++)
			idle += w->worker[k].until == INFINITY;
		if (w->worker[i].until < INFINITY)
			continue;
		view.others = idle > 0;
		wait = nn_wait_decide(&view);
		if (wait.until > 0) {
			w->timer = wait.until;
			return;
		}
		w->worker[i].first = w->head;
		w->worker[i].n = view.queued < MOST_BATCH ? view.queued : MOST_BATCH;
		w->worker[i].began = w->now;
		w->worker[i].until = w->now + cost_of(w, w->worker[i].n);
		w->head += w->worker[i].n;
		w->batches++;
	}
}

static double next_event(const struct world *w)
{
	double next = w->timer;

	if (w->load->clients == 0 && w->tail < REQUESTS)
		next = fmin(next, w->next);
	for (int c = 0; c < w->load->clients; c++)
		next = fmin(next, w->tail < REQUESTS ? w->sends[c] : INFINITY);
	for (int i = 0; i < w->workers; i++)
		next = fmin(next, w->worker[i].until);
	return next;
}

/* The mean latency of many requests. */
static double run(struct world *w, double max_delay)
{
	w->max_delay = max_delay;
	w->now = w->timer = w->next = w->latency = 0;
	w->head = w->tail = w->answered = w->batches = 0;
	w->random = 1;
	memset(&w->costs, 0, sizeof w->costs);
	memset(&w->gaps, 0, sizeof w->gaps);
	for (int c = 0; c < CLIENTS; c++)
		w->sends[c] = 1e-3 * uniform(w);
	for (int i = 0; i < 4; i++)
		w->worker[i].until = INFINITY;
	for (int n = 1; n <= MOST_BATCH; n *= 2)
		nn_costs_add(&w->costs, (size_t)n, cost_of(w, (size_t)n));
	while (w->answered < REQUESTS) {
		double next = next_event(w);

		if (next == INFINITY)
			break; /* held for ever: nobody would come */
		w->now = fmax(next, w->now);
		for (int i = 0; i < w->workers; i++)
			if (w->worker[i].until <= w->now)
				finish(w, i);
		take_arrivals(w);
		serve(w);
	}
	return w->answered == REQUESTS ? w->latency / (double)w->answered : INFINITY;
}

static void beside_fixed(void)
{
	static const double delays[] = { 0, 50e-6, 100e-6, 200e-6, 500e-6, 1000e-6 };
	static const struct {
		const char *name;
		double fixed, row;
	} nets[] = {
		{ "a small net", 3e-6, 1e-6 },
		{ "a large net", 600e-6, 130e-6 },
		{ "a net that costs the same for any number of rows", 2000e-6, 5e-6 },
		{ "a net whose rows save nothing together", 0, 500e-6 },
	};
	static const struct load loads[] = {
		{ "one client", 1, 0, 20e-6, 0 },
		{ "two clients", 2, 0, 20e-6, 0 },
		{ "8 clients", 8, 0, 20e-6, 0 },
		{ "32 clients", 32, 0, 20e-6, 0 },
		{ "8 slow clients", 8, 0, 1e-3, 0 },
		{ "8 of 1000 clients", 8, 0, 20e-6, 992 },
		{ "a tenth of the rate", 0, 0.1, 0, 0 },
		{ "half the rate", 0, 0.5, 0, 0 },
		{ "nine tenths of the rate", 0, 0.9, 0, 0 },
	};
	static struct world world;

	for (size_t n = 0; n < sizeof nets / sizeof *nets; n++)
		for (size_t l = 0; l < sizeof loads / sizeof *loads; l++)
			for (int workers = 1; workers <= 2; workers++) {
				double best = INFINITY, wait = 0, found, mean, batch;

				world.fixed = nets[n].fixed;
				world.row = nets[n].row;
				world.load = &loads[l];
				world.workers = workers;
				for (size_t d = 0; d < sizeof delays / sizeof *delays; d++) {
					mean = run(&world, delays[d]);
					if (mean < best) {
						best = mean;
						wait = delays[d];
					}
				}
				found = run(&world, -1);
				batch = (double)REQUESTS / (double)world.batches;
				if (!ok(found <= best * 1.05 + 1e-6,
					"wait: %s, %s, %d worker%s: within 5 %% of the best fixed "
					"wait",
					nets[n].name, loads[l].name, workers,
					workers > 1 ? "s" : ""))
					note("found %.1f us (mean batch %.2f), best %.1f with %.0f",
					     found * 1e6, batch, best * 1e6, wait * 1e6);
			}
}

/* ---- the decision alone ---- */

enum { COMING = 1, SAVING = 2, KNOWN = 4 };

/* A queue of one row of a lane in which another row comes 10 us later, 1 ms into what it costs. */
static void make_view(struct nn_wait_view *v, struct nn_costs *costs, struct nn_gaps *gaps,
		      int what)
{
	double now = 100;

	memset(costs, 0, sizeof *costs);
	memset(gaps, 0, sizeof *gaps);
	for (int i = 0; i < 100; i++) {
		if (what & KNOWN) {
			nn_costs_add(costs, 1, 1e-3);
			nn_costs_add(costs, 2, what & SAVING ? 1.1e-3 : 2e-3);
			nn_costs_add(costs, 4, what & SAVING ? 1.3e-3 : 4e-3);
		}
		for (size_t pending = 0; pending < 4 && what & COMING; pending++)
			nn_gaps_came(gaps, now += 10e-6, pending, 1);
		nn_gaps_answered(gaps, now += 1.3e-3, 4, 0);
	}
	gaps->since = 100;
	*v = (struct nn_wait_view){ .costs = costs,
				    .gaps = gaps,
				    .queued = 1,
				    .max_batch = 32,
				    .pending = 1,
				    .can_come = 3,
				    .now = 100,
				    .oldest = 100,
				    .deadline = INFINITY,
				    .max_delay = -1 };
}

static bool sends(const struct nn_wait_view *v, enum nn_dispatch because)
{
	struct nn_wait wait = nn_wait_decide(v);

	return wait.until == 0 && wait.because == because;
}

static bool waits_until(const struct nn_wait_view *v, double until, enum nn_dispatch because)
{
	struct nn_wait wait = nn_wait_decide(v);

	return fabs(wait.until - until) < 1e-9 && wait.because == because;
}

static void decisions(void)
{
	struct nn_wait_view v;
	struct nn_costs costs;
	struct nn_gaps gaps;

	make_view(&v, &costs, &gaps, KNOWN | COMING | SAVING);
	ok(nn_wait_decide(&v).until > 100 && nn_wait_decide(&v).until < 100 + 1e-3,
	   "wait: company that is sure to come soon and saves much is waited for");
	v.can_come = 0;
	ok(sends(&v, NN_IDLE), "wait: nobody waits when all clients wait for answers");
	v.can_come = 3;
	v.others = true;
	ok(sends(&v, NN_IDLE), "wait: nobody waits while others could compute who comes");
	v.others = false;
	v.draining = true;
	ok(sends(&v, NN_DRAIN), "wait: nobody waits at the end");
	v.draining = false;
	v.queued = 32;
	ok(sends(&v, NN_FULL), "wait: a full batch is sent");
	v.queued = 1;
	v.deadline = 100.001;
	ok(sends(&v, NN_DEADLINE), "wait: a batch is sent early where a deadline would be missed");
	v.deadline = INFINITY;
	v.slo = 1.5e-3;
	ok(sends(&v, NN_TIMEOUT), "wait: the oldest row stays inside the objective");
	v.slo = 0;
	v.now = 101;
	ok(sends(&v, NN_TIMEOUT), "wait: who does not come is not waited for any longer");

	make_view(&v, &costs, &gaps, KNOWN | COMING);
	ok(sends(&v, NN_IDLE), "wait: company that saves nothing is not waited for");
	make_view(&v, &costs, &gaps, KNOWN | SAVING);
	ok(sends(&v, NN_IDLE), "wait: company of which nothing is known is not waited for");
	make_view(&v, &costs, &gaps, COMING | SAVING);
	ok(sends(&v, NN_IDLE), "wait: nobody waits before costs are known");

	make_view(&v, &costs, &gaps, KNOWN);
	v.max_delay = 5e-3;
	ok(waits_until(&v, 100.005, NN_TIMEOUT), "wait: a fixed delay counts from the oldest row");
	v.deadline = 100.0035;
	ok(waits_until(&v, 100.002, NN_DEADLINE),
	   "wait: a fixed delay ends in time for the first deadline");
	v.deadline = INFINITY;
	v.now = 100.006;
	ok(sends(&v, NN_TIMEOUT), "wait: after a fixed delay the batch is sent");
	v.max_delay = 0;
	ok(sends(&v, NN_IDLE), "wait: a fixed delay of 0 never waits");
}

static void costs_never_fall(void)
{
	static struct nn_costs costs;
	bool rising = true;

	ok(nn_costs_at(&costs, 7) == 0, "cost: nothing is known before a batch was seen");
	nn_costs_add(&costs, 8, 8e-3);
	ok(nn_costs_at(&costs, 16) == 16e-3 && nn_costs_at(&costs, 2) == 8e-3,
	   "cost: beyond what was seen it grows in proportion, below it is at most that");
	nn_costs_add(&costs, 4, 4e-3);
	ok(fabs(nn_costs_at(&costs, 6) - 6e-3) < 1e-9, "cost: between sizes seen lies a line");
	nn_costs_add(&costs, 16, 2e-3);
	nn_costs_add(&costs, 64, 30e-3);
	for (size_t n = 1; n < 70000; n++)
		rising &= nn_costs_at(&costs, n + 1) >= nn_costs_at(&costs, n);
	ok(rising, "cost: it never falls with the number of rows");
	for (int i = 0; i < 100; i++)
		nn_costs_add(&costs, 64, 20e-3);
	ok(fabs(nn_costs_at(&costs, 64) - 20e-3) < 1e-4, "cost: what has changed is learned");
}

int main(void)
{
	decisions();
	costs_never_fall();
	beside_fixed();
	return tap_done();
}
