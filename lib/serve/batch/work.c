/*
 * Who computes what: loops what is light, at the end of their rounds; workers the rest, the lane
 * first that had least of their time.
 */
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/flush.h"
#include "serve/batch/inside.h"

size_t nn_batcher_can_come(const struct nn_batcher *b)
{
	if (b->clients == 0)
		return SIZE_MAX;
	return b->clients > b->pending ? b->clients - b->pending : 0;
}

struct nn_wait nn_lane_decide(struct nn_lane *lane, const struct nn_lane_place *place, double now,
			      bool others)
{
	const struct nn_batcher *b = lane->batcher;
	struct nn_wait_view view = {
		.costs = &place->costs,
		.gaps = &lane->gaps,
		.queued = lane->queued,
		.max_batch = lane->max_batch,
		.pending = lane->pending,
		.can_come = nn_batcher_can_come(b),
		.now = now,
		.oldest = lane->head->queued,
		.deadline = lane->deadline,
		.slo = b->setup.slo,
		.max_delay = b->setup.max_delay,
		.others = others,
		.draining = b->draining || lane->closing,
	};
	return nn_wait_decide(&view);
}

/* Done may have put more, on a thread whose round is over. */
static void allow_all(struct nn_batcher *b)
{
	for (struct nn_lane *lane = b->lanes; lane; lane = lane->next)
		lane->ready |= lane->head != NULL;
}

void nn_lane_serve(struct nn_lane *lane, struct nn_split split, double now,
		   enum nn_dispatch because)
{
	struct nn_batcher *b = lane->batcher;
	struct nn_over over = { NULL, &over.first };
	struct nn_error err;
	struct nn_seat *seat;

	b->served = lane->served;
	seat = nn_lane_take(lane, split, now, because, &over);
	pthread_mutex_unlock(&b->lock);
	if (seat) {
		double began = nn_now_s(), ended;
		int status = nn_seat_compute(lane, seat, &err);

		ended = nn_now_s();
		pthread_mutex_lock(&b->lock);
		nn_lane_finish(lane, seat, ended, ended - began, status < 0 ? &err : NULL, &over);
		pthread_mutex_unlock(&b->lock);
	}
	nn_over_tell(&over);
	pthread_mutex_lock(&b->lock);
	if (over.first)
		allow_all(b);
}

/* All that is queued counts: a wide request of cheap rows would keep a loop from its clients. */
static bool is_light(const struct nn_lane *lane, const struct nn_split *split)
{
	const struct nn_lane_place *place = &lane->places[split->place];
	size_t rows = lane->queued < split->rows ? lane->queued : split->rows;
	double cost;

	if (lane->null_row)
		return true;
	if (place->model->device != place->model->host || place->model->part.ranks)
		return false;
	cost = nn_costs_at(&place->costs, rows) * (double)lane->queued / (double)rows;
	return cost > 0 && cost < NN_LIGHT_S;
}

static bool can_serve(const struct nn_lane *lane, double now, struct nn_split *split)
{
	if (!lane->head || !lane->ready)
		return false;
	*split = nn_lane_split(lane, now);
	return split->place >= 0;
}

void nn_batcher_wake(struct nn_batcher *b)
{
	if (b->idle > 0)
		pthread_cond_signal(&b->work);
}

/* Who is late is told so before anything is computed. */
static void tell_late(struct nn_batcher *b, double now)
{
	struct nn_over over = { NULL, &over.first };

	for (struct nn_lane *lane = b->lanes; lane; lane = lane->next)
		if (lane->head)
			nn_lane_sweep(lane, now, &over);
	if (!over.first)
		return;
	pthread_mutex_unlock(&b->lock);
	nn_over_tell(&over);
	pthread_mutex_lock(&b->lock);
	allow_all(b);
}

/* A light batch that is to be computed now; others are left to workers. */
static struct nn_lane *find_light(struct nn_batcher *b, double now, enum nn_dispatch *because,
				  struct nn_split *split)
{
	for (struct nn_lane *lane = b->lanes; lane; lane = lane->next) {
		struct nn_wait wait;
		bool light;

		if (!can_serve(lane, now, split))
			continue;
		light = is_light(lane, split);
		if (!light && b->idle == 0)
			continue;
		wait = nn_lane_decide(lane, &lane->places[split->place], now,
				      !light && b->idle > 1);
		/* while all workers are busy nobody looks at the clock */
		if (light && (wait.until == 0 || b->busy == b->setup.workers)) {
			*because = wait.until == 0 ? wait.because : NN_IDLE;
			return lane;
		}
		if (wait.until == 0 || wait.until < b->wake)
			nn_batcher_wake(b);
	}
	return NULL;
}

void nn_batcher_round(struct nn_batcher *b, unsigned loop)
{
	enum nn_dispatch because;
	struct nn_split split;
	struct nn_lane *lane;
	double now;

	pthread_mutex_lock(&b->lock);
	for (lane = b->lanes; lane; lane = lane->next) {
		lane->ready |= lane->fresh[loop % b->setup.loops] && lane->head;
		lane->fresh[loop % b->setup.loops] = false;
	}
	for (;;) {
		now = nn_now_s();
		tell_late(b, now);
		lane = find_light(b, now, &because, &split);
		if (!lane)
			break;
		/* the rest is for another device, meanwhile */
		if (lane->n_places > 1 && lane->queued > split.rows)
			nn_batcher_wake(b);
		nn_lane_serve(lane, split, now, because);
	}
	pthread_mutex_unlock(&b->lock);
}

/* ---- workers ---- */

/* The lane to serve now, or NULL; *wake: when another one has to be looked at, 0: now. */
static struct nn_lane *pick(struct nn_batcher *b, double now, struct nn_split *best_split,
			    enum nn_dispatch *because, double *wake)
{
	struct nn_lane *best = NULL;
	struct nn_split split;

	*wake = INFINITY;
	for (struct nn_lane *lane = b->lanes; lane; lane = lane->next) {
		struct nn_wait wait;

		if (!can_serve(lane, now, &split))
			continue;
		wait = nn_lane_decide(lane, &lane->places[split.place], now, b->idle > 0);
		if (wait.until > 0) {
			*wake = wait.until < *wake ? wait.until : *wake;
		} else {
			*wake = best ? 0 : *wake;
			if (!best || lane->served < best->served) {
				best = lane;
				*best_split = split;
				*because = wait.because;
			}
		}
	}
	return best;
}

static struct timespec at_time(double s)
{
	struct timespec t = { .tv_sec = (time_t)s };

	t.tv_nsec = (long)((s - (double)t.tv_sec) * 1e9);
	return t;
}

/* Until there is work, or the time has come for what waits: one worker looks at the clock. */
static void sleep_until(struct nn_batcher *b, double wake)
{
	struct timespec until;

	b->idle++;
	if (wake < b->wake) {
		until = at_time(wake);
		b->wake = wake;
		b->keeper = &until; /* cppcheck-suppress autoVariables // until it wakes */
		pthread_cond_timedwait(&b->work, &b->lock, &until);
		if (b->keeper == &until) {
			b->keeper = NULL;
			b->wake = INFINITY;
		}
	} else {
		pthread_cond_wait(&b->work, &b->lock);
	}
	b->idle--;
}

void *nn_batcher_work(void *arg)
{
	struct nn_batcher *b = arg;

	nn_flush_set(true);
	pthread_mutex_lock(&b->lock);
	for (;;) {
		double now = nn_now_s(), wake;
		enum nn_dispatch because;
		struct nn_split split;
		struct nn_lane *lane;

		tell_late(b, now);
		lane = pick(b, now, &split, &because, &wake);
		if (lane) {
			/* another one sees to what is left, and to the clock */
			if (wake < INFINITY || lane->queued > split.rows)
				nn_batcher_wake(b);
			b->busy++;
			nn_lane_serve(lane, split, now, because);
			b->busy--;
		} else if (b->stop) {
			break;
		} else if (wake < INFINITY || !nn_batcher_measure(b)) {
			sleep_until(b, wake);
		}
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}
