/* For tests of the batcher: rows, requests that are told of what became of them, lanes. */
#ifndef SERVE_BATCH_H
#define SERVE_BATCH_H

#include "config.h"
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "serve-model.h"
#include "serve/batch/inside.h"
#include "tap.h"

#define ROWS 64
#define IN 60 /* values of a row of all models here */
#define MOST_OUT 64
#define CLASSIFIER "input 60, dense 33, relu, dense 3"
#define CLASSES "{\"columns\":[null],\"labels\":[\"a\",\"b\",\"c\"]}"

static float rows[ROWS * IN];

static inline void fill_rows(void)
{
	for (int i = 0; i < ROWS * IN; i++)
		rows[i] = (float)((unsigned)i * 2654435761u >> 8 & 0xffff) / 65536 - 0.5f;
}

/* ---- requests ---- */

struct request {
	struct nn_job job;
	sem_t told;
	int times;
	float out[ROWS * MOST_OUT];
};

static inline void told(struct nn_job *job)
{
	struct request *r = (struct request *)job;

	r->times++;
	sem_post(&r->told);
}

static inline struct request *ask(struct nn_batcher *b, struct nn_lane *lane, size_t first,
				  size_t n, unsigned loop)
{
	struct request *r = calloc(1, sizeof *r);

	sem_init(&r->told, 0, 0);
	r->job = (struct nn_job){ .lane = lane,
				  .rows = n,
				  .in = rows + first * IN,
				  .out = r->out,
				  .deadline = INFINITY,
				  .loop = loop,
				  .done = told };
	if (nn_batcher_put(b, &r->job))
		return r;
	sem_destroy(&r->told);
	free(r);
	return NULL;
}

/* What became of it, once it is told; -1: told more than once. */
static inline int state_of(struct request *r)
{
	int state;

	sem_wait(&r->told);
	state = r->times == 1 ? (int)r->job.state : -1;
	sem_destroy(&r->told);
	free(r);
	return state;
}

static inline struct nn_batcher *open_batcher(double max_delay)
{
	struct nn_batcher_setup setup = {
		.max_batch = 16, .queue = 1000, .max_delay = max_delay, .workers = 2, .loops = 4
	};
	struct nn_batcher *b = NULL;

	return nn_batcher_open(&b, &setup, NULL) == 0 ? b : NULL;
}

static inline struct nn_lane *open_lane(struct nn_batcher *b, const struct nn_model *model,
					bool null)
{
	struct nn_lane *lane = NULL;
	const struct nn_model *const models[] = { model, NULL };

	return nn_lane_open(&lane, b, models, null, NULL) == 0 ? lane : NULL;
}

/* As if a row took a second on each device: workers compute it. */
static inline void make_heavy(struct nn_lane *lane)
{
	pthread_mutex_lock(&lane->batcher->lock);
	for (size_t p = 0; p < lane->n_places; p++) {
		lane->places[p].costs = (struct nn_costs){ .n = 0 };
		for (int i = 0; i < 256; i++)
			nn_costs_add(&lane->places[p].costs, 1, 1);
	}
	pthread_mutex_unlock(&lane->batcher->lock);
}

#endif
