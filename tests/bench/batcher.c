/*
 * The batcher without HTTP: clients in a closed circle, and requests that come at random moments,
 * with waits that are fixed and with the one it finds.
 *
 * usage: batcher closed CLIENTS|open RATE MODEL [SECONDS [LOOPS [WORKERS [THINK_US]]]]
 * A row a wait: requests/s, mean and p99 latency in us, mean batch. MODEL: small (784-128-10) or
 * large (1024-2048-2048-1000). Waits take turns, five of each, and the median is printed.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/flush.h"
#include "base/median.h"
#include "lib/serve-model.h"
#include "serve/batch/batch.h"

#define TURNS 5
#define MOST 2000000

static const double waits[] = { -1, 0, 50e-6, 100e-6, 200e-6, 500e-6, 1000e-6 };
#define N_WAITS (sizeof waits / sizeof *waits)

struct client {
	struct nn_job job;
	struct loop *loop;
	double sent; /* when it was due */
	struct client *next;
	float *out;
};

struct loop {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t told;
	struct client *free; /* answered, or not used yet */
	struct run *run;
	unsigned number;
	double *took;
	size_t n, out;
};

struct run {
	struct nn_batcher *batcher;
	struct nn_lane *lane;
	const float *in;
	double rate, end, think; /* rate 0: a closed circle */
	size_t clients;          /* of a loop */
	struct loop *loops;
	unsigned n_loops;
};

static void done(struct nn_job *job)
{
	struct client *c = (struct client *)job;
	struct loop *l = c->loop;
	double now = nn_now_s();

	pthread_mutex_lock(&l->lock);
	if (l->n < MOST)
		l->took[l->n++] = now - c->sent;
	c->sent = now + l->run->think;
	c->next = l->free;
	l->free = c;
	l->out--;
	pthread_cond_signal(&l->told);
	pthread_mutex_unlock(&l->lock);
}

/* A client that may send now: any in an open stream, in a circle one that has thought. */
static struct client *next_client(struct loop *l, double now)
{
	for (struct client **at = &l->free; *at; at = &(*at)->next)
		if (l->run->rate > 0 || (*at)->sent <= now) {
			struct client *c = *at;

			*at = c->next;
			l->out++;
			return c;
		}
	return NULL;
}

static double next_time(const struct loop *l, double due)
{
	double first = l->run->rate > 0 ? due : INFINITY;

	for (const struct client *c = l->free; c && l->run->rate == 0; c = c->next)
		first = c->sent < first ? c->sent : first;
	return first;
}

static void wait_until(struct loop *l, double time)
{
	struct timespec t;

	if (time == INFINITY) {
		pthread_cond_wait(&l->told, &l->lock);
		return;
	}
	t.tv_sec = (time_t)time;
	t.tv_nsec = (long)((time - (double)t.tv_sec) * 1e9);
	pthread_cond_timedwait(&l->told, &l->lock, &t);
}

static void *be_loop(void *arg)
{
	struct loop *l = arg;
	struct run *r = l->run;
	unsigned short random[3] = { 1, 2, (unsigned short)l->number };
	double due = nn_now_s();

	prctl(PR_SET_TIMERSLACK, 1000);
	nn_flush_set(true);
	pthread_mutex_lock(&l->lock);
	for (;;) {
		double now = nn_now_s();
		struct client *c;
		bool put = false;

		if (now > r->end)
			break;
		while ((r->rate == 0 || due <= now) && (c = next_client(l, now))) {
			pthread_mutex_unlock(&l->lock);
			c->sent = r->rate > 0 ? due : now;
			if (r->rate > 0)
				due -= log(1 - erand48(random)) / r->rate;
			put = true;
			if (!nn_batcher_put(r->batcher, &c->job))
				abort();
			pthread_mutex_lock(&l->lock);
		}
		pthread_mutex_unlock(&l->lock);
		if (put)
			nn_batcher_round(r->batcher, l->number);
		pthread_mutex_lock(&l->lock);
		if (!put)
			wait_until(l, next_time(l, l->free ? due : INFINITY));
	}
	while (l->out > 0) {
		pthread_mutex_unlock(&l->lock);
		nn_batcher_round(r->batcher, l->number);
		pthread_mutex_lock(&l->lock);
		if (l->out > 0)
			wait_until(l, nn_now_s() + 1e-3);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

static void open_loop(struct run *r, unsigned i)
{
	struct loop *l = &r->loops[i];
	pthread_condattr_t a;

	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->told, &a);
	l->run = r;
	l->number = i;
	l->took = malloc(MOST * sizeof *l->took);
	for (size_t n = 0; n < r->clients; n++) {
		struct client *c = calloc(1, sizeof *c);

		c->loop = l;
		c->out = calloc(1000, sizeof *c->out);
		c->job = (struct nn_job){ .lane = r->lane,
					  .rows = 1,
					  .in = r->in + n % 64 * 1024,
					  .out = c->out,
					  .deadline = INFINITY,
					  .loop = i,
					  .done = done };
		c->next = l->free;
		l->free = c;
	}
}

/* requests/s, mean and p99 latency in us, mean batch */
static void measure(struct run *r, double seconds, double figures[4])
{
	struct nn_lane_counts before, after;
	double *took, begin, sum = 0;
	size_t n = 0;

	for (unsigned i = 0; i < r->n_loops; i++)
		r->loops[i].n = 0;
	nn_lane_count(r->lane, &before);
	begin = nn_now_s();
	r->end = begin + seconds;
	for (unsigned i = 0; i < r->n_loops; i++)
		pthread_create(&r->loops[i].thread, NULL, be_loop, &r->loops[i]);
	for (unsigned i = 0; i < r->n_loops; i++)
		pthread_join(r->loops[i].thread, NULL);
	seconds = nn_now_s() - begin;
	nn_lane_count(r->lane, &after);
	for (unsigned i = 0; i < r->n_loops; i++)
		n += r->loops[i].n;
	took = malloc((n + 1) * sizeof *took);
	n = 0;
	for (unsigned i = 0; i < r->n_loops; i++)
		for (size_t k = 0; k < r->loops[i].n; k++)
			sum += took[n++] = r->loops[i].took[k];
	nn_sort(took, n);
	figures[0] = (double)n / seconds;
	figures[1] = sum / (double)n * 1e6;
	figures[2] = n ? took[n * 99 / 100] * 1e6 : 0;
	figures[3] = (double)(after.rows - before.rows) / (double)(after.batches - before.batches);
	free(took);
}

static double argument(int argc, char **argv, int i, double otherwise)
{
	return argc > i ? atof(argv[i]) : otherwise;
}

static struct nn_model *make_model(const char *name)
{
	return serve_model(strcmp(name, "small") == 0
				   ? "input 784, dense 128, relu, dense 10"
				   : "input 1024, dense 2048, relu, dense 2048, relu, dense 1000",
			   NULL, NULL, NULL);
}

/* A batcher with this wait, its clients, and a first turn that does not count. */
static void open_run(struct run *r, double wait, const struct nn_model *model, int argc,
		     char **argv)
{
	bool open = strcmp(argv[1], "open") == 0;
	double load = atof(argv[2]), figures[4];
	struct nn_batcher_setup setup = { .max_batch = 32, .queue = 100000, .max_delay = wait };
	const struct nn_model *const models[] = { model, NULL };
	struct nn_error err;

	r->n_loops = setup.loops = (unsigned)argument(argc, argv, 5, 1);
	setup.workers = (unsigned)argument(argc, argv, 6, 1);
	if (nn_batcher_open(&r->batcher, &setup, &err) < 0 ||
	    nn_lane_open(&r->lane, r->batcher, models, false, &err) < 0) {
		fprintf(stderr, "batcher: %s\n", err.text);
		exit(1);
	}
	r->rate = open ? load / r->n_loops : 0;
	r->clients = open ? 4096 / r->n_loops : (size_t)(load / r->n_loops);
	r->think = argument(argc, argv, 7, 20) * 1e-6;
	r->loops = calloc(r->n_loops, sizeof *r->loops);
	for (unsigned i = 0; i < r->n_loops; i++)
		open_loop(r, i);
	nn_batcher_clients(r->batcher, r->clients * r->n_loops);
	measure(r, 0.2, figures);
}

static void print(double wait, double figures[4][TURNS])
{
	for (int f = 0; f < 4; f++)
		nn_sort(figures[f], TURNS);
	printf("%8.0f us%s %10.0f /s %10.1f us %10.1f us p99 %6.2f rows\n", fmax(0, wait * 1e6),
	       wait < 0 ? " (found)" : "        ", figures[0][TURNS / 2], figures[1][TURNS / 2],
	       figures[2][TURNS / 2], figures[3][TURNS / 2]);
}

static void explain(const struct run *r)
{
	struct nn_text text = { 0 };

	nn_lane_explain(r->lane, &text);
	printf("%s; 1, 2, 4, ... 32 rows take", text.data);
	for (size_t n = 1; n <= 32; n *= 2)
		printf(" %.1f", nn_lane_cost(r->lane, n) * 1e6);
	printf(" us\n");
	nn_text_free(&text);
}

int main(int argc, char **argv)
{
	static struct run runs[N_WAITS];
	static double figures[N_WAITS][4][TURNS];
	static float in[64 * 1024];
	double four[4], seconds = argument(argc, argv, 4, 0.5);
	struct nn_model *model = argc > 3 ? make_model(argv[3]) : NULL;

	if (!model) {
		fprintf(stderr, "usage: batcher closed CLIENTS|open RATE small|large [SECONDS "
				"[LOOPS [WORKERS [THINK_US]]]]\n");
		return 2;
	}
	for (int i = 0; i < 64 * 1024; i++)
		in[i] = (float)(i * 7919 % 1000) / 1000;
	for (size_t w = 0; w < N_WAITS; w++) {
		runs[w].in = in;
		open_run(&runs[w], waits[w], model, argc, argv);
	}
	for (int t = 0; t < TURNS; t++)
		for (size_t w = 0; w < N_WAITS; w++) {
			measure(&runs[w], seconds, four);
			for (int f = 0; f < 4; f++)
				figures[w][f][t] = four[f];
		}
	for (size_t w = 0; w < N_WAITS; w++)
		print(waits[w], figures[w]);
	explain(&runs[0]);
	for (size_t w = 0; w < N_WAITS; w++)
		nn_batcher_close(runs[w].batcher);
	nn_model_close(model);
	return 0;
}
