/* What is counted of a lane, and why its batches are what they are. */
#include <math.h>

#include "base/clock.h"
#include "serve/batch-inside.h"

static void cumulate(uint64_t counts[16])
{
	for (int i = 1; i < 16; i++)
		counts[i] += counts[i - 1];
}

void nn_lane_count(const struct nn_lane *lane, struct nn_lane_counts *counts)
{
	pthread_mutex_lock(&lane->batcher->lock);
	*counts = lane->counts;
	counts->waiting = lane->queued;
	pthread_mutex_unlock(&lane->batcher->lock);
	cumulate(counts->queue_counts);
	cumulate(counts->compute_counts);
	cumulate(counts->rows_counts);
}

double nn_lane_cost(const struct nn_lane *lane, size_t rows)
{
	double cost;

	pthread_mutex_lock(&lane->batcher->lock);
	cost = nn_costs_at(&lane->costs, rows);
	pthread_mutex_unlock(&lane->batcher->lock);
	return cost;
}

/* The reasons that at least one batch in a hundred had, the commonest first. */
static void add_reasons(struct nn_text *text, const struct nn_lane_counts *c)
{
	bool said[NN_DISPATCHES] = { false };
	const char *before = "";

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

/* What a row of company costs and saves, as far as it is known. */
static void add_costs(struct nn_text *text, const struct nn_lane *lane, double mean)
{
	size_t n = mean < 1 ? 1 : (size_t)(mean + 0.5);
	double alone = nn_lane_cost(lane, 1), cost = nn_lane_cost(lane, n);
	char first[NN_DURATION], second[NN_DURATION];

	if (lane->null_row || alone <= 0)
		return;
	nn_text_addf(text, "; %zu row%s %s %s", n, n == 1 ? "" : "s", n == 1 ? "takes" : "take",
		     nn_duration(first, cost));
	if (n < lane->max_batch)
		nn_text_addf(
			text, ", one more in the same batch saves %s",
			nn_duration(second, fmax(0, cost + alone - nn_lane_cost(lane, n + 1))));
}

void nn_lane_explain(const struct nn_lane *lane, struct nn_text *text)
{
	const struct nn_batcher *b = lane->batcher;
	struct nn_lane_counts c;
	double mean;
	size_t clients;
	char delay[NN_DURATION];

	nn_lane_count(lane, &c);
	if (c.batches == 0) {
		nn_text_add(text, c.requests ? "no batch was computed yet" : "no requests yet");
		return;
	}
	pthread_mutex_lock(&lane->batcher->lock);
	clients = b->clients;
	pthread_mutex_unlock(&lane->batcher->lock);
	mean = (double)c.rows / (double)c.batches;
	nn_text_addf(text, "mean batch %.2f of %zu: ", mean, lane->max_batch);
	add_reasons(text, &c);
	if (b->setup.max_delay >= 0)
		nn_text_addf(text, "; the wait is fixed at %s",
			     nn_duration(delay, b->setup.max_delay));
	if (clients > 0)
		nn_text_addf(text, "; %zu client%s connected", clients,
			     clients == 1 ? " is" : "s are");
	add_costs(text, lane, mean);
}
