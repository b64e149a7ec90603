/* The batcher: its threads, its lanes, and the way in. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "serve/batch/inside.h"

static int init_locks(struct nn_batcher *b, struct nn_error *err)
{
	pthread_condattr_t attributes;

	if (pthread_condattr_init(&attributes) != 0)
		return nn_fail(err, NN_ENOMEM, "cannot make a condition variable");
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->work, &attributes);
	pthread_cond_init(&b->quiet, NULL);
	pthread_condattr_destroy(&attributes);
	return 0;
}

static int start_workers(struct nn_batcher *b, struct nn_error *err)
{
	b->threads = nn_alloc(b->setup.workers, sizeof *b->threads, err);
	if (!b->threads)
		return -1;
	for (; b->n_threads < b->setup.workers; b->n_threads++)
		if (nn_thread_start(&b->threads[b->n_threads], 0, nn_batcher_work, b,
				    "a compute thread", err) < 0)
			return -1;
	return 0;
}

int nn_batcher_open(struct nn_batcher **batcher, const struct nn_batcher_setup *setup,
		    struct nn_error *err)
{
	struct nn_batcher *b = nn_alloc(1, sizeof *b, err);

	if (!b)
		return -1;
	b->setup = *setup;
	b->setup.workers += setup->workers == 0;
	b->setup.loops += setup->loops == 0;
	b->setup.max_batch += setup->max_batch == 0;
	b->wake = INFINITY;
	if (init_locks(b, err) < 0) {
		nn_free(b);
		return -1;
	}
	if (start_workers(b, err) < 0) {
		nn_batcher_close(b);
		return -1;
	}
	*batcher = b;
	return 0;
}

void nn_batcher_close(struct nn_batcher *b)
{
	if (!b)
		return;
	while (b->lanes)
		nn_lane_close(b->lanes);
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_broadcast(&b->work);
	pthread_mutex_unlock(&b->lock);
	for (unsigned i = 0; i < b->n_threads; i++)
		pthread_join(b->threads[i], NULL);
	pthread_cond_destroy(&b->quiet);
	pthread_cond_destroy(&b->work);
	pthread_mutex_destroy(&b->lock);
	nn_free(b->threads);
	nn_free(b);
}

void nn_batcher_drain(struct nn_batcher *b)
{
	pthread_mutex_lock(&b->lock);
	b->draining = true;
	pthread_cond_broadcast(&b->work);
	pthread_mutex_unlock(&b->lock);
}

const char *nn_batcher_place(const struct nn_batcher *b, size_t i)
{
	return b->setup.places.n > 1 && i < b->setup.places.n ? b->setup.places.name[i] : NULL;
}

void nn_batcher_clients(struct nn_batcher *b, size_t connections)
{
	pthread_mutex_lock(&b->lock);
	b->clients = connections;
	pthread_mutex_unlock(&b->lock);
}

/* ---- lanes ---- */

/* What a null model answers: classes are equally likely, numbers are 0. */
static int make_null_row(struct nn_lane *lane, struct nn_error *err)
{
	float *at = lane->null_row = nn_alloc(lane->row_out, sizeof *lane->null_row, err);

	for (size_t o = 0; at && o < lane->n_outputs; o++) {
		struct nn_emitted e;
		size_t n;

		if (nn_emitted_open(&e, lane->model, (int)o, NULL, 1, err) < 0)
			return -1;
		n = e.positions * e.columns;
		for (size_t i = 0; i < n; i++)
			*at++ = e.emit == NN_EMIT_PROBS ? 1 / (float)e.columns : 0;
		nn_emitted_close(&e);
	}
	return at ? 0 : -1;
}

static void free_lane(struct nn_lane *lane)
{
	nn_lane_close_seats(lane);
	nn_free(lane->null_row);
	nn_free(lane->fresh);
	nn_free(lane);
}

static int fill_lane(struct nn_lane *lane, bool null, struct nn_error *err)
{
	const struct nn_batcher_setup *setup = &lane->batcher->setup;

	lane->row_in = nn_model_inputs(lane->model);
	lane->row_out = nn_model_outputs(lane->model);
	lane->n_outputs = (size_t)lane->model->program->n_outputs;
	lane->max_batch = setup->max_batch;
	lane->fresh = nn_alloc(setup->loops, sizeof *lane->fresh, err);
	if (!lane->fresh || (null && make_null_row(lane, err) < 0))
		return -1;
	return nn_lane_open_seats(lane, err);
}

/* A null model has one place, where nothing is computed. */
static void take_models(struct nn_lane *lane, const struct nn_model *const *models, bool null)
{
	lane->model = *models;
	do {
		lane->places[lane->n_places++] =
			(struct nn_lane_place){ .model = *models, .measure = 2 };
	} while (*++models && !null && lane->n_places < NN_MOST_PLACES);
}

int nn_lane_open(struct nn_lane **out, struct nn_batcher *b, const struct nn_model *const *models,
		 bool null, struct nn_error *err)
{
	struct nn_lane *lane = nn_alloc(1, sizeof *lane, err);

	if (!lane)
		return -1;
	lane->batcher = b;
	take_models(lane, models, null);
	lane->shared = lane->counts = &lane->own;
	lane->n_shared = 1;
	if (fill_lane(lane, null, err) < 0) {
		free_lane(lane);
		return -1;
	}
	pthread_mutex_lock(&b->lock);
	lane->next = b->lanes;
	b->lanes = lane;
	nn_batcher_wake(b);
	pthread_mutex_unlock(&b->lock);
	*out = lane;
	return 0;
}

/* The closer computes too: a light lane has nobody else once its loops are gone. */
void nn_lane_close(struct nn_lane *lane)
{
	struct nn_batcher *b;
	struct nn_lane **at;

	if (!lane)
		return;
	b = lane->batcher;
	pthread_mutex_lock(&b->lock);
	lane->closing = true;
	while (lane->head || lane->computing > 0) {
		double now = nn_now_s();
		struct nn_split split = nn_lane_split(lane, now);

		if (lane->head && split.place >= 0)
			nn_lane_serve(lane, split, now, NN_DRAIN);
		else
			pthread_cond_wait(&b->quiet, &b->lock);
	}
	for (at = &b->lanes; *at != lane;)
		at = &(*at)->next;
	*at = lane->next;
	pthread_mutex_unlock(&b->lock);
	free_lane(lane);
}

/* ---- the way in ---- */

/* No rows: nothing to wait for. */
static void answer_empty(struct nn_job *job)
{
	job->started = job->ended = job->queued;
	job->state = NN_JOB_DONE;
	job->done(job);
}

bool nn_batcher_put(struct nn_batcher *b, struct nn_job *job)
{
	struct nn_lane *lane = job->lane;
	bool room;

	job->state = NN_JOB_WAITS;
	job->taken = job->finished = 0;
	job->queued = nn_now_s();
	pthread_mutex_lock(&b->lock);
	room = lane->queued == 0 || lane->queued + job->rows <= b->setup.queue;
	lane->counts->full += !room;
	if (room && job->rows > 0) {
		/* a lane that had nothing to do has no claim on the time it did not use */
		if (!lane->head && lane->computing == 0 && lane->served < b->served)
			lane->served = b->served;
		nn_lane_append(lane, job);
		lane->fresh[job->loop % b->setup.loops] = true;
		b->pending++;
	} else if (room) {
		lane->counts->requests++;
	}
	pthread_mutex_unlock(&b->lock);
	if (room && job->rows == 0)
		answer_empty(job);
	return room;
}
