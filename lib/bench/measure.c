/*
 * Timing: one call or several in turns, until the interval of each is narrow or its time is over.
 */
#include <math.h>

#include "base/clock.h"
#include "base/median.h"
#include "base/memory.h"
#include "bench/machine/busy.h"
#include "bench/measure.h"

#define TURN_S 0.005    /* of one call before the next has its turn */
#define LEAST_S 0.25    /* of samples, however narrow the interval is */
#define GROUP_S 20e-6   /* calls shorter than half of it are timed in groups that long */
#define ROUND_S 0.01    /* of warm-up; it ends when a round is hardly faster than the one before */
#define MOST_GROUP 4096 /* calls of a sample or a round at most, should a clock stand still */
#define STANDS 64       /* samples without any time before a clock counts as standing still */
#define FEWEST 5        /* samples that give a figure */
#define MOST ((size_t)1 << 20) /* samples that are kept */
#define BLOCKS 16

static double real_now(void *arg)
{
	(void)arg;
	return nn_now_s();
}

const struct nn_clock nn_clock_real = { real_now, NULL };

/* One of the calls while it is measured. */
struct subject {
	struct nn_measure_call call;
	struct nn_measure *m;
	const struct nn_clock *clock;
	double overhead; /* seconds that asking the clock takes */
	size_t group;    /* calls of a sample */
	/* seconds of a call; single: for percentiles, samples itself where a group is one call */
	double *samples, *single;
	size_t n, room, check; /* check: when to look at the interval next */
	/* warmed_s: warm-up without the first call, which may load modules and wake devices */
	double warmed_s, sampled_s;
	/* of real time under a clock that is not the real one and has not moved yet; at most */
	double waited_s, most_s;
	/* the clock: since the beginning; not, for as long as a measurement may take */
	bool moved, stands;
	bool done;
};

static double now(const struct subject *s)
{
	return s->clock->now(s->clock->arg);
}

/* A clock that never moves would never end a measurement. */
static void watch_clock(struct subject *s, double start, double *real)
{
	double before = *real;

	*real = nn_now_s();
	s->waited_s += *real - before;
	s->moved |= now(s) > start;
	s->stands = !s->moved && s->waited_s >= s->most_s;
}

static double time_calls(struct subject *s, size_t k)
{
	bool given = s->clock != &nn_clock_real;
	double real = given ? nn_now_s() : 0, start = now(s), taken;

	for (size_t i = 0; i < k && !s->stands; i++) {
		s->call.call(s->call.arg);
		if (given && !s->moved)
			watch_clock(s, start, &real);
	}
	taken = now(s) - start - s->overhead;
	return taken > 0 ? taken : 0;
}

/* The least time between two questions. */
static double clock_overhead(const struct subject *s)
{
	double least = INFINITY;

	for (int i = 0; i < 64; i++) {
		double start = now(s), taken = now(s) - start;

		least = taken < least ? taken : least;
	}
	return least;
}

static bool stopped(const struct nn_measure_options *o)
{
	return o->stop && *o->stop;
}

/* ---- warm-up ---- */

/* Calls that take so many seconds, at least one. */
static size_t calls_of(double seconds, double once)
{
	return once * MOST_GROUP < seconds ? MOST_GROUP
	       : once < seconds            ? (size_t)(seconds / once) + 1
					   : 1;
}

/*
 * Calls until a round of them is no longer clearly faster than the round before, or a quarter of
 * the time is over.
 */
static void warm_up(struct subject *s, const struct nn_measure_options *o)
{
	double before = INFINITY, once;
	size_t k;

	s->most_s = o->seconds;
	s->overhead = clock_overhead(s);
	s->m->first_s = s->m->warmup_s = once = time_calls(s, 1);
	s->m->warmup_n = 1;
	while (!stopped(o) && !s->stands && s->warmed_s < o->seconds / 4) {
		k = calls_of(ROUND_S, once);
		if (once * (double)k > o->seconds / 4)
			k = 1;
		once = time_calls(s, k);
		s->m->warmup_s += once;
		s->warmed_s += once;
		s->m->warmup_n += k;
		once /= (double)k;
		if (once >= 0.95 * before)
			break;
		before = once;
	}
	s->group = once < GROUP_S / 2 ? calls_of(GROUP_S, once) : 1;
	s->check = FEWEST;
}

/* ---- samples ---- */

static int grow(struct subject *s, struct nn_error *err)
{
	size_t room = s->room ? 2 * s->room : 1024, old = s->room * sizeof(double),
	       bytes = room * sizeof(double);
	double *samples = nn_realloc(s->samples, old, bytes, err), *single;

	if (!samples)
		return -1;
	s->samples = samples;
	if (s->group > 1) {
		if (!(single = nn_realloc(s->single, old, bytes, err)))
			return -1;
		s->single = single;
	}
	s->room = room;
	return 0;
}

static int take_sample(struct subject *s, struct nn_error *err)
{
	double seconds;

	if (s->n == s->room && grow(s, err) < 0)
		return -1;
	seconds = time_calls(s, s->group);
	s->sampled_s += seconds;
	s->samples[s->n] = seconds / (double)s->group;
	if (s->group > 1) {
		s->single[s->n] = time_calls(s, 1);
		s->sampled_s += s->single[s->n];
	}
	s->n++;
	return 0;
}

static double mean(const double *values, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return sum / (double)n;
}

/*
 * Half the 95 % interval of the mean by Student's t over means of blocks: samples close in time are
 * not independent.
 */
static double half_interval(const double *samples, size_t n)
{
	static const double t95[BLOCKS] = {
		0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
		2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131
	};
	size_t blocks = n < BLOCKS ? n : BLOCKS, length = n / blocks;
	double block[BLOCKS], centre, squares = 0;

	for (size_t i = 0; i < blocks; i++)
		block[i] = mean(samples + (n - blocks * length) + i * length, length);
	centre = mean(block, blocks);
	for (size_t i = 0; i < blocks; i++)
		squares += (block[i] - centre) * (block[i] - centre);
	return t95[blocks - 1] * sqrt(squares / (double)(blocks - 1) / (double)blocks);
}

static void look(struct subject *s, const struct nn_measure_options *o)
{
	double share = o->interval > 0 ? o->interval : 0.02,
	       least = o->seconds / 2 < LEAST_S ? o->seconds / 2 : LEAST_S;

	if (s->stands || s->warmed_s + s->sampled_s >= o->seconds || s->n >= MOST ||
	    (s->sampled_s == 0 && s->n >= STANDS))
		s->done = true;
	if (s->n < s->check)
		return;
	s->check = s->n + 1 + s->n / 8;
	if (s->sampled_s >= least &&
	    half_interval(s->samples, s->n) <= share * mean(s->samples, s->n))
		s->done = s->m->steady = true;
}

/* ---- figures ---- */

double nn_percentile(const double *sorted, size_t n, double p)
{
	size_t i = (size_t)ceil(p * (double)n);

	return sorted[i > 0 ? i - 1 : 0];
}

/* A percentile needs some samples beyond it. */
static double percentile(const double *sorted, size_t n, double p)
{
	return (1 - p) * (double)n >= FEWEST ? nn_percentile(sorted, n, p) : NAN;
}

static void finish(struct subject *s)
{
	struct nn_measure *m = s->m;
	double *single = s->group > 1 ? s->single : s->samples;

	m->mean_s = m->ci95_s = m->least_s = m->p50_s = m->p90_s = m->p99_s = NAN;
	m->taken_s = m->warmup_s + s->sampled_s;
	if (s->n < FEWEST)
		return;
	m->n = s->n;
	m->mean_s = mean(s->samples, s->n);
	m->ci95_s = half_interval(s->samples, s->n);
	nn_sort(single, s->n);
	m->p50_s = percentile(single, s->n, 0.5);
	m->p90_s = percentile(single, s->n, 0.9);
	m->p99_s = percentile(single, s->n, 0.99);
	nn_sort(s->samples, s->n);
	m->least_s = s->samples[0];
}

/* ---- turns ---- */

static int take_turn(struct subject *s, const struct nn_measure_options *o, struct nn_error *err)
{
	double end = s->sampled_s + TURN_S;

	do {
		if (take_sample(s, err) < 0)
			return -1;
		look(s, o);
	} while (!s->done && s->sampled_s < end && !stopped(o));
	return 0;
}

static int take_turns(struct subject *subjects, size_t n, const struct nn_measure_options *o,
		      struct nn_error *err)
{
	bool more = true;

	while (more && !stopped(o)) {
		more = false;
		for (size_t i = 0; i < n && !stopped(o); i++) {
			if (!subjects[i].done && take_turn(&subjects[i], o, err) < 0)
				return -1;
			more |= !subjects[i].done;
		}
	}
	return 0;
}

int nn_measure(const struct nn_measure_options *options, const struct nn_measure_call *calls,
	       size_t n, struct nn_measure *results, struct nn_error *err)
{
	struct subject *subjects = nn_alloc(n, sizeof *subjects, err);
	struct nn_busy busy;
	double waited;
	int status;

	if (!subjects)
		return -1;
	for (size_t i = 0; i < n; i++) {
		results[i] = (struct nn_measure){ 0 };
		subjects[i].call = calls[i];
		subjects[i].m = &results[i];
		subjects[i].clock = options->clock ? options->clock : &nn_clock_real;
		warm_up(&subjects[i], options);
	}
	nn_busy_start(&busy);
	status = take_turns(subjects, n, options, err);
	waited = nn_busy_share(&busy);
	for (size_t i = 0; i < n; i++) {
		if (status == 0)
			finish(&subjects[i]);
		results[i].waited = waited;
		nn_free(subjects[i].samples);
		nn_free(subjects[i].single);
	}
	nn_free(subjects);
	return status;
}
