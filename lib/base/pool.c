/*
 * Threads that share pieces: a job is open for a while in one word that idle threads spin and then
 * sleep on.
 */
#include "config.h"
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/flush.h"
#include "base/memory.h"
#include "base/pool.h"

#define SPIN_S 20e-6

/*
 * The word `state`: how many workers are in the job, whether more may join, whether the pool ends.
 * A job is closed as soon as all its pieces are claimed, and the caller waits for those inside
 * alone: nobody waits for a worker that wakes late or has no processor.
 */
#define INSIDE 0xffffu
#define OPEN 0x10000u
#define QUIT 0x20000u

/*
 * Pieces of a job that a thread takes from the front; one that has none left takes from the others'
 * ends. So whoever had a part of memory in its caches gets the same part in the next job, unless it
 * is late.
 */
struct share {
	_Alignas(64) _Atomic uint64_t range; /* begin << 32 | end */
};

struct nn_pool {
	int threads;
	int started;
	pthread_t *workers; /* threads - 1 */

	void (*piece)(void *arg, size_t i, int thread);
	void *arg;
	struct share *shares; /* [threads] */

	_Alignas(64) _Atomic unsigned state;  /* idle workers sleep on it */
	_Alignas(64) _Atomic unsigned asleep; /* workers that do, or are about to */
	_Atomic unsigned caller_asleep;       /* 1: the caller sleeps on this word */
};

struct worker {
	struct nn_pool *pool;
	int thread;
};

static void sleep_on(_Atomic unsigned *word, unsigned value)
{
	syscall(SYS_futex, (unsigned *)word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(_Atomic unsigned *word, int n)
{
	syscall(SYS_futex, (unsigned *)word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static bool calls(unsigned state)
{
	return (state & (OPEN | QUIT)) != 0;
}

static bool is_empty(unsigned state)
{
	return (state & INSIDE) == 0;
}

/* Spin until the word is as wanted; false when it is not within SPIN_S. */
static bool spin(_Atomic unsigned *state, bool (*wanted)(unsigned state))
{
	double end = 0;

	for (unsigned turn = 1; !wanted(atomic_load_explicit(state, memory_order_acquire));
	     turn++) {
		nn_pause();
		if (turn % 32 == 0) {
			double now = nn_now_s();

			if (end == 0)
				end = now + SPIN_S;
			else if (now > end)
				return false;
		}
	}
	return true;
}

static uint64_t range_of(uint64_t begin, uint64_t end)
{
	return begin << 32 | end;
}

/* A piece of the share, its first or its last; false: none is left. */
static bool take(struct share *share, bool first, size_t *i)
{
	uint64_t range = atomic_load_explicit(&share->range, memory_order_relaxed), begin, end;

	do {
		begin = range >> 32;
		end = range & UINT32_MAX;
		if (begin >= end)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&share->range, &range, first ? range_of(begin + 1, end) : range_of(begin, end - 1),
		memory_order_relaxed, memory_order_relaxed));
	*i = first ? begin : end - 1;
	return true;
}

static void claim(struct nn_pool *pool, int thread)
{
	size_t i;

	for (int k = 0; k < pool->threads; k++)
		while (take(&pool->shares[(thread + k) % pool->threads], k == 0, &i))
			pool->piece(pool->arg, i, thread);
}

static void deal(struct nn_pool *pool, size_t pieces)
{
	size_t threads = (size_t)pool->threads;

	for (size_t t = 0; t < threads; t++)
		atomic_store_explicit(&pool->shares[t].range,
				      range_of(pieces * t / threads, pieces * (t + 1) / threads),
				      memory_order_relaxed);
}

static bool join(struct nn_pool *pool)
{
	unsigned state = atomic_load(&pool->state);

	while (state & OPEN)
		if (atomic_compare_exchange_weak(&pool->state, &state, state + 1))
			return true;
	return false;
}

/* Whoever finds no piece left closes the job, else it would join again at once. */
static void leave(struct nn_pool *pool)
{
	unsigned state = atomic_load(&pool->state);

	while (!atomic_compare_exchange_weak(&pool->state, &state, (state & ~OPEN) - 1))
		;
	if (is_empty(state - 1) && atomic_exchange(&pool->caller_asleep, 0))
		wake(&pool->caller_asleep, 1);
}

static void wait_for_job(struct nn_pool *pool)
{
	unsigned state;

	while (!spin(&pool->state, calls)) {
		/*
		 * Counted as asleep first, looked at the word then; announce does both the other
		 * way round.
		 */
		atomic_fetch_add(&pool->asleep, 1);
		state = atomic_load(&pool->state);
		if (!calls(state))
			sleep_on(&pool->state, state);
		atomic_fetch_sub(&pool->asleep, 1);
	}
}

static void *work(void *argument)
{
	struct worker me = *(struct worker *)argument;
	struct nn_pool *pool = me.pool;

	nn_free(argument);
	nn_flush_set(true);
	for (;;) {
		wait_for_job(pool);
		if (atomic_load(&pool->state) & QUIT)
			return NULL;
		if (join(pool)) {
			claim(pool, me.thread);
			leave(pool);
		}
	}
}

static void announce(struct nn_pool *pool, unsigned state)
{
	atomic_store(&pool->state, state);
	if (atomic_load(&pool->asleep))
		wake(&pool->state, pool->threads);
}

static void wait_for_workers(struct nn_pool *pool)
{
	atomic_fetch_and(&pool->state, ~OPEN);
	while (!spin(&pool->state, is_empty)) {
		atomic_store(&pool->caller_asleep, 1);
		if (!is_empty(atomic_load(&pool->state)))
			sleep_on(&pool->caller_asleep, 1);
		atomic_store(&pool->caller_asleep, 0);
	}
}

void nn_pool_run(struct nn_pool *pool, size_t pieces,
		 void (*piece)(void *arg, size_t i, int thread), void *arg)
{
	if (!pool || pieces <= 1) {
		for (size_t i = 0; i < pieces; i++)
			piece(arg, i, 0);
		return;
	}
	pool->piece = piece;
	pool->arg = arg;
	deal(pool, pieces);
	announce(pool, OPEN);
	claim(pool, 0);
	wait_for_workers(pool);
}

static int start(struct nn_pool *pool, struct nn_error *err)
{
	pool->workers = nn_alloc((size_t)pool->threads - 1, sizeof *pool->workers, err);
	if (!pool->workers)
		return -1;
	for (int t = 1; t < pool->threads; t++) {
		struct worker *me = nn_alloc(1, sizeof *me, err);
		int status;

		if (!me)
			return -1;
		*me = (struct worker){ .pool = pool, .thread = t };
		status = pthread_create(&pool->workers[t - 1], NULL, work, me);
		if (status != 0) {
			nn_free(me);
			return nn_fail(err, NN_EFAIL, "cannot start thread %d of %d", t + 1,
				       pool->threads);
		}
		pool->started++;
	}
	return 0;
}

int nn_pool_new(struct nn_pool **pool, int threads, struct nn_error *err)
{
	struct nn_pool *p;

	*pool = NULL;
	if (threads <= 1)
		return 0;
	p = nn_alloc(1, sizeof *p, err);
	if (!p)
		return -1;
	p->threads = threads;
	p->shares = nn_alloc((size_t)threads, sizeof *p->shares, err);
	if (!p->shares || start(p, err) < 0) {
		nn_pool_free(p);
		return -1;
	}
	*pool = p;
	return 0;
}

void nn_pool_free(struct nn_pool *pool)
{
	if (!pool)
		return;
	announce(pool, QUIT);
	for (int t = 0; t < pool->started; t++)
		pthread_join(pool->workers[t], NULL);
	nn_free(pool->workers);
	nn_free(pool->shares);
	nn_free(pool);
}

int nn_pool_threads(const struct nn_pool *pool)
{
	return pool ? pool->threads : 1;
}
