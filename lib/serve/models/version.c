/* A version of a model from its file to its last user. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/flush.h"
#include "base/memory.h"
#include "base/thread.h"
#include "predict/session.h"
#include "serve/batch/batch.h"
#include "serve/board.h"
#include "serve/models/version.h"
#include "serve/ranks/ranks.h"

/* The two share the model and the ports, which the one that computes owns. */
struct version {
	struct nn_served served; /* first */
	struct version *null;    /* of the one that computes */
	struct version *whole;   /* of the null one: used once by it, while anybody uses it */
	struct nn_graves *graves;
	uint64_t number; /* by which ranks know it; 0: they do not */
	char *name;
	struct nn_model *models[NN_MOST_PLACES + 1]; /* on each device, NULL behind the last */
	atomic_size_t users;
	const struct nn_models_setup *setup;
	atomic_bool unseen;   /* was told */
	struct version *next; /* in graves */
};

struct nn_graves {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct version *first;
	bool ended;
	pthread_t thread;
};

static struct version *of(struct nn_served *served)
{
	return (struct version *)served;
}

static void free_version(struct version *v)
{
	if (!v)
		return;
	nn_lane_close(v->served.lane);
	if (v->null) {
		nn_lane_close(v->null->served.lane);
		nn_free(v->null);
	}
	nn_ports_close(&v->served);
	for (size_t i = 0; i < NN_MOST_PLACES; i++)
		nn_model_close(v->models[i]);
	if (v->number)
		nn_ranks_close(v->setup->ranks, v->number);
	nn_free(v->name);
	nn_free(v);
}

/* ---- the last user ---- */

static void *bury(void *arg)
{
	struct nn_graves *graves = arg;

	pthread_mutex_lock(&graves->lock);
	for (;;) {
		struct version *first = graves->first;

		if (first) {
			graves->first = first->next;
			pthread_mutex_unlock(&graves->lock);
			free_version(first);
			pthread_mutex_lock(&graves->lock);
		} else if (graves->ended) {
			break;
		} else {
			pthread_cond_wait(&graves->filled, &graves->lock);
		}
	}
	pthread_mutex_unlock(&graves->lock);
	return NULL;
}

int nn_graves_open(struct nn_graves **graves, struct nn_error *err)
{
	struct nn_graves *g = nn_alloc(1, sizeof *g, err);

	if (!g)
		return -1;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->filled, NULL);
	if (nn_thread_start(&g->thread, 0, bury, g, "the thread that closes models", err) < 0) {
		pthread_cond_destroy(&g->filled);
		pthread_mutex_destroy(&g->lock);
		nn_free(g);
		return -1;
	}
	*graves = g;
	return 0;
}

void nn_graves_close(struct nn_graves *graves)
{
	if (!graves)
		return;
	pthread_mutex_lock(&graves->lock);
	graves->ended = true;
	pthread_cond_signal(&graves->filled);
	pthread_mutex_unlock(&graves->lock);
	pthread_join(graves->thread, NULL);
	pthread_cond_destroy(&graves->filled);
	pthread_mutex_destroy(&graves->lock);
	nn_free(graves);
}

void nn_served_use(struct nn_served *served)
{
	struct version *v = of(served);

	if (atomic_fetch_add(&v->users, 1) == 0 && v->whole)
		nn_served_use(&v->whole->served);
}

void nn_served_release(struct nn_served *served)
{
	struct version *v = of(served);
	struct nn_graves *graves;

	if (!served || atomic_fetch_sub(&v->users, 1) > 1)
		return;
	if (v->whole) {
		nn_served_release(&v->whole->served);
		return;
	}
	graves = v->graves;
	pthread_mutex_lock(&graves->lock);
	v->next = graves->first;
	graves->first = v;
	pthread_cond_signal(&graves->filled);
	pthread_mutex_unlock(&graves->lock);
}

struct nn_served *nn_served_null(struct nn_served *served)
{
	return &of(served)->null->served;
}

void nn_served_unseen(struct nn_served *served, const char *what)
{
	struct version *v = of(served);
	char text[400];

	if (atomic_exchange(&v->unseen, true) || !v->setup->warn)
		return;
	snprintf(text, sizeof text,
		 "model \"%.100s\": %.200s; more of them are counted as nn_unseen_total",
		 v->served.name, what);
	v->setup->warn(v->setup->arg, text);
}

/* ---- the first ---- */

/* A row of zeros goes through before anybody's does. */
static int try_row(const struct nn_model *model, struct nn_error *err)
{
	struct nn_session_options options = { .size = sizeof options, .max_rows = 1 };
	struct nn_session *session = nn_session_open(model, &options, err);
	size_t n_in = session ? nn_session_n_inputs(session) : 0;
	size_t n_out = session ? nn_session_n_outputs(session) : 0;
	float *row = nn_alloc(nn_model_inputs(model) + nn_model_outputs(model), sizeof *row, err);
	const float **in = nn_alloc(n_in, sizeof *in, err);
	float **out = nn_alloc(n_out, sizeof *out, err);
	int status = -1;

	if (session && row && in && out) {
		for (size_t i = 0; i < n_in; i++)
			in[i] = row;
		for (size_t i = 0; i < n_out; i++)
			out[i] = row + nn_model_inputs(model);
		status = nn_session_predict(session, in, 1, out, err);
	}
	nn_free(row);
	nn_free(in);
	nn_free(out);
	nn_session_close(session);
	return status;
}

/*
 * int8 weights are multiplied as such on the CPU alone: on several devices all compute in f32, so
 * that a row's bytes do not depend on which it was.
 */
static int load_places(struct version *v, const struct nn_places *places,
		       struct nn_model_source *source, struct nn_error *err)
{
	size_t i = 0;

	while (i < places->n) {
		source->device_name = places->name[i];
		if (nn_model_load(&v->models[i], source, err) < 0)
			return -1;
		if (i++ == 0 && places->n > 1 && source->precision == 0 &&
		    v->models[0]->file->stored == NN_I8) {
			source->precision = 1 + NN_F32;
			nn_model_close(v->models[--i]);
			v->models[i] = NULL;
		}
	}
	return 0;
}

static int load(struct version *v, const struct nn_served_setup *setup, struct nn_error *err)
{
	struct nn_model_source source = { .path = setup->path,
					  .precision = setup->models->precision,
					  .device_name = setup->models->device };
	struct nn_ranks *ranks = setup->models->ranks;
	struct nn_places places;
	uint64_t before;
	int status;

	if (nn_places_parse(&places, source.device_name ? source.device_name : "cpu", err) < 0)
		return -1;
	before = nn_flush_set(true);
	if (ranks)
		nn_ranks_open(ranks, setup->path, &source.part);
	v->number = source.part.number;
	status = load_places(v, &places, &source, err);
	if (ranks && nn_ranks_opened(ranks, status < 0 ? NULL : err) < 0)
		status = -1;
	nn_flush_restore(before);
	v->served.model = v->models[0];
	if (status < 0)
		return -1;
	if (ranks)
		nn_ranks_tell(ranks, v->name, v->models[0]); /* seats try rows in all ranks */
	for (size_t i = 0; !ranks && i < places.n && status == 0; i++)
		status = try_row(v->models[i], err);
	return status;
}

static int open_lanes(struct version *v, struct nn_batcher *batcher, struct nn_error *err)
{
	const struct nn_model *const *models = (const struct nn_model *const *)v->models;

	v->null = nn_alloc(1, sizeof *v->null, err);
	if (!v->null || nn_lane_open(&v->served.lane, batcher, models, false, err) < 0)
		return -1;
	*v->null = (struct version){
		.served = v->served, .whole = v, .graves = v->graves, .setup = v->setup
	};
	v->null->served.null = true;
	v->null->served.lane = NULL;
	return nn_lane_open(&v->null->served.lane, batcher, models, true, err);
}

static void share_lanes(const struct version *v, const struct nn_board *board)
{
	if (!board)
		return;
	nn_board_take(board, v->served.lane, v->name, v->served.version, false);
	nn_board_take(board, v->null->served.lane, v->name, v->served.version, true);
}

int nn_served_open(struct nn_served **served, const struct nn_served_setup *setup,
		   struct nn_error *err)
{
	struct version *v = nn_alloc(1, sizeof *v, err);

	if (!v)
		return -1;
	v->graves = setup->graves;
	v->setup = setup->models;
	atomic_init(&v->users, 1);
	v->served.name = v->name = nn_strdup(setup->name, err);
	v->served.version = setup->version;
	if (!v->name || load(v, setup, err) < 0 || nn_ports_open(&v->served, err) < 0 ||
	    open_lanes(v, setup->models->batcher, err) < 0) {
		free_version(v);
		return -1;
	}
	share_lanes(v, setup->models->board);
	*served = &v->served;
	return 0;
}
