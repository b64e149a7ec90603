/*
 * Batches of zeros of 2, 4, 8, ... rows, computed by a worker that has nothing else to do, so that
 * decisions begin with more than what one row takes. Traffic keeps the table fresh.
 */
#include "serve/batch/inside.h"

/* What would keep a worker from requests for longer is learned from them alone. */
#define LONGEST_S 50e-3

/* The place of the lane that wants it, and how many rows; NULL. */
static struct nn_lane_place *wants(struct nn_lane *lane, size_t *rows)
{
	for (size_t i = 0; i < lane->n_places; i++) {
		struct nn_lane_place *p = &lane->places[i];

		if (lane->null_row || lane->closing || !p->free)
			continue;
		*rows = 1;
		if (lane->n_places > 1 && p->missed >= NN_MISSED)
			return p;
		if (lane->head)
			continue;
		while (p->measure <= lane->max_batch && nn_costs_know(&p->costs, p->measure))
			p->measure *= 2;
		*rows = p->measure;
		if (p->measure <= lane->max_batch && nn_costs_at(&p->costs, p->measure) < LONGEST_S)
			return p;
	}
	return NULL;
}

/* Where traffic has left, what is far above is out of date: all is measured anew. */
static void learn(struct nn_lane_place *place, size_t rows, double seconds)
{
	if (place->missed >= NN_MISSED && seconds < nn_costs_at(&place->costs, rows) / 2) {
		place->costs = (struct nn_costs){ .n = 0 };
		place->measure = 2;
	}
	place->missed = 0;
	nn_costs_add(&place->costs, rows, seconds);
}

bool nn_batcher_measure(struct nn_batcher *b)
{
	struct nn_lane *lane = b->lanes;
	struct nn_lane_place *place = NULL;
	struct nn_seat *seat;
	struct nn_error err;
	double seconds;
	size_t rows;
	int status;

	while (lane && !(place = wants(lane, &rows)))
		lane = lane->next;
	if (!lane || b->measuring)
		return false;
	b->measuring = true;
	b->busy++;
	seat = nn_lane_enter(lane, place, rows);
	pthread_mutex_unlock(&b->lock);
	status = nn_seat_measure(lane, seat, rows, &seconds, &err);
	pthread_mutex_lock(&b->lock);
	b->measuring = false;
	b->busy--;
	if (status == 0)
		learn(place, rows, seconds);
	place->measure *= rows == place->measure ? 2 : 1;
	nn_lane_leave(lane, seat);
	return true;
}
