/*
 * The library of nn-bench: what a measurement finds with a clock that the measured work advances;
 * batch lists; rows as text.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "bench/bench.h"
#include "tap.h"

/* ---- a clock that only work advances ---- */

struct work {
	double now; /* the clock */
	double first, cost,
		jitter; /* seconds of the first call, of any other, and up to how much more */
	unsigned long calls;
	uint64_t random;
	volatile sig_atomic_t stop;
	unsigned long stop_after;
};

static double work_now(void *arg)
{
	return ((struct work *)arg)->now;
}

static void do_work(void *arg)
{
	struct work *w = arg;

	w->now += (w->calls == 0 ? w->first : w->cost) +
		  w->jitter * (double)(nn_lcg(&w->random) >> 40) * 0x1p-24;
	if (++w->calls == w->stop_after)
		w->stop = 15;
}

static struct nn_measure measure(struct work *w, double seconds)
{
	struct nn_clock clock = { work_now, w };
	struct nn_measure_options o = { .clock = &clock, .seconds = seconds, .stop = &w->stop };
	struct nn_measure_call call = { do_work, w };
	struct nn_measure m;
	struct nn_error err;

	if (nn_measure(&o, &call, 1, &m, &err) < 0)
		abort();
	return m;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

static void check_measure(void)
{
	struct work w = { .first = 0.5, .cost = 0.001 };
	struct nn_measure m = measure(&w, 10);

	ok(near(m.mean_s, 0.001) && m.ci95_s < 1e-9 && m.steady,
	   "measure: equal calls have their time as mean and no interval");
	ok(near(m.first_s, 0.5) && m.warmup_s >= 0.5,
	   "measure: a slow first call is warm-up and shown");
	ok(near(m.taken_s, w.now), "measure: what was taken is what the clock says");
	ok(m.taken_s < 1.5, "measure: it ends when the interval is narrow");
	ok(near(m.p50_s, 0.001) && !isnan(m.p90_s), "measure: percentiles of enough samples");

	w = (struct work){ .first = 3, .cost = 3 };
	m = measure(&w, 10);
	ok(m.n == 0 && isnan(m.mean_s) && isnan(m.p50_s),
	   "measure: too little time gives no figure");

	w = (struct work){ .first = 0.1, .cost = 0.1, .jitter = 0.2 };
	m = measure(&w, 5);
	ok(m.n >= 5 && m.n < 50 && !isnan(m.p50_s) && isnan(m.p90_s) && isnan(m.p99_s),
	   "measure: percentiles only where samples lie beyond them");
	ok(fabs(m.mean_s - 0.2) < 2 * m.ci95_s && m.ci95_s > 0.004,
	   "measure: the interval holds the mean of calls that vary");
	ok(m.taken_s < 5.4, "measure: it ends when the time is over");

	w = (struct work){ .first = 3e-7, .cost = 3e-7 };
	m = measure(&w, 10);
	ok(near(m.mean_s, 3e-7) && fabs(m.p50_s - 3e-7) < 1e-12,
	   "measure: calls of less than a microsecond, in groups and alone");

	w = (struct work){ .first = 0.001, .cost = 0.001, .jitter = 0.001, .stop_after = 40 };
	m = measure(&w, 10);
	ok(w.calls <= 41, "measure: a signal ends it");
}

/* The share of 95 % intervals that hold the true mean of independent calls. */
static void check_interval(void)
{
	int held = 0;

	for (unsigned long i = 0; i < 200; i++) {
		struct work w = {
			.first = 0.01, .cost = 0.01, .jitter = 0.02, .random = i * 7919 + 1
		};
		struct nn_measure m = measure(&w, 1.5);

		held += fabs(m.mean_s - 0.02) <= m.ci95_s;
	}
	note("%d of 200 intervals hold the mean", held);
	ok(held >= 180, "measure: 95 %% intervals hold the mean about as often as they say");
}

static void check_turns(void)
{
	struct work a = { .first = 0.001, .cost = 0.001 }, b = { .first = 0.004, .cost = 0.004 };
	struct nn_clock clock = { work_now, &a };
	struct nn_measure_options o = { .clock = &clock, .seconds = 10 };
	struct nn_measure_call calls[2] = { { do_work, &a }, { do_work, &b } };
	struct nn_measure m[2];
	struct nn_error err;

	/* The second one's work does not advance this clock: it takes no time. */
	ok(nn_measure(&o, calls, 2, m, &err) == 0 && near(m[0].mean_s, 0.001) && m[1].mean_s == 0,
	   "measure: several calls in turns, each with its own time");
}

static void do_nothing_slowly(void *arg)
{
	usleep(1000);
	++*(unsigned long *)arg;
}

/* 50 calls are all that 0.05 s hold; without the bound it would be thousands. */
static void check_still(void)
{
	struct work w = { 0 };
	struct nn_clock clock = { work_now, &w };
	struct nn_measure_options o = { .clock = &clock, .seconds = 0.05 };
	unsigned long calls = 0;
	struct nn_measure_call call = { do_nothing_slowly, &calls };
	struct nn_measure m;
	struct nn_error err;

	ok(nn_measure(&o, &call, 1, &m, &err) == 0 && m.n == 0 && isnan(m.mean_s) && calls <= 60,
	   "measure: a clock that stands still ends it, without a figure");
}

static void check_percentile(void)
{
	double values[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };

	ok(nn_percentile(values, 10, 0.5) == 5 && nn_percentile(values, 10, 0.9) == 9 &&
		   nn_percentile(values, 10, 0.99) == 10 && nn_percentile(values, 1, 0.5) == 1,
	   "percentile: the least value that so many are not above");
}

/* ---- batches ---- */

static bool batches_are(const char *list, const char *wanted)
{
	size_t batches[NN_BENCH_BATCHES];
	struct nn_error err;
	char text[1024] = "";
	int n = nn_bench_batches(list, batches, &err);

	for (int i = 0; i < n; i++)
		sprintf(text + strlen(text), "%s%zu", i ? " " : "", batches[i]);
	if (n < 0)
		return strcmp(wanted, "wrong") == 0 && err.code == NN_EUSAGE;
	return strcmp(text, wanted) == 0;
}

static void check_batches(void)
{
	static const char *const wrong[] = { "",
					     "0",
					     "x",
					     "1,",
					     ",1",
					     "1:8",
					     "8:1*2",
					     "1:8*1",
					     "1:8*0",
					     "1:8*2x",
					     "-1",
					     "1 2",
					     "1073741825",
					     "99999999999999999999",
					     "1:1073741824*",
					     "1.5" };
	struct nn_error err;
	size_t batches[NN_BENCH_BATCHES];

	ok(batches_are("1,32,7", "1 32 7"), "batch: a list in its order");
	ok(batches_are("1:1024*2", "1 2 4 8 16 32 64 128 256 512 1024"),
	   "batch: a range with a factor");
	ok(batches_are("3,1:100*10,5", "3 1 10 100 5"), "batch: both");
	ok(batches_are("5:5*2", "5"), "batch: a range of one");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ok(batches_are(wrong[i], "wrong"), "batch: '%s' is refused", wrong[i]);
	ok(nn_bench_batches("1:1073741824*2,1:1073741824*2,1:1073741824*2", batches, &err) < 0,
	   "batch: too many are refused");
}

/* ---- rows ---- */

/* Two rows in that format, without what ends each; NULL on any failure. */
static char *rows(enum nn_report_format format)
{
	static const struct nn_report_column columns[] = {
		{ "name", 6, 0 }, { "n", 0, 0 }, { "x", 0, 0 }, { NULL, 0, 0 }
	};
	static char text[4096];
	struct nn_machine machine = { .cpu = "C, \"p\" | u", .threads = 2 };
	char path[] = "/tmp/nn-bench-rows.XXXXXX";
	struct nn_report *r;
	struct nn_error err;
	FILE *file;
	size_t n;
	int fd = mkstemp(path);

	if (fd < 0 || nn_report_open(&r, path, format, columns, &machine, &err) < 0)
		return NULL;
	nn_report_text(r, "name", "a,\"b\"\n|");
	nn_report_count(r, "n", 18446744073709551615u);
	nn_report_real(r, "x", 0.12345678);
	if (nn_report_row(r, &err) < 0)
		return NULL;
	nn_report_real(r, "x", NAN);
	nn_report_count(r, "threads", 1);
	if (nn_report_row(r, &err) < 0 || nn_report_close(r, 0, &err) < 0 ||
	    !(file = fopen(path, "r")))
		return NULL;
	n = fread(text, 1, sizeof text - 1, file);
	text[n] = '\0';
	fclose(file);
	remove(path);
	close(fd);
	return text;
}

static bool has(const char *text, const char *part)
{
	if (text && strstr(text, part))
		return true;
	note("no '%s' in '%s'", part, text ? text : "nothing");
	return false;
}

static void check_rows(void)
{
	const char *text = rows(NN_REPORT_CSV);

	ok(has(text, "name,n,x,threads,version,cpu,gpu,blas,date\n"), "rows: csv has a header");
	ok(has(text, "\n\"a,\"\"b\"\"\n|\",18446744073709551615,0.123457,2,") &&
		   has(text, ",\"C, \"\"p\"\" | u\",,,2"),
	   "rows: csv quotes, reals have six digits");
	ok(has(text, "\n,,,1,"),
	   "rows: what is unknown is empty in csv, a row may have threads of its own");
	text = rows(NN_REPORT_JSON);
	ok(has(text, "[\n{\"name\":\"a,\\\"b\\\"\\n|\",\"n\":18446744073709551615,\"x\":0.123457,"
		     "\"threads\":2,"),
	   "rows: json");
	ok(has(text, "},\n{\"name\":null,\"n\":null,\"x\":null,\"threads\":1,") &&
		   has(text, "\"}\n]\n"),
	   "rows: json, null and end");
	text = rows(NN_REPORT_JSONL);
	ok(text && *text == '{' && has(text, "\"}\n{\"name\":null"), "rows: jsonl");
	text = rows(NN_REPORT_MD);
	ok(has(text, "| name | n | x | threads |") && has(text, "| --- | ---: | ---: |"),
	   "rows: md has a header");
	ok(has(text, "\n| a,\"b\" \\| | 18446744073709551615 | 0.123457 | 2 |"),
	   "rows: md, bars escaped");
	text = rows(NN_REPORT_TABLE);
	ok(has(text, "threads 2, GPU none") &&
		   has(text, "\nname               n             x\n") && has(text, "0.1235"),
	   "rows: a table, with the machine in its first line");
}

int main(void)
{
	check_measure();
	check_interval();
	check_turns();
	check_still();
	check_percentile();
	check_batches();
	check_rows();
	return tap_done();
}
