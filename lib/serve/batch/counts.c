/* Counts of a lane that outlive it and that several processes share, and their sum. */
#include "serve/batch/inside.h"

void nn_lane_share(struct nn_lane *lane, struct nn_lane_counts *all, unsigned n, unsigned mine)
{
	pthread_mutex_lock(&lane->batcher->lock);
	lane->shared = all;
	lane->n_shared = n;
	lane->counts = all + mine;
	pthread_mutex_unlock(&lane->batcher->lock);
}

static void cumulate(uint64_t to[16], const uint64_t counts[16])
{
	uint64_t sum = 0;

	for (int i = 0; i < 16; i++)
		to[i] += sum += counts[i];
}

static void add(struct nn_lane_counts *to, const struct nn_lane_counts *c)
{
	to->requests += c->requests;
	to->rows += c->rows;
	to->batches += c->batches;
	to->expired += c->expired;
	to->expired_rows += c->expired_rows;
	to->failed += c->failed;
	to->full += c->full;
	to->batch_rows += c->batch_rows;
	to->queue_s += c->queue_s;
	to->compute_s += c->compute_s;
	to->waiting += c->waiting;
	to->clients = c->clients > to->clients ? c->clients : to->clients;
	for (size_t i = 0; i < NN_DISPATCHES; i++)
		to->dispatch[i] += c->dispatch[i];
	for (size_t i = 0; i < NN_MOST_PLACES; i++)
		to->place_rows[i] += c->place_rows[i];
	cumulate(to->queue_counts, c->queue_counts);
	cumulate(to->compute_counts, c->compute_counts);
	cumulate(to->rows_counts, c->rows_counts);
}

void nn_lane_counts_add(struct nn_batcher *batcher, const struct nn_lane_counts *all, unsigned n,
			struct nn_lane_counts *sum)
{
	pthread_mutex_lock(&batcher->lock);
	for (unsigned i = 0; i < n; i++)
		add(sum, all + i);
	pthread_mutex_unlock(&batcher->lock);
}

void nn_lane_count(const struct nn_lane *lane, struct nn_lane_counts *counts)
{
	*counts = (struct nn_lane_counts){ 0 };
	nn_lane_counts_add(lane->batcher, lane->shared, lane->n_shared, counts);
}
