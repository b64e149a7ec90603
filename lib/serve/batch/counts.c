/* Counts of a lane that several processes share, and their sum. */
#include "serve/batch/inside.h"

void nn_lane_share(struct nn_lane *lane, struct nn_lane_counts *all, unsigned n, unsigned mine)
{
	pthread_mutex_lock(&lane->batcher->lock);
	lane->shared = all;
	lane->n_shared = n;
	lane->counts = all + mine;
	lane->counts->waiting = 0; /* of a worker that is gone, whose place this one takes */
	pthread_mutex_unlock(&lane->batcher->lock);
}

void nn_lane_counts_add(struct nn_lane_counts *to, const struct nn_lane_counts *c)
{
	to->requests += c->requests;
	to->rows += c->rows;
	to->batches += c->batches;
	to->expired += c->expired;
	to->failed += c->failed;
	to->full += c->full;
	to->batch_rows += c->batch_rows;
	to->queue_s += c->queue_s;
	to->compute_s += c->compute_s;
	to->waiting += c->waiting;
	for (size_t i = 0; i < NN_DISPATCHES; i++)
		to->dispatch[i] += c->dispatch[i];
	for (size_t i = 0; i < 16; i++) {
		to->queue_counts[i] += c->queue_counts[i];
		to->compute_counts[i] += c->compute_counts[i];
		to->rows_counts[i] += c->rows_counts[i];
	}
}
