/* What is counted of a lane, and why its batches are what they are. */
#include <math.h>

#include "base/clock.h"
#include "base/text.h"
#include "serve/batch/inside.h"

double nn_lane_cost(const struct nn_lane *lane, size_t rows)
{
	double cost;

	pthread_mutex_lock(&lane->batcher->lock);
	cost = nn_costs_at(&lane->places[0].costs, rows);
	pthread_mutex_unlock(&lane->batcher->lock);
	return cost;
}

/* The reasons that at least one batch in a hundred had, the commonest first. */
static void add_reasons(struct nn_text *text, const struct nn_lane_counts *c)
{
	bool said[NN_DISPATCHES] = { false };
	const char *before = ": ";

	for (int n = 0; n < NN_DISPATCHES; n++) {
		int best = -1;

		for (int i = 0; i < NN_DISPATCHES; i++)
			if (!said[i] && (best < 0 || c->dispatch[i] > c->dispatch[best]))
				best = i;
		if (c->dispatch[best] * 100 < c->batches || c->dispatch[best] == 0)
			break;
		said[best] = true;
		nn_text_addf(text, "%s%.0f %% dispatched %s", before,
			     100 * (double)c->dispatch[best] / (double)c->batches,
			     nn_dispatch_names[best]);
		before = ", ";
	}
}

/* Of several devices: what each had of the rows. */
static void add_places(struct nn_text *text, const struct nn_lane *lane,
		       const struct nn_lane_counts *c)
{
	for (size_t i = 0; lane->n_places > 1 && i < lane->n_places && c->batch_rows > 0; i++)
		nn_text_addf(text, "%s%.0f %% of the rows on %s", i ? ", " : "; ",
			     100 * (double)c->place_rows[i] / (double)c->batch_rows,
			     lane->batcher->setup.places.name[i]);
}

/* Rows of a request and of a batch, in the mean since the start. */
struct means {
	double request, batch;
};

/* What waiting for the next request would cost and save. */
static void add_waiting(struct nn_text *text, const struct nn_lane *lane, const struct means *mean,
			size_t clients)
{
	size_t n = (size_t)(mean->batch + 0.5), more = (size_t)(fmax(1, mean->request) + 0.5);
	size_t requests = (size_t)(mean->batch / fmax(1, mean->request) + 0.5);
	struct nn_gap gap = nn_gaps_next(&lane->gaps, requests);
	const struct nn_costs *costs = &lane->places[0].costs;
	double saved =
		nn_costs_at(costs, n) + nn_costs_at(costs, more) - nn_costs_at(costs, n + more);
	char wait[NN_DURATION], save[NN_DURATION];

	if (lane->null_row)
		nn_text_add(text, "; nothing is computed, so waiting would save nothing");
	else if (clients > 0 && requests >= clients)
		nn_text_add(text,
			    "; a batch has the requests of all of them, so nobody is waited for");
	else if (gap.seen == 0)
		nn_text_add(text, "; how soon the next request comes is not known yet");
	else if (gap.part < 0.5)
		nn_text_add(text, "; nobody else comes before there are answers");
	else
		nn_text_addf(text, "; waiting for the next request would cost %s and save %s",
			     nn_duration(wait, gap.mean),
			     saved < 5e-7 ? "0" : nn_duration(save, saved));
}

/* All that bears on how large batches could be. */
static void add_bounds(struct nn_text *text, const struct nn_lane *lane,
		       const struct nn_lane_counts *c)
{
	const struct nn_batcher *b = lane->batcher;
	const struct means mean = { (double)c->rows / (double)c->requests,
				    (double)c->batch_rows / (double)c->batches };
	char delay[NN_DURATION];

	if (mean.request > 1.5)
		nn_text_addf(text, "; a request has %.1f rows", mean.request);
	if (c->clients > 0 && (double)c->clients * fmax(1, mean.request) <= (double)lane->max_batch)
		nn_text_addf(text, "; %zu client%s connected, so at most %zu request%s could wait",
			     c->clients, c->clients == 1 ? " was" : "s were", c->clients,
			     nn_s(c->clients));
	if (b->setup.max_delay > 0)
		nn_text_addf(text, "; each batch may wait %s as --max-delay says",
			     nn_duration(delay, b->setup.max_delay));
	else if (b->setup.max_delay == 0)
		nn_text_add(text, "; nothing waits as --max-delay says");
	else if (mean.batch + 1 <= (double)lane->max_batch)
		add_waiting(text, lane, &mean, c->clients);
}

void nn_lane_explain(const struct nn_lane *lane, struct nn_text *text)
{
	struct nn_batcher *b = lane->batcher;
	struct nn_lane_counts counts;
	const struct nn_lane_counts *c = &counts;

	nn_lane_count(lane, &counts);
	pthread_mutex_lock(&b->lock);
	if (c->requests == 0) {
		nn_text_add(text, "no requests yet");
	} else if (c->batches == 0) {
		nn_text_addf(text, "no batches yet: of %llu request%s %llu expired",
			     (unsigned long long)c->requests, nn_s(c->requests),
			     (unsigned long long)c->expired);
		if (c->failed > 0)
			nn_text_addf(text, ", %llu failed", (unsigned long long)c->failed);
	} else {
		nn_text_addf(text, "mean batch %.2f of %zu",
			     (double)c->batch_rows / (double)c->batches, lane->max_batch);
		add_reasons(text, c);
		add_places(text, lane, c);
		add_bounds(text, lane, c);
	}
	pthread_mutex_unlock(&b->lock);
}
