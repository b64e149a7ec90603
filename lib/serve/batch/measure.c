/*
 * Batches of zeros of 2, 4, 8, ... rows, computed by a worker that has nothing else to do, so that
 * decisions begin with more than what one row takes. Traffic keeps the table fresh.
 */
#include "serve/batch/inside.h"

/* What would keep a worker from requests for longer is learned from them alone. */
#define LONGEST_S 50e-3

static bool wants(struct nn_lane *lane)
{
	if (lane->null_row || lane->closing || lane->head || !lane->free)
		return false;
	while (lane->measure <= lane->max_batch && nn_costs_know(&lane->costs, lane->measure))
		lane->measure *= 2;
	return lane->measure <= lane->max_batch &&
	       nn_costs_at(&lane->costs, lane->measure) < LONGEST_S;
}

bool nn_batcher_measure(struct nn_batcher *b)
{
	struct nn_lane *lane = b->lanes;
	struct nn_seat *seat;
	struct nn_error err;
	double seconds;
	int status;

	while (lane && !wants(lane))
		lane = lane->next;
	if (!lane || b->measuring)
		return false;
	b->measuring = true;
	seat = nn_lane_enter(lane);
	pthread_mutex_unlock(&b->lock);
	status = nn_seat_measure(lane, seat, lane->measure, &seconds, &err);
	pthread_mutex_lock(&b->lock);
	b->measuring = false;
	if (status == 0)
		nn_costs_add(&lane->costs, lane->measure, seconds);
	lane->measure *= 2;
	nn_lane_leave(lane, seat);
	return true;
}
