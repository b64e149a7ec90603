/*
 * The batcher: rows of many threads put together, with the bytes they have alone; every job told
 * once, whatever becomes of it.
 */
#include "config.h"
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/output.h"
#include "predict/emit.h"
#include "serve-model.h"
#include "serve/batch/inside.h"
#include "tap.h"

#define ROWS 64
#define IN 60 /* values of a row of all models here */
#define MOST_OUT 64

static float rows[ROWS * IN];

static const struct example {
	const char *what, *text, *input_json, *target_json, *train_json;
} examples[] = {
	{ "a net without a target", "input 3x5x4, conv2d 8 3x3 pad=1, relu, flatten, dense 9", NULL,
	  NULL, NULL },
	{ "a classifier", "input 60, dense 33, relu, dense 3", NULL,
	  "{\"columns\":[null],\"labels\":[\"a\",\"b\",\"c\"]}", NULL },
	{ "numbers with units", "input 60, dense 16, gelu, dense 2", NULL,
	  "{\"columns\":[\"p\",\"q\"],\"labels\":null,\"mean\":[1,-2],\"sd\":[0.5,30]}", NULL },
	{ "probabilities of columns", "input 60, dense 16, tanh, dense 2", NULL,
	  "{\"columns\":[\"p\",\"q\"],\"labels\":null}", "{\"loss\":\"bce\"}" },
	{ "two inputs and two outputs",
	  "a: input 40\nb: input 20\nconcat from=a+b\nh: dense 12\np: dense 3 from=h output\n"
	  "q: dense 2 from=h output\n",
	  NULL, NULL, NULL },
	{ "images out", "input 3x5x4, conv2d 2 3x3 pad=1", NULL, NULL, NULL },
};
#define N_EXAMPLES (sizeof examples / sizeof *examples)

/* ---- requests ---- */

struct request {
	struct nn_job job;
	sem_t told;
	int times;
	float out[ROWS * MOST_OUT];
};

static void told(struct nn_job *job)
{
	struct request *r = (struct request *)job;

	r->times++;
	sem_post(&r->told);
}

static struct request *ask(struct nn_batcher *b, struct nn_lane *lane, size_t first, size_t n,
			   unsigned loop)
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
static int state_of(struct request *r)
{
	int state;

	sem_wait(&r->told);
	state = r->times == 1 ? (int)r->job.state : -1;
	sem_destroy(&r->told);
	free(r);
	return state;
}

static struct nn_batcher *open_batcher(double max_delay)
{
	struct nn_batcher_setup setup = {
		.max_batch = 16, .queue = 1000, .max_delay = max_delay, .workers = 2, .loops = 4
	};
	struct nn_batcher *b = NULL;

	return nn_batcher_open(&b, &setup, NULL) == 0 ? b : NULL;
}

static struct nn_lane *open_lane(struct nn_batcher *b, const struct nn_model *model, bool null)
{
	struct nn_lane *lane = NULL;

	return nn_lane_open(&lane, b, model, null, NULL) == 0 ? lane : NULL;
}

/* As if a row took a second: workers compute it. */
static void make_heavy(struct nn_lane *lane)
{
	pthread_mutex_lock(&lane->batcher->lock);
	memset(&lane->costs, 0, sizeof lane->costs);
	for (int i = 0; i < 256; i++)
		nn_costs_add(&lane->costs, 1, 1);
	pthread_mutex_unlock(&lane->batcher->lock);
}

/* ---- the same bytes ---- */

/* Each row alone, as nn-predict prints it. */
static bool row_by_row(const struct nn_model *model, float out[ROWS * MOST_OUT])
{
	struct nn_session_setup setup = { .model = model, .max_rows = 1 };
	size_t n_outputs = (size_t)model->program->n_outputs;
	struct nn_session *s = NULL;
	bool good = nn_session_new(&s, &setup, NULL) == 0;

	memset(out, 0, ROWS * MOST_OUT * sizeof *out);
	for (size_t r = 0; r < ROWS && good; r++) {
		const float *from = rows + r * IN;

		for (size_t i = 0; i < nn_session_n_inputs(s); i++) {
			nn_session_put(s, i, 0, 1, from, NN_F32);
			from += nn_session_input_size(s, i);
		}
		good = nn_session_run(s, 1, NULL) == 0;
		for (size_t o = 0; o < n_outputs && good; o++) {
			struct nn_emitted e;

			good = nn_emitted_open(&e, model, (int)o, NULL, 1, NULL) == 0;
			if (!good)
				break;
			nn_emitted_take(&e, s, 0, 1);
			for (size_t i = 0; i < e.positions * e.columns; i++)
				/* of an image channels come first */
				*out++ = (float)nn_emitted_value(
					&e, 0, e.shape.rank == 3 ? i % e.positions : 0,
					e.shape.rank == 3 ? i / e.positions : i);
			nn_emitted_close(&e);
		}
	}
	nn_session_close(s);
	return good;
}

struct client {
	struct nn_batcher *batcher;
	struct nn_lane *lane;
	const float *alone;
	unsigned loop;
	bool good;
};

/* Requests of any number of rows, several at a time. */
static void *be_client(void *arg)
{
	struct client *c = arg;
	size_t width = c->lane->row_out;
	unsigned random = c->loop + 1;

	c->good = true;
	for (int round = 0; round < 60; round++) {
		struct request *asked[5];
		size_t first[5], n[5];

		for (int i = 0; i < 5; i++) {
			random = random * 1664525 + 1013904223;
			n[i] = round % 3 ? 1 + (random >> 8) % 3 : 1 + (random >> 8) % ROWS;
			first[i] = (random >> 16) % (ROWS - n[i] + 1);
			asked[i] = ask(c->batcher, c->lane, first[i], n[i], c->loop);
		}
		nn_batcher_round(c->batcher, c->loop);
		for (int i = 0; i < 5; i++) {
			if (!asked[i]) {
				c->good = false;
				continue;
			}
			sem_wait(&asked[i]->told);
			c->good &= memcmp(asked[i]->out, c->alone + first[i] * width,
					  n[i] * width * sizeof(float)) == 0;
			sem_post(&asked[i]->told);
			c->good &= state_of(asked[i]) == NN_JOB_DONE;
		}
	}
	return NULL;
}

static bool four_clients(struct nn_batcher *b, struct nn_lane *lane, const float *alone)
{
	struct client clients[4];
	pthread_t threads[4];
	bool good = true;

	for (unsigned i = 0; i < 4; i++) {
		clients[i] = (struct client){ b, lane, alone, i, false };
		pthread_create(&threads[i], NULL, be_client, &clients[i]);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		good &= clients[i].good;
	}
	return good;
}

/* Light batches on the threads of loops, heavy ones on workers, with and without waiting. */
static bool agrees(const struct nn_model *model, const float *alone)
{
	static const double delays[] = { -1, 0, 300e-6 };
	bool good = true;

	for (int i = 0; i < 3; i++) {
		struct nn_batcher *b = open_batcher(delays[i]);
		struct nn_lane *lane = b ? open_lane(b, model, false) : NULL;

		if (!lane)
			return false;
		good &= four_clients(b, lane, alone);
		make_heavy(lane);
		good &= four_clients(b, lane, alone);
		nn_batcher_close(b);
	}
	return good;
}

static void all_agree(void)
{
	static const char *const sets[] = { "generic", "avx2", "avx512" };
	static float alone[ROWS * MOST_OUT], before[N_EXAMPLES][ROWS * MOST_OUT];
	bool first = true;

	for (int s = 0; s < 3; s++) {
		setenv("NN_CPU", sets[s], 1);
		if (!nn_device_open("cpu", NN_F32, NULL)) {
			note("no %s here", sets[s]);
			continue;
		}
		for (size_t i = 0; i < N_EXAMPLES; i++) {
			const struct example *e = &examples[i];
			struct nn_model *model =
				serve_model(e->text, e->input_json, e->target_json, e->train_json);

			ok(model && row_by_row(model, alone) && agrees(model, alone),
			   "batch: %s on %s: 1 to 64 rows in any company have the bytes they have "
			   "alone",
			   e->what, sets[s]);
			ok(first || memcmp(before[i], alone, sizeof alone) == 0,
			   "batch: %s on %s: the bytes are those of other instruction sets",
			   e->what, sets[s]);
			memcpy(before[i], alone, sizeof alone);
			nn_model_close(model);
		}
		first = false;
	}
	unsetenv("NN_CPU");
}

/* ---- what becomes of jobs ---- */

static void queue_is_bounded(const struct nn_model *model)
{
	struct nn_batcher_setup setup = {
		.max_batch = 8, .queue = 10, .max_delay = -1, .workers = 1, .loops = 1
	};
	struct nn_batcher *b = NULL;
	struct nn_lane *lane = NULL;
	struct nn_lane_counts counts;
	struct request *wide, *six, *four;

	if (nn_batcher_open(&b, &setup, NULL) < 0 || !(lane = open_lane(b, model, false))) {
		ok(false, "batch: a lane opens");
		return;
	}
	six = ask(b, lane, 0, 6, 0);
	ok(six && !ask(b, lane, 0, 5, 0), "batch: rows beyond the queue are refused");
	four = ask(b, lane, 0, 4, 0);
	ok(four && !ask(b, lane, 0, 1, 0), "batch: the queue holds as many rows as it says");
	nn_lane_count(lane, &counts);
	ok(counts.full == 2 && counts.waiting == 10, "batch: refused requests are counted");
	nn_batcher_round(b, 0);
	ok(four && six && state_of(six) == NN_JOB_DONE && state_of(four) == NN_JOB_DONE,
	   "batch: what was taken is answered");
	wide = ask(b, lane, 0, 40, 0);
	ok(wide && !ask(b, lane, 0, 1, 0),
	   "batch: a request of more rows than the queue holds is taken when it is empty");
	nn_batcher_round(b, 0);
	ok(wide && state_of(wide) == NN_JOB_DONE, "batch: a wide request is answered as a whole");
	nn_lane_count(lane, &counts);
	ok(counts.rows == 50 && counts.batches >= 7 && counts.rows_counts[15] == counts.batches &&
		   counts.queue_counts[15] == 3 && counts.dispatch[NN_FULL] >= 6,
	   "batch: rows, batches and why they left are counted");
	nn_batcher_close(b);
}

static void late_rows_are_dropped(const struct nn_model *model)
{
	struct nn_batcher *b = open_batcher(-1);
	struct nn_lane *lane = open_lane(b, model, false);
	struct request *late = calloc(1, sizeof *late), *before, *after;
	struct nn_lane_counts counts;

	sem_init(&late->told, 0, 0);
	late->out[0] = 77;
	late->job = (struct nn_job){ .lane = lane,
				     .rows = 3,
				     .in = rows,
				     .out = late->out,
				     .deadline = nn_now_s() - 1,
				     .done = told };
	before = ask(b, lane, 0, 2, 0);
	nn_batcher_put(b, &late->job);
	after = ask(b, lane, 0, 2, 0);
	nn_batcher_round(b, 0);
	ok(state_of(before) == NN_JOB_DONE && state_of(after) == NN_JOB_DONE,
	   "batch: those beside a late request are answered");
	sem_wait(&late->told);
	ok(late->out[0] == 77, "batch: nothing is computed for a late request");
	sem_post(&late->told);
	ok(state_of(late) == NN_JOB_EXPIRED, "batch: a late request is told so");
	nn_lane_count(lane, &counts);
	ok(counts.expired == 1 && counts.waiting == 0, "batch: late requests are counted");
	nn_batcher_close(b);
}

static void nobody_is_forgotten(const struct nn_model *model)
{
	struct nn_batcher *b = open_batcher(1e6);
	struct nn_lane *lane = open_lane(b, model, false);
	struct request *asked[3];
	struct nn_lane_counts counts;

	for (int i = 0; i < 3; i++)
		asked[i] = ask(b, lane, (size_t)i, 1, 0);
	nn_batcher_round(b, 0);
	nn_lane_count(lane, &counts);
	ok(counts.waiting == 3 && counts.batches == 0, "batch: a fixed delay is waited for");
	nn_batcher_drain(b);
	for (int i = 0; i < 3; i++)
		ok(state_of(asked[i]) == NN_JOB_DONE, "batch: draining, nothing waits: %d", i);
	nn_lane_count(lane, &counts);
	ok(counts.dispatch[NN_DRAIN] == 1 && counts.batches == 1,
	   "batch: what was sent because of the end is counted so");
	nn_batcher_close(b);

	b = open_batcher(1e6);
	lane = open_lane(b, model, false);
	for (int i = 0; i < 3; i++)
		asked[i] = ask(b, lane, 0, 40, (unsigned)i);
	nn_lane_close(lane);
	for (int i = 0; i < 3; i++)
		ok(state_of(asked[i]) == NN_JOB_DONE,
		   "batch: a lane that is closed answers what waits: %d", i);
	nn_batcher_close(b);
}

static void full_batches_go(const struct nn_model *model)
{
	struct nn_batcher *b = open_batcher(1e6);
	struct nn_lane *lane = open_lane(b, model, false);
	struct request *asked[4];
	struct nn_lane_counts counts;

	for (int heavy = 0; heavy < 2; heavy++) {
		for (unsigned i = 0; i < 4; i++) {
			asked[i] = ask(b, lane, 0, 4, i);
			nn_batcher_round(b, i);
		}
		for (int i = 0; i < 4; i++)
			ok(state_of(asked[i]) == NN_JOB_DONE,
			   "batch: who waits is sent when the batch is full: %d", i);
		make_heavy(lane);
	}
	nn_lane_count(lane, &counts);
	ok(counts.dispatch[NN_FULL] == 2 && counts.batches == 2,
	   "batch: full batches are counted so");
	nn_batcher_close(b);
}

/* ---- jobs put while others are told ---- */

struct chain {
	struct request request;
	struct nn_batcher *batcher;
	int left;
};

static void put_next(struct nn_job *job)
{
	struct chain *c = (struct chain *)job;

	if (c->left-- == 0) {
		told(job);
		return;
	}
	job->loop = (job->loop + 1) % 4; /* whose round does not come */
	nn_batcher_put(c->batcher, job);
}

static void chains_go_on(const struct nn_model *model)
{
	struct nn_batcher *b = open_batcher(-1);
	struct nn_lane *lane = open_lane(b, model, false);

	for (int heavy = 0; heavy < 2; heavy++) {
		struct chain *c = calloc(1, sizeof *c);

		sem_init(&c->request.told, 0, 0);
		*c = (struct chain){ .request = c->request, .batcher = b, .left = 20 };
		c->request.job = (struct nn_job){ .lane = lane,
						  .rows = 1,
						  .in = rows,
						  .out = c->request.out,
						  .deadline = INFINITY,
						  .done = put_next };
		nn_batcher_put(b, &c->request.job);
		nn_batcher_round(b, 0);
		ok(state_of(&c->request) == NN_JOB_DONE,
		   "batch: a job put while another is told is computed, %s",
		   heavy ? "by workers" : "by the loop");
		make_heavy(lane);
	}
	nn_batcher_close(b);
}

/* ---- several lanes ---- */

static size_t n_told;

struct turn {
	struct request request;
	size_t number; /* how many were told before */
};

/* One worker: told one after the other. */
static void take_number(struct nn_job *job)
{
	struct turn *t = (struct turn *)job;

	t->number = n_told++;
	told(job);
}

static struct turn *line_up(struct nn_batcher *b, struct nn_lane *lane)
{
	struct turn *t = calloc(1, sizeof *t);

	sem_init(&t->request.told, 0, 0);
	t->request.job = (struct nn_job){ .lane = lane,
					  .rows = 16,
					  .in = rows,
					  .out = t->request.out,
					  .deadline = INFINITY,
					  .done = take_number };
	nn_batcher_put(b, &t->request.job);
	return t;
}

static void lanes_take_turns(const struct nn_model *model)
{
	struct nn_batcher_setup setup = {
		.max_batch = 16, .queue = 1000, .max_delay = 0, .workers = 1, .loops = 1
	};
	struct nn_batcher *b = NULL;
	struct nn_lane *little, *much;
	struct turn *many[20], *one;

	if (nn_batcher_open(&b, &setup, NULL) < 0)
		return;
	little = open_lane(b, model, false);
	much = open_lane(b, model, false);
	make_heavy(little);
	make_heavy(much);
	n_told = 0;
	for (int i = 0; i < 20; i++)
		many[i] = line_up(b, much);
	one = line_up(b, little);
	nn_batcher_round(b, 0);
	sem_wait(&one->request.told);
	ok(one->number < 3, "batch: a model with little to do has its turn beside a busy one");
	sem_post(&one->request.told);
	ok(state_of(&one->request) == NN_JOB_DONE, "batch: and its answer");
	for (int i = 0; i < 20; i++)
		ok(state_of(&many[i]->request) == NN_JOB_DONE, "batch: as the busy one: %d", i);
	nn_batcher_close(b);
}

static void null_answers(void)
{
	struct nn_model *model = serve_model(examples[1].text, NULL, examples[1].target_json, NULL);
	struct nn_batcher *b = open_batcher(-1);
	struct nn_lane *lane = open_lane(b, model, true);
	struct request *r = ask(b, lane, 0, 20, 0), *none = ask(b, lane, 0, 0, 0);
	bool uniform = true;

	ok(none && state_of(none) == NN_JOB_DONE, "batch: no rows are answered at once");
	nn_batcher_round(b, 0);
	sem_wait(&r->told);
	for (int i = 0; i < 60; i++)
		uniform &= r->out[i] == 1.0f / 3;
	sem_post(&r->told);
	ok(state_of(r) == NN_JOB_DONE && uniform,
	   "batch: a null model answers with classes that are equally likely");
	nn_batcher_close(b);
	nn_model_close(model);
}

static bool explains(const struct nn_lane *lane, const char *wanted)
{
	struct nn_text text = { 0 };
	bool found;

	nn_lane_explain(lane, &text);
	found = text.data && strstr(text.data, wanted);
	if (!found)
		note("%s", text.data);
	nn_text_free(&text);
	return found;
}

static void answer(struct nn_batcher *b, struct nn_lane *lane, size_t n)
{
	struct request *r = ask(b, lane, 0, n, 0);

	nn_batcher_round(b, 0);
	state_of(r);
}

static void sentences_are_true(const struct nn_model *model)
{
	struct nn_batcher *b = open_batcher(0);
	struct nn_lane *lane = open_lane(b, model, false);

	ok(explains(lane, "no requests yet"), "batch: without requests nothing is explained");
	answer(b, lane, 48);
	ok(explains(lane, "mean batch 16.00 of 16: 100 % dispatched full; a request has 48.0 rows"),
	   "batch: full batches and wide requests are said to be so");
	ok(explains(lane, "nothing waits as --max-delay says"),
	   "batch: a fixed delay of 0 is named as the reason");
	nn_batcher_close(b);

	b = open_batcher(-1);
	lane = open_lane(b, model, false);
	nn_batcher_clients(b, 1);
	answer(b, lane, 1);
	answer(b, lane, 1);
	ok(explains(lane, "mean batch 1.00 of 16: 100 % dispatched idle; 1 client is connected, "
			  "so at most 1 request can wait; a batch has the requests of all of them"),
	   "batch: a single client is said to be the bound");
	nn_batcher_clients(b, 2);
	for (int i = 0; i < 200; i++)
		answer(b, lane, 1);
	ok(explains(lane, "2 clients are connected, so at most 2 requests can wait; nobody else "
			  "comes before there are answers"),
	   "batch: a second client that never comes is said not to come");
	nn_batcher_close(b);

	b = open_batcher(1e-6);
	lane = open_lane(b, model, false);
	answer(b, lane, 1);
	ok(explains(lane, "each batch may wait 1 us as --max-delay says"),
	   "batch: a fixed delay is named as the reason");
	lane = open_lane(b, model, true);
	answer(b, lane, 1);
	nn_batcher_close(b);

	b = open_batcher(-1);
	lane = open_lane(b, model, true);
	answer(b, lane, 1);
	ok(explains(lane, "nothing is computed, so waiting would save nothing"),
	   "batch: a null model is said to compute nothing");
	nn_batcher_close(b);
}

/* Without any request. */
static void costs_are_measured(const struct nn_model *model)
{
	struct nn_batcher *b = open_batcher(-1);
	struct nn_lane *lane = open_lane(b, model, false);
	bool known = false;

	while (!known) {
		usleep(1000);
		pthread_mutex_lock(&b->lock);
		known = nn_costs_know(&lane->costs, 16);
		pthread_mutex_unlock(&b->lock);
	}
	ok(nn_lane_cost(lane, 16) > 0 && nn_lane_cost(lane, 1) > 0,
	   "batch: an idle worker measures what batches cost");
	nn_batcher_close(b);
}

int main(void)
{
	struct nn_model *model;

	for (int i = 0; i < ROWS * IN; i++)
		rows[i] = (float)((unsigned)i * 2654435761u >> 8 & 0xffff) / 65536 - 0.5f;
	all_agree();
	model = serve_model(examples[1].text, NULL, examples[1].target_json, NULL);
	if (!ok(model != NULL, "batch: a model opens"))
		return tap_done();
	queue_is_bounded(model);
	late_rows_are_dropped(model);
	nobody_is_forgotten(model);
	full_batches_go(model);
	chains_go_on(model);
	lanes_take_turns(model);
	null_answers();
	sentences_are_true(model);
	costs_are_measured(model);
	nn_model_close(model);
	return tap_done();
}
