/*
 * The queue of the device of the tests: it does nothing before somebody waits, and copies insist on
 * pinned memory of the host.
 */
#include <stdlib.h>
#include <string.h>

#include "apart-inside.h"
#include "base/clock.h"
#include "base/memory.h"

/* ---- the queue ---- */

struct job {
	struct job *next;
	void (*run)(struct nn_apart_queue *queue, void *what);
	max_align_t what[];
};

struct nn_recording {
	struct nn_apart_jobs jobs;
};

static void tell(char what, const struct nn_queue *queue)
{
	if (nn_apart.asked)
		nn_apart.asked(what, queue);
}

static void *ask(struct nn_queue *queue, void (*run)(struct nn_apart_queue *queue, void *what),
		 size_t bytes)
{
	struct nn_apart_queue *q = (struct nn_apart_queue *)queue;
	struct nn_apart_jobs *jobs = q->recording ? &q->recording->jobs : &q->jobs;
	struct job *job = calloc(1, sizeof *job + bytes);

	if (!job)
		nn_apart_stop("no memory for work");
	job->run = run;
	*jobs->end = job;
	jobs->end = &job->next;
	q->asked += !q->recording;
	return job->what;
}

void *nn_apart_ask(struct nn_queue *queue, void (*run)(struct nn_apart_queue *queue, void *what),
		   size_t bytes)
{
	tell('K', queue);
	return ask(queue, run, bytes);
}

static void run_until(struct nn_apart_queue *q, uint64_t number)
{
	while (q->done < number && q->jobs.first) {
		struct job *job = q->jobs.first;

		q->jobs.first = job->next;
		if (!job->next)
			q->jobs.end = &q->jobs.first;
		q->done++;
		job->run(q, job->what);
		free(job);
	}
}

static struct nn_queue *queue_open(const struct nn_device *device, struct nn_error *err)
{
	struct nn_apart_queue *q = nn_apart_map(err) < 0 ? NULL : nn_alloc(1, sizeof *q, err);

	if (!q)
		return NULL;
	q->head.remote = device->remote;
	q->cpu = device->host;
	q->jobs.end = &q->jobs.first;
	return &q->head;
}

static void queue_close(struct nn_queue *queue)
{
	struct nn_apart_queue *q = (struct nn_apart_queue *)queue;

	run_until(q, q->asked);
	nn_free(q);
}

static int run_and_tell(struct nn_apart_queue *q, uint64_t number, struct nn_error *err)
{
	const char *failed;

	if (q->recording)
		nn_apart_stop("a wait while work is being noted");
	run_until(q, number);
	failed = q->failed;
	q->failed = NULL;
	return failed ? nn_fail(err, NN_EFAIL, "device cuda: %s failed", failed) : 0;
}

static int queue_wait(struct nn_queue *queue, struct nn_error *err)
{
	struct nn_apart_queue *q = (struct nn_apart_queue *)queue;

	tell('W', queue);
	return run_and_tell(q, q->asked, err);
}

static void queue_mark(struct nn_queue *queue, int which)
{
	struct nn_apart_queue *q = (struct nn_apart_queue *)queue;

	if (q->recording)
		nn_apart_stop("a mark while work is being noted");
	tell('M', queue);
	q->marks[which] = q->asked;
}

static int queue_reach(struct nn_queue *queue, int which, struct nn_error *err)
{
	struct nn_apart_queue *q = (struct nn_apart_queue *)queue;

	tell('P', queue);
	return run_and_tell(q, q->marks[which], err);
}

static void run_moment(struct nn_apart_queue *q, void *what)
{
	q->moments[*(const int *)what] = nn_now_s();
}

static void queue_moment(struct nn_queue *queue, int which)
{
	*(int *)ask(queue, run_moment, sizeof which) = which;
}

static double queue_between(struct nn_queue *queue, int from, int to)
{
	const struct nn_apart_queue *q = (const struct nn_apart_queue *)queue;

	return q->moments[to] - q->moments[from];
}

struct event {
	struct nn_apart_queue *other;
	uint64_t number;
};

static void run_event(struct nn_apart_queue *q, void *what)
{
	const struct event *e = what;

	(void)q;
	run_until(e->other, e->number);
}

static void queue_after(struct nn_queue *queue, struct nn_queue *other)
{
	struct event *e = ask(queue, run_event, sizeof *e);

	if (((struct nn_apart_queue *)queue)->recording)
		nn_apart_stop("another queue is waited for while work is being noted");
	tell('A', queue);
	e->other = (struct nn_apart_queue *)other;
	e->number = e->other->asked;
}

/* ---- memory ---- */

/* Bytes of NN_APART_ROOM, that a device may be small. */
static int room(const struct nn_device *device, size_t *bytes, struct nn_error *err)
{
	const char *text = getenv("NN_APART_ROOM");

	(void)device;
	(void)err;
	*bytes = text ? strtoull(text, NULL, 10) : NN_APART_MEMORY;
	return 0;
}

static void *take(struct nn_queue *queue, struct nn_apart_region *region, size_t bytes,
		  struct nn_error *err)
{
	if (((struct nn_apart_queue *)queue)->recording)
		nn_apart_stop("memory is taken while work is being noted");
	return nn_apart_take(region, bytes, err);
}

static void *memory_alloc(struct nn_queue *queue, size_t bytes, struct nn_error *err)
{
	return take(queue, &nn_apart_there, bytes, err);
}

static void *pinned_alloc(struct nn_queue *queue, size_t bytes, struct nn_error *err)
{
	return take(queue, &nn_apart_pinned, bytes, err);
}

static void run_close(struct nn_apart_queue *q, void *what)
{
	(void)q;
	nn_apart_close(what);
}

/* What was asked for before may still use it. */
static void give(struct nn_queue *queue, struct nn_apart_region *region, void *memory)
{
	struct nn_apart_block block = nn_apart_give(region, memory);

	if (((struct nn_apart_queue *)queue)->recording)
		nn_apart_stop("memory is freed while work is being noted");
	*(struct nn_apart_block *)ask(queue, run_close, sizeof block) = block;
}

static void memory_free(struct nn_queue *queue, void *memory)
{
	give(queue, &nn_apart_there, memory);
}

static void pinned_free(struct nn_queue *queue, void *memory)
{
	give(queue, &nn_apart_pinned, memory);
}

struct copy {
	void *to;
	const void *from;
	size_t bytes;
};

static void run_copy(struct nn_apart_queue *q, void *what)
{
	const struct copy *c = what;

	(void)q;
	if (c->from)
		memcpy(c->to, c->from, c->bytes);
	else
		memset(c->to, 0, c->bytes);
}

static void ask_copy(struct nn_queue *queue, void *to, const void *from, size_t bytes)
{
	if (bytes)
		*(struct copy *)ask(queue, run_copy, sizeof(struct copy)) =
			(struct copy){ to, from, bytes };
}

static void copy_in(struct nn_queue *queue, void *to, const void *from, size_t bytes)
{
	nn_apart_check_pinned(from, bytes);
	tell('I', queue);
	ask_copy(queue, bytes ? nn_apart_at(to) : NULL, from, bytes);
}

static void copy_out(struct nn_queue *queue, void *to, const void *from, size_t bytes)
{
	nn_apart_check_pinned(to, bytes);
	tell('O', queue);
	ask_copy(queue, to, bytes ? nn_apart_at(from) : NULL, bytes);
}

static void copy(struct nn_queue *queue, void *to, const void *from, size_t bytes)
{
	tell('K', queue);
	ask_copy(queue, bytes ? nn_apart_at(to) : NULL, bytes ? nn_apart_at(from) : NULL, bytes);
}

struct copy_lines {
	char *to;
	const char *from;
	size_t to_line, from_line, bytes, lines;
};

static void run_copy_lines(struct nn_apart_queue *q, void *what)
{
	const struct copy_lines *c = what;

	(void)q;
	for (size_t i = 0; i < c->lines; i++)
		memcpy(c->to + i * c->to_line, c->from + i * c->from_line, c->bytes);
}

static void copy_lines(struct nn_queue *queue, void *to, size_t to_line, const void *from,
		       size_t from_line, size_t bytes, size_t lines)
{
	if (bytes && lines)
		*(struct copy_lines *)nn_apart_ask(queue, run_copy_lines,
						   sizeof(struct copy_lines)) = (struct copy_lines){
			nn_apart_at(to), nn_apart_at(from), to_line, from_line, bytes, lines
		};
}

static void clear(struct nn_queue *queue, void *memory, size_t bytes)
{
	tell('K', queue);
	ask_copy(queue, bytes ? nn_apart_at(memory) : NULL, NULL, bytes);
}

struct gather {
	char *to;
	const char *from;
	const uint32_t *rows;
	size_t bytes, n;
};

static void run_gather(struct nn_apart_queue *q, void *what)
{
	const struct gather *g = what;

	(void)q;
	for (size_t i = 0; i < g->n; i++)
		memcpy(g->to + i * g->bytes, g->from + g->rows[i] * g->bytes, g->bytes);
}

static void gather(struct nn_queue *queue, void *to, const void *from, const uint32_t *rows,
		   size_t bytes, size_t n)
{
	if (bytes && n)
		*(struct gather *)nn_apart_ask(queue, run_gather, sizeof(struct gather)) =
			(struct gather){ nn_apart_at(to), nn_apart_at(from), nn_apart_at(rows), bytes,
					 n };
}

/* ---- what the device can do ---- */

#define FMA_ROUNDS 256 /* of the CPU's kernel to one of ours */

struct peak {
	const struct nn_device *cpu;
	const void *memory; /* NULL: multiply-adds */
	size_t bytes, rounds;
};

static void run_peak(struct nn_apart_queue *q, void *what)
{
	const struct peak *p = what;

	(void)q;
	for (size_t i = 0; i < p->rounds; i++)
		if (p->memory)
			p->cpu->read(p->memory, p->bytes);
		else
			p->cpu->fma(FMA_ROUNDS);
}

static double fma_peak(const struct nn_device *device, struct nn_queue *queue, size_t rounds)
{
	struct peak *p = nn_apart_ask(queue, run_peak, sizeof *p);

	*p = (struct peak){ .cpu = device->host, .rounds = rounds };
	return device->host->fma(FMA_ROUNDS) * (double)rounds;
}

static void read_peak(struct nn_queue *queue, const void *memory, size_t bytes, size_t rounds)
{
	const struct nn_apart_queue *q = (const struct nn_apart_queue *)queue;
	struct peak *p = nn_apart_ask(queue, run_peak, sizeof *p);

	*p = (struct peak){ q->cpu, nn_apart_at(memory), bytes / 1024 * 1024, rounds };
}

/* ---- work that is noted ---- */

static int record(struct nn_queue *queue, struct nn_error *err)
{
	struct nn_apart_queue *q = (struct nn_apart_queue *)queue;

	if (!(q->recording = nn_alloc(1, sizeof *q->recording, err)))
		return -1;
	q->recording->jobs.end = &q->recording->jobs.first;
	return 0;
}

static struct nn_recording *recorded(struct nn_queue *queue, struct nn_error *err)
{
	struct nn_apart_queue *q = (struct nn_apart_queue *)queue;
	struct nn_recording *recording = q->recording;

	(void)err;
	q->recording = NULL;
	return recording;
}

static void run_recording(struct nn_apart_queue *q, void *what)
{
	const struct nn_recording *recording = *(const struct nn_recording **)what;

	for (struct job *job = recording->jobs.first; job; job = job->next)
		job->run(q, job->what);
}

static void replay(struct nn_queue *queue, const struct nn_recording *recording)
{
	tell('R', queue);
	*(const struct nn_recording **)ask(queue, run_recording, sizeof(void *)) = recording;
}

static void forget(struct nn_recording *recording)
{
	while (recording && recording->jobs.first) {
		struct job *job = recording->jobs.first;

		recording->jobs.first = job->next;
		free(job);
	}
	nn_free(recording);
}

const struct nn_remote nn_apart_remote = {
	.room = room,
	.open = queue_open,
	.close = queue_close,
	.alloc = memory_alloc,
	.free = memory_free,
	.alloc_host = pinned_alloc,
	.free_host = pinned_free,
	.copy_in = copy_in,
	.copy_out = copy_out,
	.copy = copy,
	.copy_lines = copy_lines,
	.clear = clear,
	.after = queue_after,
	.wait = queue_wait,
	.mark = queue_mark,
	.reach = queue_reach,
	.moment = queue_moment,
	.between = queue_between,
	.gather = gather,
	.fma = fma_peak,
	.read = read_peak,
	.record = record,
	.recorded = recorded,
	.replay = replay,
	.forget = forget,
};
