/* A lane's queue: rows in the order they came, taken a batch at a time, and what is counted. */
#include <math.h>

#include "base/clock.h"
#include "serve/batch/inside.h"

const double nn_seconds_bounds[15] = { 10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3,
				       5e-3,  10e-3, 25e-3, 50e-3,  100e-3, 250e-3, 1 };
const double nn_rows_bounds[15] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512 };

static void count_in(uint64_t counts[16], const double bounds[15], double value)
{
	int i = 0;

	while (i < 15 && value > bounds[i])
		i++;
	counts[i]++;
}

void nn_lane_append(struct nn_lane *lane, struct nn_job *job)
{
	job->next = NULL;
	if (lane->head)
		lane->tail->next = job;
	else
		lane->head = job;
	lane->tail = job;
	if (lane->queued == 0)
		lane->deadline = INFINITY;
	if (job->deadline < lane->deadline)
		lane->deadline = job->deadline;
	lane->queued += job->rows;
	lane->counts->waiting += job->rows;
	nn_gaps_came(&lane->gaps, job->queued, lane->pending++, (double)job->rows);
	lane->counts->requests++;
	lane->counts->rows += job->rows;
}

static void finish_job(struct nn_lane *lane, struct nn_job *job, double now, struct nn_over *over)
{
	job->ended = now;
	if (job->state == NN_JOB_WAITS)
		job->state = NN_JOB_DONE;
	lane->counts->failed += job->state == NN_JOB_FAILED;
	lane->batcher->pending--;
	lane->pending--;
	job->next = NULL;
	*over->last = job;
	over->last = &job->next;
}

/* The first job leaves the queue. */
static void shift(struct nn_lane *lane)
{
	lane->head = lane->head->next;
	if (!lane->head)
		lane->tail = NULL;
}

/* What the job still has in the queue is not computed; others may be at work on rows of it. */
static void drop(struct nn_lane *lane, struct nn_job *job, double now, struct nn_over *over)
{
	size_t rest = job->rows - job->taken;

	lane->queued -= rest;
	lane->counts->waiting -= rest;
	job->taken += rest;
	job->finished += rest;
	if (job->finished == job->rows)
		finish_job(lane, job, now, over);
}

static bool is_late(const struct nn_job *job, double now)
{
	return job->state != NN_JOB_WAITS || job->deadline <= now;
}

static void expire(struct nn_lane *lane, struct nn_job *job)
{
	if (job->state != NN_JOB_WAITS)
		return;
	job->state = NN_JOB_EXPIRED;
	lane->counts->expired++;
	lane->counts->expired_rows += job->rows;
}

void nn_lane_sweep(struct nn_lane *lane, double now, struct nn_over *over)
{
	struct nn_job **at = &lane->head, *last = NULL;

	if (lane->deadline > now && !(lane->head && lane->head->state != NN_JOB_WAITS))
		return;
	lane->deadline = INFINITY;
	while (*at) {
		struct nn_job *job = *at;

		if (is_late(job, now)) {
			*at = job->next;
			expire(lane, job);
			drop(lane, job, now, over);
			continue;
		}
		lane->deadline = job->deadline < lane->deadline ? job->deadline : lane->deadline;
		last = job;
		at = &job->next;
	}
	lane->tail = last;
}

/* The first deadline of those that are left. */
static void find_deadline(struct nn_lane *lane)
{
	lane->deadline = INFINITY;
	for (const struct nn_job *job = lane->head; job; job = job->next)
		if (job->deadline < lane->deadline)
			lane->deadline = job->deadline;
}

static void take_rows(struct nn_lane *lane, struct nn_seat *seat, size_t most, double now)
{
	struct nn_job *job = lane->head;
	size_t room = most - seat->rows, rest = job->rows - job->taken;
	size_t n = rest < room ? rest : room;

	if (job->taken == 0) {
		job->started = now;
		lane->counts->queue_s += now - job->queued;
		count_in(lane->counts->queue_counts, nn_seconds_bounds, now - job->queued);
	}
	seat->pieces[seat->n_pieces++] = (struct nn_piece){ job, job->taken, n };
	seat->rows += n;
	lane->queued -= n;
	lane->counts->waiting -= n;
	job->taken += n;
	if (n == rest)
		shift(lane);
}

/* Until a seat of the place is free, as far as it is known; it may be late. */
static double busy(const struct nn_lane_place *place, double now)
{
	double first = INFINITY;

	if (place->free)
		return 0;
	for (size_t i = 0; i < place->n_seats; i++)
		first = fmin(first, place->seats[i].ends);
	return fmax(first - now, 1e-6);
}

struct nn_split nn_lane_split(const struct nn_lane *lane, double now)
{
	size_t rows = lane->queued < lane->max_batch ? lane->queued : lane->max_batch;
	struct nn_split_view views[NN_MOST_PLACES];

	if (lane->n_places == 1)
		return (struct nn_split){ lane->places[0].free ? 0 : -1, lane->max_batch };
	for (size_t i = 0; i < lane->n_places; i++)
		views[i] = (struct nn_split_view){ &lane->places[i].costs,
						   busy(&lane->places[i], now) };
	return nn_split_decide(views, lane->n_places, rows);
}

struct nn_seat *nn_lane_enter(struct nn_lane *lane, struct nn_lane_place *place, size_t rows)
{
	struct nn_seat *seat = place->free;

	place->free = seat->next;
	seat->ends = nn_now_s() + nn_costs_at(&place->costs, rows);
	lane->computing++;
	return seat;
}

void nn_lane_leave(struct nn_lane *lane, struct nn_seat *seat)
{
	seat->ends = 0;
	seat->next = seat->place->free;
	seat->place->free = seat;
	lane->computing--;
	if (lane->closing)
		pthread_cond_broadcast(&lane->batcher->quiet);
}

struct nn_seat *nn_lane_take(struct nn_lane *lane, struct nn_split split, double now,
			     enum nn_dispatch because, struct nn_over *over)
{
	struct nn_lane_place *place = &lane->places[split.place];
	struct nn_seat *seat = place->free;

	nn_lane_sweep(lane, now, over);
	seat->n_pieces = seat->rows = 0;
	while (lane->head && seat->rows < split.rows)
		take_rows(lane, seat, split.rows, now);
	if (!lane->head)
		lane->ready = false;
	else if (lane->deadline < INFINITY)
		find_deadline(lane);
	if (seat->rows == 0)
		return NULL;
	nn_lane_enter(lane, place, seat->rows);
	seat->because = because;
	for (size_t i = 0; i < lane->n_places; i++)
		if (++lane->places[i].missed % NN_MISSED == 0)
			nn_batcher_wake(lane->batcher);
	place->missed = 0;
	if (lane->batcher->clients > lane->counts->clients)
		lane->counts->clients = lane->batcher->clients;
	return seat;
}

/* A batch that was computed. */
static void count(const struct nn_lane *lane, const struct nn_seat *seat, double seconds)
{
	struct nn_lane_counts *c = lane->counts;

	c->batches++;
	c->batch_rows += seat->rows;
	c->place_rows[seat->place - lane->places] += seat->rows;
	c->dispatch[seat->because]++;
	c->compute_s += seconds;
	count_in(c->rows_counts, nn_rows_bounds, (double)seat->rows);
	count_in(c->compute_counts, nn_seconds_bounds, seconds);
}

void nn_lane_finish(struct nn_lane *lane, struct nn_seat *seat, double now, double seconds,
		    const struct nn_error *err, struct nn_over *over)
{
	nn_gaps_answered(&lane->gaps, now, lane->pending, nn_batcher_can_come(lane->batcher));
	for (size_t i = 0; i < seat->n_pieces; i++) {
		struct nn_piece *p = &seat->pieces[i];

		p->job->finished += p->n;
		if (err && p->job->state == NN_JOB_WAITS) {
			p->job->state = NN_JOB_FAILED;
			p->job->error = *err;
		}
		if (p->job->finished == p->job->rows)
			finish_job(lane, p->job, now, over);
	}
	if (!err) {
		nn_costs_add(&seat->place->costs, seat->rows, seconds);
		count(lane, seat, seconds);
	}
	lane->served += seconds;
	nn_lane_leave(lane, seat);
}

void nn_over_tell(struct nn_over *over)
{
	for (struct nn_job *job = over->first, *next; job; job = next) {
		next = job->next;
		job->done(job);
	}
}
