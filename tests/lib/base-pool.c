/*
 * The pool: every piece once, threads numbered, many small jobs, more threads than processors,
 * asleep in between.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/pool.h"
#include "tap.h"

#define PIECES 1000

struct pool_job {
	int threads;
	size_t pieces;
	size_t sum;                 /* plain: written between jobs by the caller alone */
	unsigned char done[PIECES]; /* plain: each piece belongs to one thread */
	atomic_int bad;
	atomic_int inside[64]; /* a thread number stands for one thread at a time */
	bool yield;
};

static void piece(void *arg, size_t i, int thread)
{
	struct pool_job *job = arg;

	if (i >= job->pieces || thread < 0 || thread >= job->threads) {
		atomic_fetch_add(&job->bad, 1);
		return;
	}
	if (atomic_fetch_add(&job->inside[thread], 1) != 0)
		atomic_fetch_add(&job->bad, 1);
	job->done[i]++;
	if (job->yield && i % 7 == 0)
		sched_yield();
	atomic_fetch_sub(&job->inside[thread], 1);
}

static bool run(struct nn_pool *pool, struct pool_job *job, size_t pieces)
{
	job->pieces = pieces;
	job->threads = nn_pool_threads(pool);
	memset(job->done, 0, sizeof job->done);
	nn_pool_run(pool, pieces, piece, job);
	for (size_t i = 0; i < PIECES; i++)
		if (job->done[i] != (i < pieces))
			return false;
	return atomic_load(&job->bad) == 0;
}

static void jobs(int threads, int n, bool yield)
{
	struct nn_error err = { 0 };
	struct nn_pool *pool;
	struct pool_job *job = calloc(1, sizeof *job);
	int bad = 0;

	if (!job || nn_pool_new(&pool, threads, &err) < 0) {
		ok(false, "pool: %d threads start: %s", threads, err.text);
		free(job);
		return;
	}
	job->yield = yield;
	for (int i = 0; i < n; i++)
		bad += !run(pool, job, (size_t)(i * 37 % (PIECES + 1)));
	for (int i = 0; i < n; i++)
		bad += !run(pool, job, 2 + (size_t)i % 5);
	ok(bad == 0, "pool: %d threads run every piece of %d jobs once", threads, 2 * n);
	nn_pool_free(pool);
	free(job);
}

static void sleeping(void)
{
	struct nn_pool *pool;
	struct pool_job *job = calloc(1, sizeof *job);
	struct timespec pause = { .tv_nsec = 2000000 };
	int bad = 0;

	if (!job || nn_pool_new(&pool, 4, NULL) < 0) {
		free(job);
		return;
	}
	for (int i = 0; i < 30; i++) {
		nanosleep(&pause, NULL);
		bad += !run(pool, job, 100);
	}
	ok(bad == 0, "pool: threads that fell asleep wake for the next job");
	nn_pool_free(pool);
	free(job);
}

/*
 * Two pieces that each wait until the other has begun, up to 20 s: they end well only in two
 * threads.
 */
static void meet(void *arg, size_t i, int thread)
{
	struct timespec pause = { .tv_nsec = 100000 };
	atomic_int *begun = arg;

	(void)i;
	(void)thread;
	atomic_fetch_add(begun, 1);
	for (int turn = 0; turn < 200000 && atomic_load(begun) < 2; turn++)
		nanosleep(&pause, NULL);
	if (atomic_load(begun) < 2)
		atomic_store(begun, -10);
}

static void woken(void)
{
	struct timespec pause = { .tv_nsec = 5000000 };
	struct nn_pool *pool;
	atomic_int begun = 0;

	if (nn_pool_new(&pool, 2, NULL) < 0)
		return;
	nanosleep(&pause, NULL);
	nn_pool_run(pool, 2, meet, &begun);
	ok(atomic_load(&begun) == 2, "pool: a sleeping thread takes its part");
	nn_pool_free(pool);
}

/* A piece that takes long makes the caller sleep; it is woken when the last one is done. */
static void slow_piece(void *arg, size_t i, int thread)
{
	struct timespec pause = { .tv_nsec = thread ? 3000000 : 0 };

	(void)i;
	nanosleep(&pause, NULL);
	atomic_fetch_add((atomic_int *)arg, 1);
}

static void waiting_caller(void)
{
	struct nn_pool *pool;
	atomic_int done = 0;
	int bad = 0;

	if (nn_pool_new(&pool, 3, NULL) < 0)
		return;
	for (int i = 0; i < 20; i++) {
		atomic_store(&done, 0);
		nn_pool_run(pool, 6, slow_piece, &done);
		bad += atomic_load(&done) != 6;
	}
	ok(bad == 0, "pool: the caller sleeps until slow pieces are done");
	nn_pool_free(pool);
}

static void in_order(void *arg, size_t i, int thread)
{
	size_t *next = arg;

	*next = i == *next && thread == 0 ? i + 1 : PIECES;
}

/* ---- names of processors ---- */

static bool named(const char *cpuinfo, const char *expected)
{
	char path[] = "/tmp/nn-cpuinfo.XXXXXX", name[NN_CPU_NAME];
	int fd = mkstemp(path);
	bool same = fd >= 0 && write(fd, cpuinfo, strlen(cpuinfo)) == (ssize_t)strlen(cpuinfo) &&
		    strcmp(nn_cpu_name_in(path, name), expected) == 0;

	if (fd >= 0)
		close(fd);
	unlink(path);
	if (!same)
		note("not %s: %s", expected, name);
	return same;
}

#define CORE(maker, part) \
	"processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: " maker \
	"\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: " part "\nCPU revision\t: 1\n\n"

static void names(void)
{
	ok(named("processor\t: 0\nmodel name\t: A CPU @ 2 GHz\nprocessor\t: 1\nmodel name\t: B\n",
		 "A CPU @ 2 GHz") &&
		   named(CORE("0x41", "0xd0c") CORE("0x41", "0xd0c"), "Neoverse-N1") &&
		   named(CORE("0x41", "0xd05") CORE("0x41", "0xd05") CORE("0x41", "0xd0b"),
			 "2 Cortex-A55, 1 Cortex-A76") &&
		   named(CORE("0x99", "0x123"), "Arm part 0x123 of maker 0x99") &&
		   named("", "unknown"),
	   "the processor has a name, cores of two kinds two");
}

int main(void)
{
	struct nn_pool *pool = (struct nn_pool *)&pool;
	size_t next = 0;
	char name[NN_CPU_NAME];

	ok(nn_pool_new(&pool, 1, NULL) == 0 && !pool && nn_pool_threads(NULL) == 1,
	   "pool: one thread needs no pool");
	nn_pool_run(NULL, 10, in_order, &next);
	ok(next == 10, "pool: without a pool pieces run in order in the caller's thread");
	nn_pool_free(NULL);
	jobs(2, 3000, false);
	jobs(3, 500, true);
	jobs(4, 500, false);
	jobs(17, 100, true);
	jobs(64, 20, false);
	sleeping();
	woken();
	waiting_caller();
	for (int i = 0; i < 200 && nn_pool_new(&pool, 4, NULL) == 0; i++)
		nn_pool_free(pool);
	ok(true, "pool: pools that never ran a job end");
	ok(nn_cpu_count() >= 1 && *nn_cpu_name(name), "there is a processor");
	names();
	return tap_done();
}
