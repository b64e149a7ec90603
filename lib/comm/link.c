/*
 * The link between ranks, kept as answers of base/cache.h: a point of bytes and seconds for each
 * size of gradients that was trained.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cache.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/pool.h"
#include "base/text.h"
#include "comm/comm.h"
#include "comm/link.h"

#define FILE_NAME "link"
#define POINTS 12            /* sizes four times as large each: all there are */
#define SMALL_BYTES 262144.0 /* below this a point alone tells of messages, else of bytes */
#define MOST_RANKS 64        /* other numbers of ranks that are looked for */

/* The estimate. */
#define GUESSED_MESSAGE_S 2e-5
#define MEETINGS 16     /* of threads that are timed together */
#define MEETING_S 0.002 /* while they are timed */
#define MEETING_TURNS 1000
#define MEETS 1.5 /* times for a message: three barriers go around an all-reduce, which is two */
#define COPIES 2  /* of a byte: from where another rank left it, and its sum from there */
/* two of them are touched: no more than a plan allows for code that has not run yet */
#define COPY_BYTES ((size_t)256 << 10)
#define GUESSED_COPY_BYTES_S 5e9

struct link_point {
	double bytes, seconds;
};

static double messages(int n)
{
	return 2.0 * (n - 1);
}

static double share(int n)
{
	return 2.0 * (n - 1) / n;
}

double nn_link_seconds(const struct nn_link *link, int ranks, double bytes)
{
	return messages(ranks) * link->message_s + share(ranks) * bytes * link->byte_s;
}

/* ---- what is kept ---- */

/* Pairs of positive numbers between blanks; how many there were. */
static size_t read_points(const char *text, struct link_point *points)
{
	double value[2 * POINTS];
	size_t n = 0;

	while (*text && n < 2 * POINTS) {
		size_t length = strcspn(text, " ");

		if (!nn_parse_f64(text, length, &value[n]) || !(value[n] >= 0) ||
		    !isfinite(value[n]))
			return 0;
		n++;
		text += length + (text[length] == ' ');
	}
	for (size_t i = 0; i < n / 2; i++)
		points[i] = (struct link_point){ value[2 * i], value[2 * i + 1] };
	return n / 2;
}

static size_t recall(const char *what, int ranks, struct link_point points[POINTS])
{
	char key[NN_COMM_KEY], value[NN_CACHE_VALUE];

	nn_comm_key(key, what, ranks);
	return nn_cache_get(FILE_NAME, key, value) == NN_CACHE_FOUND ? read_points(value, points)
								     : 0;
}

/* ---- the estimate ---- */

static double copy_bytes_s(void)
{
	char *room = nn_alloc(2 * COPY_BYTES, 1, NULL);
	double best = 0;

	if (!room)
		return GUESSED_COPY_BYTES_S;
	memset(room, 1, 2 * COPY_BYTES);
	for (int i = 0; i < 5; i++) {
		double start = nn_now_s(), s;

		memcpy(room + (i & 1) * COPY_BYTES, room + !(i & 1) * COPY_BYTES, COPY_BYTES);
		s = nn_now_s() - start;
		best = s > 0 && (double)COPY_BYTES / s > best ? (double)COPY_BYTES / s : best;
	}
	nn_free(room);
	return best > 0 ? best : GUESSED_COPY_BYTES_S;
}

/* Two threads wait for each other, where both are awake. */
static void meet(void *arg, size_t i, int thread)
{
	_Atomic unsigned *came = arg;
	unsigned wanted = (atomic_fetch_add(came, 1) | 1) + 1;

	(void)i;
	(void)thread;
	for (int turn = 0; turn < MEETING_TURNS && atomic_load(came) < wanted; turn++)
		nn_pause();
}

/* Ranks that see the same memory meet there as threads do. */
static double message_s(void)
{
	_Atomic unsigned came = 0;
	struct nn_pool *pool = NULL;
	double best = GUESSED_MESSAGE_S, begin = nn_now_s(), start;

	if (nn_comm_shares_memory() && nn_cpu_count() > 1 && nn_pool_new(&pool, 2, NULL) == 0)
		do {
			start = nn_now_s();
			for (int i = 0; i < MEETINGS; i++)
				nn_pool_run(pool, 2, meet, &came);
			best = fmin(best, MEETS * (nn_now_s() - start) / MEETINGS);
		} while (nn_now_s() - begin < MEETING_S);
	nn_pool_free(pool);
	return best;
}

static void estimate(struct nn_link *link)
{
	*link = (struct nn_link){ .message_s = message_s(), .byte_s = COPIES / copy_bytes_s() };
}

/* ---- the line through the points ---- */

/* Least squares of relative errors, neither part below zero. */
static void fit(const struct link_point *points, size_t n, double *alpha, double *beta)
{
	double w = 0, x = 0, y = 0, xx = 0, xy = 0, d;

	for (size_t i = 0; i < n; i++) {
		double s = points[i].seconds > 1e-9 ? points[i].seconds : 1e-9,
		       weight = 1 / (s * s);

		w += weight;
		x += weight * points[i].bytes;
		y += weight * s;
		xx += weight * points[i].bytes * points[i].bytes;
		xy += weight * points[i].bytes * s;
	}
	d = w * xx - x * x;
	*beta = d > 0 ? (w * xy - x * y) / d : 0;
	*alpha = (y - *beta * x) / w;
	if (*beta < 0) {
		*beta = 0;
		*alpha = y / w;
	} else if (*alpha < 0) {
		*alpha = 0;
		*beta = xy / xx;
	}
}

/* One point: what it does not tell is estimated. */
static void fit_one(const struct link_point *p, int ranks, double *alpha, double *beta)
{
	struct nn_link guess;

	estimate(&guess);
	if (p->bytes < SMALL_BYTES) {
		*beta = fmin(guess.byte_s * share(ranks), p->seconds / fmax(p->bytes, 1));
		*alpha = p->seconds - *beta * p->bytes;
	} else {
		*alpha = fmin(guess.message_s * messages(ranks), p->seconds);
		*beta = (p->seconds - *alpha) / p->bytes;
	}
}

static bool measured(int ranks, struct nn_link *link)
{
	struct link_point points[POINTS];
	size_t n = recall("training", ranks, points);
	double alpha, beta;

	if (n > 1) {
		fit(points, n, &alpha, &beta);
	} else if (n == 1) {
		fit_one(points, ranks, &alpha, &beta);
	} else if (recall("allreduce", ranks, points) == 1) { /* these two are alpha and beta */
		alpha = points[0].bytes;
		beta = points[0].seconds;
	} else {
		return false;
	}
	*link = (struct nn_link){ .message_s = alpha / messages(ranks),
				  .byte_s = beta / share(ranks),
				  .ranks = ranks };
	return true;
}

bool nn_link_known(int ranks, struct nn_link *link)
{
	for (int away = 0; away < MOST_RANKS; away++)
		if ((ranks - away > 1 && measured(ranks - away, link)) ||
		    (away > 0 && measured(ranks + away, link)))
			return true;
	return false;
}

void nn_link_get(int ranks, struct nn_link *link)
{
	if (!nn_link_known(ranks, link))
		estimate(link);
}

/* ---- a training that has run ---- */

static int size_class(double bytes)
{
	return (int)(log2(fmax(bytes, 1)) / 2);
}

void nn_link_put(int ranks, double bytes, double seconds)
{
	char key[NN_COMM_KEY];
	struct link_point points[POINTS];
	struct nn_text value = { 0 };
	size_t n = recall("training", ranks, points), at = 0;

	while (at < n && size_class(points[at].bytes) != size_class(bytes))
		at++;
	if (at <
	    n) { /* less is the link, more may be other work on the machine, and counts little */
		double known = points[at].seconds * bytes / fmax(points[at].bytes, 1);

		seconds = seconds < known ? seconds : (3 * known + seconds) / 4;
	} else if (n < POINTS) {
		n++;
	} else {
		at = 0;
	}
	points[at] = (struct link_point){ bytes, seconds };
	for (size_t i = 0; i < n; i++)
		nn_text_addf(&value, "%s%.6g %.6g", i ? " " : "", points[i].bytes,
			     points[i].seconds);
	nn_comm_key(key, "training", ranks);
	if (!value.failed)
		nn_cache_put(FILE_NAME, key, value.data, NULL);
	nn_text_free(&value);
}
