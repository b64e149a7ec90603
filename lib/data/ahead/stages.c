/*
 * Threads, queues and the clock of stages. A queue is a list in the order in which work was put:
 * of a stage's threads the first `target` may take from it, and the others sleep. A thread is
 * started when it is first wanted and stays until the end.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"
#include "data/ahead/stages.h"

#define MOST_WORKERS 64
#define MOST_WAITING 16 /* threads of a stage that waits for a disk */
#define STACK_BYTES ((size_t)1 << 20)
/* More than is wanted: what a row takes is not the same for all. */
#define SPARE 1.15
/* Of a stage's time that is measured what was new counts. */
#define NEW_SHARE 0.3

struct stage;

struct worker {
	struct stage *stage;
	int number;
	pthread_t thread;
};

struct stage {
	struct nn_stages *all;
	const struct nn_stage *does;
	struct nn_stage_work *first, *last; /* its queue */
	size_t queued;                      /* rows in it */
	pthread_cond_t filled;
	struct worker worker[MOST_WORKERS];
	int workers, started, most; /* workers: those that may take */
	int working;
	/* sums */
	uint64_t rows;
	double busy_s, worker_s, queue_s; /* queue_s: rows times seconds */
	double row_s, since_busy_s;       /* row_s: in the mean of late */
	uint64_t since_rows;
};

struct nn_stages {
	const struct nn_source *source;
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool quit, dropping;
	double began_s, looked_s; /* looked_s: when the sums were last brought up to date */
	size_t n;
	struct stage stage[];
};

/* ---- queues; all with the lock held ---- */

/* Sums that grow with time. */
static void tick(struct nn_stages *s)
{
	double now = nn_now_s(), passed = now - s->looked_s;

	for (size_t i = 0; i < s->n; i++) {
		s->stage[i].worker_s += passed * s->stage[i].workers;
		s->stage[i].queue_s += passed * (double)s->stage[i].queued;
	}
	s->looked_s = now;
}

static void push(struct stage *stage, struct nn_stage_work *work)
{
	work->next = NULL;
	if (stage->last)
		stage->last->next = work;
	else
		stage->first = work;
	stage->last = work;
	stage->queued += work->rows.n;
	/* whoever wakes may be one that is not to work: all look */
	pthread_cond_broadcast(&stage->filled);
}

static struct nn_stage_work *pop(struct stage *stage)
{
	struct nn_stage_work *work = stage->first;

	stage->first = work->next;
	if (!stage->first)
		stage->last = NULL;
	stage->queued -= work->rows.n;
	return work;
}

static void finish(struct nn_stages *s, struct nn_stage_work *work)
{
	if (--*work->left == 0 || s->dropping)
		pthread_cond_broadcast(&s->done);
}

/* ---- threads ---- */

static void count(struct stage *stage, const struct nn_stage_work *work, double seconds)
{
	stage->busy_s += seconds;
	stage->since_busy_s += seconds;
	stage->rows += work->rows.n;
	stage->since_rows += work->rows.n;
}

static void *run(void *arg)
{
	const struct worker *me = arg;
	struct stage *stage = me->stage;
	struct nn_stages *s = stage->all;
	bool is_last = stage == &s->stage[s->n - 1];

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct nn_stage_work *work;
		double start;

		while (!s->quit && (!stage->first || me->number >= stage->workers))
			pthread_cond_wait(&stage->filled, &s->lock);
		if (s->quit)
			break;
		tick(s);
		work = pop(stage);
		stage->working++;
		pthread_mutex_unlock(&s->lock);
		start = nn_now_s();
		work->failed = stage->does->run(s->source->data, &work->rows, &work->error) < 0;
		start = nn_now_s() - start;
		pthread_mutex_lock(&s->lock);
		stage->working--;
		tick(s);
		count(stage, work, start);
		if (is_last || work->failed || s->dropping)
			finish(s, work);
		else
			push(stage + 1, work);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Started threads are as many as may work; with the lock held. */
static int start(struct stage *stage, struct nn_error *err)
{
	while (stage->started < stage->workers) {
		struct worker *w = &stage->worker[stage->started];

		*w = (struct worker){ .stage = stage, .number = stage->started };
		if (nn_thread_start(&w->thread, STACK_BYTES, run, w, "a thread that reads input",
				    err) < 0)
			return -1;
		stage->started++;
	}
	return 0;
}

/* ---- from outside ---- */

int nn_stages_new(struct nn_stages **stages, const struct nn_source *source, int threads,
		  struct nn_error *err)
{
	const struct nn_source_stages *does = source->ops->stages;
	struct nn_stages *s = nn_alloc(1, sizeof *s + does->n * sizeof *s->stage, err);

	if (!s)
		return -1;
	s->source = source;
	s->n = does->n;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->done, NULL);
	threads = threads < 1 ? 1 : threads > MOST_WORKERS ? MOST_WORKERS : threads;
	for (size_t i = 0; i < s->n; i++) {
		struct stage *stage = &s->stage[i];

		stage->all = s;
		stage->does = &does->stage[i];
		stage->workers = 1;
		stage->most = stage->does->waits && threads < MOST_WAITING ? MOST_WAITING : threads;
		stage->row_s = NAN;
		pthread_cond_init(&stage->filled, NULL);
	}
	s->began_s = s->looked_s = nn_now_s();
	*stages = s;
	return 0;
}

void nn_stages_free(struct nn_stages *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->quit = true;
	for (size_t i = 0; i < s->n; i++)
		pthread_cond_broadcast(&s->stage[i].filled);
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < s->n; i++) {
		for (int t = 0; t < s->stage[i].started; t++)
			pthread_join(s->stage[i].worker[t].thread, NULL);
		pthread_cond_destroy(&s->stage[i].filled);
	}
	pthread_cond_destroy(&s->done);
	pthread_mutex_destroy(&s->lock);
	nn_free(s);
}

int nn_stages_put(struct nn_stages *s, struct nn_stage_work *work, size_t n, size_t *left,
		  struct nn_error *err)
{
	int status = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n && status == 0; i++)
		status = start(&s->stage[i], err);
	tick(s);
	*left = status == 0 ? n : 0;
	for (size_t i = 0; i < *left; i++) {
		work[i].left = left;
		work[i].failed = false;
		push(&s->stage[0], &work[i]);
	}
	pthread_mutex_unlock(&s->lock);
	return status;
}

static bool is_idle(const struct nn_stages *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->stage[i].first || s->stage[i].working)
			return false;
	return true;
}

void nn_stages_drop(struct nn_stages *s)
{
	pthread_mutex_lock(&s->lock);
	tick(s);
	s->dropping = true;
	while (!is_idle(s)) {
		for (size_t i = 0; i < s->n; i++)
			while (s->stage[i].first)
				finish(s, pop(&s->stage[i]));
		if (!is_idle(s))
			pthread_cond_wait(&s->done, &s->lock);
	}
	s->dropping = false;
	pthread_mutex_unlock(&s->lock);
}

bool nn_stages_wait(struct nn_stages *s, const size_t *left, double most_s)
{
	struct timespec until;
	bool done;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(most_s * 1e9);
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&s->lock);
	while (*left > 0 && pthread_cond_timedwait(&s->done, &s->lock, &until) != ETIMEDOUT)
		;
	done = *left == 0;
	pthread_mutex_unlock(&s->lock);
	return done;
}

/* What a row took of late; rows a second that the stage can give at most, NAN: not known. */
static double measure(struct stage *stage)
{
	double row_s = stage->since_busy_s / (double)stage->since_rows;

	if (stage->since_rows > 0)
		stage->row_s = isnan(stage->row_s)
				       ? row_s
				       : stage->row_s + NEW_SHARE * (row_s - stage->row_s);
	stage->since_rows = 0;
	stage->since_busy_s = 0;
	return stage->row_s > 0 ? stage->most / stage->row_s : NAN;
}

/* A stage that has one worker too many keeps it unless the others would have time to spare. */
static int workers_for(const struct stage *stage, double wanted)
{
	double need = wanted * stage->row_s * SPARE;

	if (wanted <= 0)
		return stage->first && stage->workers < stage->most ? stage->workers + 1
								    : stage->workers;
	if (isnan(need))
		return stage->workers;
	if (need >= stage->most)
		return stage->most;
	if (need < stage->workers && need * SPARE > stage->workers - 1)
		return stage->workers;
	return need < 1 ? 1 : (int)ceil(need);
}

int nn_stages_resize(struct nn_stages *s, double wanted, struct nn_error *err)
{
	int status = 0;

	pthread_mutex_lock(&s->lock);
	tick(s);
	for (size_t i = 0; i < s->n; i++) {
		double most = measure(&s->stage[i]);

		/* more than the slowest can give need not be read for it */
		wanted = most < wanted ? most : wanted;
	}
	for (size_t i = 0; i < s->n && status == 0; i++) {
		struct stage *stage = &s->stage[i];
		int before = stage->workers;

		stage->workers = workers_for(stage, wanted);
		status = start(stage, err);
		if (stage->workers > before)
			pthread_cond_broadcast(&stage->filled);
	}
	pthread_mutex_unlock(&s->lock);
	return status;
}

size_t nn_stages_count(const struct nn_stages *s)
{
	return s->n;
}

struct nn_stage_figures nn_stages_figures(struct nn_stages *s, size_t i)
{
	const struct stage *stage = &s->stage[i];
	struct nn_stage_figures f;
	double passed;

	pthread_mutex_lock(&s->lock);
	tick(s);
	passed = s->looked_s - s->began_s;
	f = (struct nn_stage_figures){
		.name = stage->does->name,
		.workers = stage->workers,
		.most = stage->most,
		.rows = stage->rows,
		.busy = stage->worker_s > 0 ? stage->busy_s / stage->worker_s : 0,
		.queue = passed > 0 ? stage->queue_s / passed : 0,
		.row_s = stage->rows ? stage->busy_s / (double)stage->rows : NAN,
	};
	f.rows_per_s = stage->rows ? f.workers / f.row_s : NAN;
	pthread_mutex_unlock(&s->lock);
	return f;
}
