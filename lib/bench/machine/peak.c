/*
 * Peaks, always by the real clock: the best of many short runs, because what disturbs a run only
 * makes it slower.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "bench/machine/peak-inside.h"

#define RUN_S 0.002 /* of a run: long against starting threads, short against whatever disturbs */
#define FEWEST 3    /* runs, however little time there is */

static double seconds_of(const struct nn_peak_run *run)
{
	double start = nn_now_s();

	nn_pool_run(run->pool, (size_t)nn_pool_threads(run->pool), run->piece, run->arg);
	return nn_now_s() - start;
}

double nn_peak_best(const struct nn_bench *b, const struct nn_peak_run *run, double seconds)
{
	double threads = nn_pool_threads(run->pool), best = 0, end = nn_now_s() + seconds, taken;

	*run->rounds = 1;
	while ((taken = seconds_of(run)) < RUN_S && *run->rounds < (size_t)1 << 40)
		*run->rounds *= taken > RUN_S / 8 ? 2 : 8;
	for (int i = 0; (i < FEWEST || nn_now_s() < end) && !nn_bench_stopped(b); i++) {
		taken = seconds_of(run);
		best = fmax(best, threads * run->amount * (double)*run->rounds / taken);
	}
	return best;
}

/* ---- multiply-adds ---- */

struct fma {
	const struct nn_device *device;
	size_t rounds;
};

#define ROUNDS 256 /* of the kernel's own loop */

static void fma_piece(void *arg, size_t i, int thread)
{
	const struct fma *f = arg;

	(void)i;
	(void)thread;
	f->device->fma(ROUNDS * f->rounds);
}

double nn_peak_fma(const struct nn_bench *b, const struct nn_device *device, struct nn_pool *pool,
		   double seconds)
{
	struct fma f = { device, 1 };
	struct nn_peak_run run = { pool, fma_piece, &f, 0, &f.rounds };

	if (!device->fma)
		return NAN;
	run.amount = device->fma(ROUNDS);
	return nn_peak_best(b, &run, seconds);
}

/* ---- memory ---- */

struct memory {
	const struct nn_device *device;
	enum nn_peak_memory what;
	unsigned char *bytes;
	size_t part, rounds;
};

static void memory_piece(void *arg, size_t i, int thread)
{
	struct memory *m = arg;
	unsigned char *part = m->bytes + i * m->part;

	(void)thread;
	for (size_t round = 0; round < m->rounds; round++) {
		if (m->what == NN_PEAK_READ)
			m->device->read(part, m->part);
		else if (m->what == NN_PEAK_WRITE)
			memset(part, (int)(round % 255) + 1, m->part);
		else
			memcpy(part + (round % 2 ? 0 : m->part / 2),
			       part + (round % 2 ? m->part / 2 : 0), m->part / 2);
		/* What was written counts as needed. */
		__asm__ volatile("" : : "r"(part) : "memory");
	}
}

/* Bytes of a thread: whole pieces, half of which a copy takes. */
static size_t part_of(size_t bytes, int threads)
{
	size_t part = bytes / (size_t)threads / 2048 * 2048;

	return part > 0 ? part : 2048;
}

double nn_peak_memory(const struct nn_bench *b, enum nn_peak_memory what, void *memory,
		      size_t bytes, const struct nn_device *device, struct nn_pool *pool,
		      double seconds)
{
	struct memory m = { .device = device,
			    .what = what,
			    .bytes = memory,
			    .part = part_of(bytes, nn_pool_threads(pool)),
			    .rounds = 1 };
	struct nn_peak_run run = { pool, memory_piece, &m, (double)m.part, &m.rounds };

	return what == NN_PEAK_READ && !device->read ? NAN : nn_peak_best(b, &run, seconds);
}

void *nn_peak_room(const struct nn_bench *b, size_t bytes, struct nn_error *err)
{
	size_t room = (size_t)b->threads * part_of(bytes, b->threads);
	void *memory;

	room = room > bytes ? room : bytes;
	if ((memory = nn_alloc(room, 1, err)))
		memset(memory, 0, room); /* not the one page of zeros */
	return memory;
}

size_t nn_peak_far_bytes(void)
{
	size_t cache = nn_machine_cache(3), far = 4 * (cache ? cache : (size_t)32 << 20),
	       most = nn_memory_available() / 4;

	far = far > NN_PEAK_FAR ? NN_PEAK_FAR : far;
	return far < most ? far : most;
}
