/* Threads that claim pieces: a job is open for a while in one word that idle threads spin and then sleep on. */
#include "config.h"
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/pool.h"

#define SPIN_S 20e-6

/*
 * The word `state`: how many workers are in the job, whether more may join, whether the pool ends. A job is closed as soon as all its
 * pieces are claimed, and the caller waits for those inside alone: nobody waits for a worker that wakes late or has no processor.
 */
#define INSIDE 0xffffu
#define OPEN 0x10000u
#define QUIT 0x20000u

struct nn_pool {
	int threads;
	int started;
	pthread_t *workers;          /* threads - 1 */

	void (*piece)(void *arg, size_t i, int thread);
	void *arg;
	size_t pieces;

	_Alignas(64) atomic_size_t next;             /* piece to be claimed */
	_Alignas(64) _Atomic unsigned state;         /* idle workers sleep on it */
	_Alignas(64) _Atomic unsigned asleep;        /* workers that do, or are about to */
	_Atomic unsigned caller_asleep;              /* 1: the caller sleeps on this word */
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

static inline void pause_cpu(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#endif
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

	for (unsigned turn = 1; !wanted(atomic_load_explicit(state, memory_order_acquire)); turn++) {
		pause_cpu();
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

static void claim(struct nn_pool *pool, int thread)
{
	size_t i;

	while ((i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed)) < pool->pieces)
		pool->piece(pool->arg, i, thread);
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
		/* Counted as asleep first, looked at the word then; announce does both the other way round. */
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

void nn_pool_run(struct nn_pool *pool, size_t pieces, void (*piece)(void *arg, size_t i, int thread), void *arg)
{
	if (!pool || pieces <= 1) {
		for (size_t i = 0; i < pieces; i++)
			piece(arg, i, 0);
		return;
	}
	pool->piece = piece;
	pool->arg = arg;
	pool->pieces = pieces;
	atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
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
			return nn_fail(err, NN_EFAIL, "cannot start thread %d of %d", t + 1, pool->threads);
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
	if (start(p, err) < 0) {
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
	nn_free(pool);
}

int nn_pool_threads(const struct nn_pool *pool)
{
	return pool ? pool->threads : 1;
}
