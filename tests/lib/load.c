/* What nn-bench load is made of: answers in any pieces, arrival times, percentiles, the search. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "bench/load/answer.h"
#include "bench/load/arrivals.h"
#include "bench/load/latency.h"
#include "bench/load/search.h"
#include "lib/tap.h"

/* ---- answers ---- */

static struct nn_load_answer answer;

/* Feed text in pieces of n bytes; bytes that belong to the answer, or -1: it is refused or
 * unfinished. */
static long feed(const char *text, size_t length, size_t n, char *body, size_t most)
{
	struct nn_error err = { 0 };
	size_t at = 0, used;

	nn_load_answer_init(&answer, body, most);
	while (at < length) {
		size_t piece = length - at < n ? length - at : n;
		/* of its own, so that reading past it is found */
		char *copy = malloc(piece);
		bool whole;

		memcpy(copy, text + at, piece);
		whole = nn_load_answer_take(&answer, copy, piece, &used, &err);
		free(copy);
		at += used;
		if (err.code != NN_OK)
			return -1;
		if (whole)
			return (long)at;
		if (used != piece)
			return -2;
	}
	return -1;
}

static const char sized[] = "HTTP/1.1 200 OK\r\nServer-Timing: read;dur=1, "
			    "QUEUE;dur=\"x\";dur=2.5,queue;dur=1e3 , total;dur=9\r\n"
			    "content-LENGTH:  5 \r\n\r\nhello";
static const char chunked[] = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 No\r\nTransfer-Encoding: "
			      "gzip, Chunked\r\nConnection: x, Close\r\n"
			      "\r\n3;a=b\r\nabc\r\n00A \r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";

/* Does this header give parse and queue those milliseconds, and compute none? */
static bool timing_is(const char *timing, double parse, double queue)
{
	char text[512];
	int n = snprintf(text, sizeof text,
			 "HTTP/1.1 200 OK\r\nServer-Timing: %s\r\nContent-Length: 0\r\n\r\n",
			 timing);
	bool good = feed(text, (size_t)n, 7, NULL, 0) == n &&
		    fabs(answer.part[NN_LOAD_PARSE] - parse / 1e3) < 1e-12 &&
		    fabs(answer.part[NN_LOAD_QUEUE] - queue / 1e3) < 1e-12 &&
		    answer.part[NN_LOAD_COMPUTE] == 0;

	if (!good)
		note("%s: parse %g, queue %g", timing, answer.part[NN_LOAD_PARSE],
		     answer.part[NN_LOAD_QUEUE]);
	return good;
}

static void check_timings(void)
{
	ok(timing_is("read;dur=0.002, parse;dur=1.250, queue;dur=12.007, compute;dur=0.000, "
		     "format;dur=0.004",
		     1.25, 12.007) &&
		   timing_is("parse;dur=1.250,queue;dur=0.100\t,total;dur=3", 1.25, 0.1) &&
		   timing_is("queue;dur=2.000, parse;dur=0.500", 0.5, 2) &&
		   timing_is("parse;dur=1.25, queue;dur=3", 1.25, 3) &&
		   timing_is("parse;dur=1.250;desc=\"a, compute;dur=1.000\", queue;dur=1e1", 1.25,
			     10) &&
		   timing_is("parse;dur=.250, queue;dur=1.0.0, other;dur=1.000", 0.25, 0) &&
		   timing_is("parse;dur=1.250, parse;dur=1.250, queue;dur=-1.000", 2.5, 0) &&
		   timing_is("parsed;dur=1.250, queue;dur=", 0, 0),
	   "load: parts of Server-Timing count, in whatever way they are written");
}

static void check_answers(void)
{
	bool good = true;
	char body[16];

	for (size_t n = 1; n <= sizeof sized; n++) {
		good &= feed(sized, sizeof sized - 1, n, body, 4) == sizeof sized - 1;
		good &= answer.status == 200 && answer.got == 4 && memcmp(body, "hell", 4) == 0 &&
			!answer.close;
		good &= answer.timed && answer.part[NN_LOAD_READ] == 0.001 &&
			fabs(answer.part[NN_LOAD_QUEUE] - 1.0025) < 1e-12 &&
			answer.part[NN_LOAD_COMPUTE] == 0;
	}
	ok(good, "load: an answer with a length is the same in any pieces");
	good = true;
	for (size_t n = 1; n <= sizeof chunked; n++) {
		good &= feed(chunked, sizeof chunked - 1, n, body, 16) == sizeof chunked - 1;
		good &= answer.status == 503 && answer.got == 13 &&
			memcmp(body, "abc0123456789", 13) == 0 && answer.close;
	}
	ok(good, "load: an answer in chunks, after a 100, is the same in any pieces");
	ok(feed("HTTP/1.1 204 X\r\n\r\nmore", 22, 100, NULL, 0) == 18,
	   "load: bytes after an answer are left");
	ok(feed("HTTP/1.0 200 OK\r\n\r\nall", 22, 3, body, 16) == -1 &&
		   nn_load_answer_end(&answer) && answer.close && answer.got == 3,
	   "load: without a length it goes on to the end of the connection");
	ok(feed(sized, sizeof sized - 2, 7, NULL, 0) == -1 && !nn_load_answer_end(&answer),
	   "load: one that is cut short is not whole");
}

static void check_refused(void)
{
	static const char *const bad[] = {
		"HTTP/2 200\r\n",
		"HTTP/1.1 2000 OK\r\n",
		"HTTP/1.1 20",
		"\n\n\n",
		"HTTP/1.1 200 OK\r\n: x\r\n",
		"HTTP/1.1 200 OK\r\nno colon\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ng\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1234567890abcdef\r\n",
	};
	static char lines[20000];
	bool good = true;
	uint64_t state = 1;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		for (size_t n = 1; n < 40; n++)
			if (feed(bad[i], strlen(bad[i]), n, NULL, 0) != -1) {
				note("%zu by %zu", i, n);
				good = false;
			}
	memset(lines, 'x', sizeof lines);
	good &= feed(lines, sizeof lines, 1000, NULL, 0) == -1;
	strcpy(lines, "HTTP/1.1 200 OK\r\n");
	for (size_t i = 17; i + 3 < sizeof lines; i += 4)
		memcpy(lines + i, "a:b\n", 4);
	good &= feed(lines, sizeof lines, 999, NULL, 0) == -1;
	ok(good, "load: what is no answer is refused, and lines without end too");
	for (int i = 0; i < 20000;
	     i++) { /* bytes of an answer changed: read without harm, whatever it comes to */
		const char *text = i % 2 ? sized : chunked;
		size_t n = strlen(text);

		strcpy(lines, text);
		for (int k = 0; k < 3; k++)
			lines[nn_lcg(&state) >> 40 & 127] = (char)(nn_lcg(&state) >> 56);
		feed(lines, n, 1 + (size_t)i % 50, lines + 10000, 8);
	}
	ok(true, "load: damaged answers do no harm");
}

/* ---- arrivals ---- */

static void check_arrivals(void)
{
	struct nn_load_arrivals a = { .poisson = true, .rate = 100, .limit = 1e9, .seed = 7 },
				b = a;
	double last = 0, sum = 0, squares = 0;
	bool rising = true, same = true;
	enum { N = 100000 };

	for (int i = 0; i < N; i++) {
		double at = nn_load_arrivals_next(&a), gap = at - last;

		rising &= gap > 0;
		same &= at == nn_load_arrivals_next(&b);
		sum += gap;
		squares += gap * gap;
		last = at;
	}
	/* Mean 1/100, and of an exponential the mean square twice its square: within five
	 * deviations. */
	ok(rising && same && fabs(sum / N - 0.01) < 5 * 0.01 / sqrt(N) &&
		   fabs(squares / N - 2e-4) < 5 * sqrt(20.0) * 1e-4 / sqrt(N),
	   "load: random arrivals are exponential gaps of the rate, the same for a seed");
	a = (struct nn_load_arrivals){ .rate = 10, .limit = 1 };
	for (last = 0; isfinite(nn_load_arrivals_next(&a));)
		last++;
	ok(last == 10, "load: even arrivals fill the time, the first at 0");
}

static void check_trace(void)
{
	double times[] = { 0, 1, 4 };
	struct nn_load_trace trace = { times, 3 };
	struct nn_load_arrivals a = { .trace = &trace, .limit = INFINITY },
				fast = { .trace = &trace, .rate = 1, .limit = 1.9 };

	ok(nn_load_arrivals_next(&a) == 0 && nn_load_arrivals_next(&a) == 1 &&
		   nn_load_arrivals_next(&a) == 4 && isinf(nn_load_arrivals_next(&a)) &&
		   isinf(nn_load_arrivals_next(&a)),
	   "load: a trace is played as recorded, and ends");
	ok(nn_load_trace_rate(&trace) == 0.5 && nn_load_arrivals_next(&fast) == 0 &&
		   nn_load_arrivals_next(&fast) == 0.5 && isinf(nn_load_arrivals_next(&fast)),
	   "load: at another rate a trace keeps its shape, cut at the limit");
}

/* ---- percentiles ---- */

static void check_latency(void)
{
	static struct nn_load_latency l;
	bool near = true;

	for (int i = 1; i <= 1000; i++)
		nn_load_latency_add(&l, i * 1e-4);
	for (double share = 0.01; share < 0.99; share += 0.01) {
		double exact = ceil(share * 1000 - 1e-9) * 1e-4;

		near &= fabs(nn_load_latency_at(&l, share) - exact) <= exact / 512 + 1e-4;
	}
	ok(near, "load: percentiles are those of the values, to a cell");
	ok(!isnan(nn_load_latency_at(&l, 0.99)) && isnan(nn_load_latency_at(&l, 0.999)) &&
		   l.max == 0.1 && nn_load_latency_least(&l, 1) == 0.1,
	   "load: a percentile needs five values beyond it; the largest is exact");
	for (double s = 1e-10; s < 1e12; s *= 7)
		nn_load_latency_add(&l, s);
	nn_load_latency_add(&l, 0);
	nn_load_latency_add(&l, -1);
	ok(isfinite(nn_load_latency_least(&l, 1)), "load: any time has a cell");
}

/* ---- search ---- */

struct limit {
	double rate;
	int tries, stop;
};

static int below(void *arg, double rate, bool *holds, bool *stop, struct nn_error *err)
{
	struct limit *l = arg;

	(void)err;
	*holds = rate <= l->rate;
	*stop = ++l->tries == l->stop;
	return 0;
}

static void check_search(void)
{
	static const double limits[] = { 3, 9.99, 10, 777, 123456, 2e6 };
	bool good = true;
	double best;

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		for (double first = 0.1; first < 1e7; first *= 10) {
			struct limit l = { limits[i], 0, 0 };
			struct nn_load_search s = { first, 2, 1e6, below, &l };

			good &= nn_load_search(&s, &best, NULL) == 0 && best <= limits[i] &&
				(best == 1e6 || best * 1.06 > limits[i]) && l.tries < 40;
		}
	ok(good, "load: the search ends within 5 %% below the limit, from any first rate");
	{
		struct limit l = { 1, 0, 0 }, stopped = { 1e9, 0, 3 };
		struct nn_load_search s = { 50, 2, 1e6, below, &l };

		ok(nn_load_search(&s, &best, NULL) == 0 && best == 0 && l.tries == 6,
		   "load: where no rate holds there is none");
		s.arg = &stopped;
		ok(nn_load_search(&s, &best, NULL) == 0 && best == 100 && stopped.tries == 3,
		   "load: a search that is stopped keeps what held");
	}
}

int main(void)
{
	check_answers();
	check_timings();
	check_refused();
	check_arrivals();
	check_trace();
	check_latency();
	check_search();
	return tap_done();
}
