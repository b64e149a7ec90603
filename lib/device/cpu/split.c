/* Work cut into pieces large enough to be worth a thread's while. */
#include "device/cpu/split.h"

/* bytes that a thread goes through in the microsecond it takes to wake the others */
#define NN_LEAST 196608
#define NN_GRAIN 32768  /* bytes of memory a piece goes through at least */
#define NN_PER_THREAD 4 /* pieces for each thread at most: the late ones even out */

struct split {
	void (*run)(void *arg, size_t begin, size_t end, int thread);
	void *arg;
	size_t n, unit, units, pieces;
};

static size_t bound(const struct split *split, size_t i)
{
	size_t at =
		split->units / split->pieces * i + split->units % split->pieces * i / split->pieces;

	at *= split->unit;
	return at < split->n ? at : split->n;
}

static void piece(void *arg, size_t i, int thread)
{
	const struct split *split = arg;
	size_t begin = bound(split, i),
	       end = i + 1 == split->pieces ? split->n : bound(split, i + 1);

	if (begin < end)
		split->run(split->arg, begin, end, thread);
}

void nn_cpu_split(struct nn_pool *pool, size_t n, size_t unit, size_t bytes,
		  void (*run)(void *arg, size_t begin, size_t end, int thread), void *arg)
{
	struct split split = { run, arg, n, unit, n / unit + (n % unit != 0), 1 };
	size_t threads = (size_t)nn_pool_threads(pool), worth = n * bytes / NN_GRAIN;

	if (n == 0)
		return;
	if (threads > 1 && n * bytes >= NN_LEAST) {
		split.pieces = worth < threads * NN_PER_THREAD ? worth : threads * NN_PER_THREAD;
		if (split.pieces > split.units)
			split.pieces = split.units;
	}
	if (split.pieces == 1)
		run(arg, 0, n, 0);
	else
		nn_pool_run(pool, split.pieces, piece, &split);
}

void nn_cpu_pieces(struct nn_pool *pool, size_t pieces, size_t bytes,
		   void (*run)(void *arg, size_t i, int thread), void *arg)
{
	nn_pool_run(bytes < NN_LEAST ? NULL : pool, pieces, run, arg);
}
