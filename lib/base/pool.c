/* Threads that claim pieces: one job at a time, announced by a generation counter that idle threads spin and then sleep on. */
#include "config.h"
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/pool.h"

#define SPIN_S 20e-6

struct nn_pool {
	int threads;
	pthread_t *workers;          /* threads - 1 */
	int started;

	void (*piece)(void *arg, size_t i, int thread);
	void *arg;
	size_t pieces;

	_Alignas(64) atomic_size_t next;             /* piece to be claimed */
	_Alignas(64) _Atomic unsigned generation;    /* jobs announced so far; its futex wakes workers */
	_Alignas(64) _Atomic unsigned working;       /* workers that have not finished the job; its futex wakes the caller */
	_Atomic unsigned asleep;                     /* workers in the futex */
	_Atomic bool caller_asleep, quit;
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

/* Spin until *word differs from value; false when it has not within SPIN_S. */
static bool spin(_Atomic unsigned *word, unsigned value)
{
	double end = 0;

	for (unsigned turn = 1; atomic_load_explicit(word, memory_order_acquire) == value; turn++) {
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

static void *work(void *argument)
{
	struct worker me = *(struct worker *)argument;
	struct nn_pool *pool = me.pool;
	unsigned seen = 0;

	nn_free(argument);
	for (;;) {
		while (!spin(&pool->generation, seen)) {
			atomic_fetch_add(&pool->asleep, 1);
			if (atomic_load(&pool->generation) == seen)
				sleep_on(&pool->generation, seen);
			atomic_fetch_sub(&pool->asleep, 1);
		}
		seen = atomic_load(&pool->generation);
		if (atomic_load(&pool->quit))
			return NULL;
		claim(pool, me.thread);
		if (atomic_fetch_sub(&pool->working, 1) == 1 && atomic_load(&pool->caller_asleep))
			wake(&pool->working, 1);
	}
}

static void announce(struct nn_pool *pool)
{
	atomic_fetch_add(&pool->generation, 1);
	if (atomic_load(&pool->asleep))
		wake(&pool->generation, pool->threads);
}

static void wait_for_workers(struct nn_pool *pool)
{
	unsigned left;

	while ((left = atomic_load(&pool->working)) > 0) {
		if (spin(&pool->working, left))
			continue;
		atomic_store(&pool->caller_asleep, true);
		left = atomic_load(&pool->working);
		if (left > 0)
			sleep_on(&pool->working, left);
		atomic_store(&pool->caller_asleep, false);
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
	atomic_store(&pool->working, (unsigned)pool->started);
	announce(pool);
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
	atomic_store(&pool->quit, true);
	announce(pool);
	for (int t = 0; t < pool->started; t++)
		pthread_join(pool->workers[t], NULL);
	nn_free(pool->workers);
	nn_free(pool);
}

int nn_pool_threads(const struct nn_pool *pool)
{
	return pool ? pool->threads : 1;
}
