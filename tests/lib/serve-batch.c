/* The batcher: every job is told once, whatever becomes of it; lanes take turns; sentences are
 * true. */
#include <unistd.h>

#include "base/clock.h"
#include "serve-batch.h"

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
	ok(counts.expired == 1 && counts.expired_rows == 3 && counts.waiting == 0,
	   "batch: late requests are counted, and their rows");
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

static sem_t is_held, may_go;

/* A worker that tells this is kept. */
static void hold(struct nn_job *job)
{
	sem_post(&is_held);
	sem_wait(&may_go);
	told(job);
}

static void wide_ones_are_for_workers(const struct nn_model *model)
{
	enum { WIDE = 50000 };
	struct nn_batcher_setup setup = {
		.max_batch = 16, .queue = WIDE, .max_delay = -1, .workers = 1, .loops = 1
	};
	struct nn_batcher *b = NULL;
	struct nn_lane *lane, *heavy;
	struct request wide = { .times = 0 }, held = { .times = 0 };
	float *in = calloc(WIDE, IN * sizeof *in), *out = calloc(WIDE, 3 * sizeof *out);
	bool there;

	nn_batcher_open(&b, &setup, NULL);
	lane = open_lane(b, model, false);
	heavy = open_lane(b, model, false);
	make_heavy(heavy);
	sem_init(&is_held, 0, 0);
	sem_init(&may_go, 0, 0);
	sem_init(&wide.told, 0, 0);
	sem_init(&held.told, 0, 0);
	held.job = (struct nn_job){ .lane = heavy,
				    .rows = 1,
				    .in = rows,
				    .out = held.out,
				    .deadline = INFINITY,
				    .done = hold };
	nn_batcher_put(b, &held.job);
	nn_batcher_round(b, 0);
	sem_wait(&is_held);
	wide.job = (struct nn_job){
		.lane = lane, .rows = WIDE, .in = in, .out = out, .deadline = INFINITY, .done = told
	};
	nn_batcher_put(b, &wide.job);
	nn_batcher_round(b, 0);
	there = sem_trywait(&wide.told) == 0;
	sem_post(&may_go);
	if (!there)
		sem_wait(&wide.told);
	ok(!there && wide.job.state == NN_JOB_DONE,
	   "batch: a wide request of cheap rows does not keep the loop that read it");
	sem_wait(&held.told);
	free(in);
	free(out);
	nn_lane_close(heavy);
	nn_lane_close(lane);
	nn_batcher_close(b);
}

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
	struct nn_model *model = serve_model(CLASSIFIER, NULL, CLASSES, NULL);
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
	ok(explains(lane,
		    "mean batch 1.00 of 16: 100 % dispatched idle; 1 client was connected, "
		    "so at most 1 request could wait; a batch has the requests of all of them"),
	   "batch: a single client is said to be the bound");
	nn_batcher_clients(b, 2);
	for (int i = 0; i < 200; i++)
		answer(b, lane, 1);
	ok(explains(lane, "2 clients were connected, so at most 2 requests could wait; nobody else "
			  "comes before there are answers"),
	   "batch: a second client that never comes is said not to come");
	nn_batcher_clients(b, 7);
	answer(b, lane, 1);
	nn_batcher_clients(b, 1);
	ok(explains(lane, "7 clients were connected, so at most 7 requests could wait"),
	   "batch: clients are those there were, whoever asks why");
	for (int i = 0; i < 100; i++)
		answer(b, lane, 4);
	for (int i = 0; i < 97; i++)
		answer(b, lane, 1);
	ok(explains(lane, "a request has 1.8 rows"),
	   "batch: rows of a request are the mean since the start");
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
		known = nn_costs_know(&lane->places[0].costs, 16);
		pthread_mutex_unlock(&b->lock);
	}
	ok(nn_lane_cost(lane, 16) > 0 && nn_lane_cost(lane, 1) > 0,
	   "batch: an idle worker measures what batches cost");
	nn_batcher_close(b);
}

int main(void)
{
	struct nn_model *model;

	fill_rows();
	model = serve_model(CLASSIFIER, NULL, CLASSES, NULL);
	if (!ok(model != NULL, "batch: a model opens"))
		return tap_done();
	queue_is_bounded(model);
	late_rows_are_dropped(model);
	nobody_is_forgotten(model);
	full_batches_go(model);
	wide_ones_are_for_workers(model);
	chains_go_on(model);
	lanes_take_turns(model);
	null_answers();
	sentences_are_true(model);
	costs_are_measured(model);
	nn_model_close(model);
	return tap_done();
}
