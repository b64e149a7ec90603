/*
 * nn-allreduce --bench: a row per size with nccl-tests' columns, every result compared, and the
 * line through the times.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cache.h"
#include "base/clock.h"
#include "base/median.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "bench/report/report.h"
#include "bench/model.h"
#include "reduce/allreduce.h"

#define BATCHES 9    /* of calls, of which the median counts */
#define BATCH_S 2e-3 /* a batch takes about so long, or one call */
#define MOST_CALLS 10000

static const struct nn_report_column columns[] = {
	{ "size_bytes", 0, 0 }, { "count", 0, 2 }, { "type", 5, 1 },    { "op", 5, 0 },
	{ "algorithm", 10, 0 }, { "ranks", 0, 3 }, { "time_us", 0, 0 }, { "algbw_GBs", 0, 0 },
	{ "busbw_GBs", 0, 0 },  { "wrong", 0, 0 }, { NULL, 0, 0 },
};

struct bench {
	const struct nn_allreduce_options *options;
	const struct nn_allreduce_host *host;
	struct nn_comm *comm;
	struct nn_reduce reduce;
	size_t sizes[NN_ALLREDUCE_SIZES], n_sizes;
	char *in, *out;
	struct nn_report *report;                   /* rank 0 */
	struct nn_sha256 hash;                      /* of all results */
	double sum_w, sum_x, sum_y, sum_xx, sum_xy; /* of the fit */
	double gradient_bytes;                      /* of --model */
	bool verbose;
	/* bytes of the largest array, and what the busiest rank sends for it; 0: not known */
	uint64_t sent, array;
};

/*
 * ---- values that every rank can compute of every other, and their sum as a plain program has it
 * ----
 */

/* Of no round numbers, so that another order gives other bytes. Products of many stay near 1. */
static double value_of(const struct bench *b, int rank, size_t i)
{
	uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) +
		     (uint64_t)rank * UINT64_C(0xbf58476d1ce4e5b9);

	z = (z ^ z >> 29) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 32;
	return (b->reduce.op == NN_REDUCE_PROD ? 1 : 0) + ((double)(z >> 11) * 0x1p-53 - 0.5);
}

#define PLAIN(T) \
	static T plain_##T(const struct bench *b, int from, int to, size_t i) \
	{ \
		int left = 1; \
		T x, y; \
		if (to - from == 1) \
			return (T)value_of(b, from, i); \
		while (2 * left < to - from) \
			left *= 2; \
		x = plain_##T(b, from, from + left, i); \
		y = plain_##T(b, from + left, to, i); \
		switch (b->reduce.op) { \
		case NN_REDUCE_MIN: \
			return x < y ? x : y; \
		case NN_REDUCE_MAX: \
			return x > y ? x : y; \
		case NN_REDUCE_PROD: \
			return x * y; \
		default: \
			return x + y; \
		} \
	}
PLAIN(float)
PLAIN(double)

static void fill(const struct bench *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (b->reduce.dtype == NN_F32)
			((float *)b->in)[i] = (float)value_of(b, b->comm->rank, i);
		else
			((double *)b->in)[i] = value_of(b, b->comm->rank, i);
}

/* MPI adds in an order of its own: a few roundings are allowed there. */
static bool is_wrong(const struct bench *b, enum nn_algorithm algorithm, size_t i)
{
	int n = b->comm->size;
	bool mean = b->reduce.op == NN_REDUCE_MEAN;
	double got, want, near;

	if (b->reduce.dtype == NN_F32) {
		float f = plain_float(b, 0, n, i);

		want = mean ? f / (float)n : f;
		got = ((const float *)b->out)[i];
		near = n * 0x1p-23;
	} else {
		double d = plain_double(b, 0, n, i);

		want = mean ? d / n : d;
		got = ((const double *)b->out)[i];
		near = n * 0x1p-52;
	}
	return algorithm == NN_ALGORITHM_MPI
		       ? !(fabs(got - want) <=
			   near * (b->reduce.op == NN_REDUCE_PROD ? pow(1.5, n) : n))
		       : got != want;
}

/* Over all ranks. */
static int count_wrong(struct bench *b, enum nn_algorithm algorithm, size_t count, uint64_t *wrong,
		       struct nn_error *err)
{
	const struct nn_reduce sum = { NN_U64, NN_REDUCE_SUM, (size_t)b->comm->size };
	uint64_t mine = 0;

	for (size_t i = 0; i < count; i++)
		mine += is_wrong(b, algorithm, i);
	return nn_comm_allreduce(b->comm, &sum, NN_ALGORITHM_TREE, &mine, wrong, 1, NULL, err);
}

/* ---- time ---- */

/* Seconds of `calls` calls in a row. */
static int time_calls(struct bench *b, enum nn_algorithm algorithm, size_t count, uint64_t calls,
		      double *seconds, struct nn_error *err)
{
	double start;

	if (nn_comm_barrier(b->comm, err) < 0)
		return -1;
	start = nn_now_s();
	for (uint64_t i = 0; i < calls; i++)
		if (nn_comm_allreduce(b->comm, &b->reduce, algorithm, b->in, b->out, count, NULL,
				      err) < 0)
			return -1;
	*seconds = nn_now_s() - start;
	return 0;
}

/* The median over batches of calls, of the slowest rank. All ranks make the same calls. */
static int measure(struct bench *b, enum nn_algorithm algorithm, size_t count, double *call_s,
		   struct nn_error *err)
{
	const struct nn_reduce max = { NN_F64, NN_REDUCE_MAX, (size_t)b->comm->size };
	double times[BATCHES], mine;
	uint64_t calls = 1;

	for (int warm = 0; warm < 3; warm++) {
		double s;

		if (time_calls(b, algorithm, count, calls, &s, err) < 0)
			return -1;
		calls = s > 0 && BATCH_S / s * (double)calls < MOST_CALLS
				? (uint64_t)(BATCH_S / s * (double)calls)
				: MOST_CALLS;
		calls = calls ? calls : 1;
		if (nn_comm_broadcast(b->comm, 0, &calls, sizeof calls, err) < 0)
			return -1;
	}
	for (int i = 0; i < BATCHES; i++) {
		if (time_calls(b, algorithm, count, calls, &times[i], err) < 0)
			return -1;
		times[i] /= (double)calls;
	}
	mine = nn_median(times, BATCHES);
	return nn_comm_allreduce(b->comm, &max, NN_ALGORITHM_TREE, &mine, call_s, 1, NULL, err);
}

/* What goes through the busiest rank in a call, half of it sent. */
static int count_sent(struct bench *b, enum nn_algorithm algorithm, size_t count,
		      struct nn_error *err)
{
	const struct nn_reduce max = { NN_U64, NN_REDUCE_MAX, (size_t)b->comm->size };
	uint64_t bytes = count * nn_dtype_size(b->reduce.dtype), moved = nn_comm_moved(b->comm);

	if (bytes < b->array)
		return 0;
	b->array = bytes;
	if (nn_comm_allreduce(b->comm, &b->reduce, algorithm, b->in, b->out, count, NULL, err) < 0)
		return -1;
	moved = (nn_comm_moved(b->comm) - moved) / 2;
	return nn_comm_allreduce(b->comm, &max, NN_ALGORITHM_TREE, &moved, &b->sent, 1, NULL, err);
}

/* ---- rows ---- */

/*
 * Bandwidth as nccl-tests defines it: bytes of the array per second, and times 2(n-1)/n what each
 * link has to carry.
 */
static int print_row(struct bench *b, enum nn_algorithm algorithm, size_t count, double s,
		     uint64_t wrong, struct nn_error *err)
{
	size_t bytes = count * nn_dtype_size(b->reduce.dtype);
	double n = b->comm->size, bandwidth = (double)bytes / s * 1e-9;

	if (!b->report)
		return 0;
	nn_report_count(b->report, "size_bytes", bytes);
	nn_report_count(b->report, "count", count);
	nn_report_text(b->report, "type", nn_dtype_name(b->reduce.dtype));
	nn_report_text(b->report, "op", nn_reduce_ops[b->reduce.op]);
	nn_report_text(b->report, "algorithm", nn_algorithms[algorithm]);
	nn_report_count(b->report, "ranks", (uint64_t)b->comm->size);
	nn_report_real(b->report, "time_us", s * 1e6);
	nn_report_real(b->report, "algbw_GBs", bandwidth);
	nn_report_real(b->report, "busbw_GBs", bandwidth * 2 * (n - 1) / n);
	nn_report_count(b->report, "wrong", wrong);
	return nn_report_row(b->report, err);
}

static int bench_size(struct bench *b, size_t size, struct nn_error *err)
{
	size_t count =
		size / nn_dtype_size(b->reduce.dtype) ? size / nn_dtype_size(b->reduce.dtype) : 1;
	enum nn_algorithm algorithm = (enum nn_algorithm)b->options->algorithm;
	double s, x = (double)(count * nn_dtype_size(b->reduce.dtype)), w;
	uint64_t wrong;

	if (algorithm == NN_ALGORITHM_AUTO)
		algorithm = nn_comm_choose(b->comm, (size_t)x);
	fill(b, count);
	if (measure(b, algorithm, count, &s, err) < 0 || count_sent(b, algorithm, count, err) < 0 ||
	    count_wrong(b, algorithm, count, &wrong, err) < 0)
		return -1;
	nn_sha256_add(&b->hash, b->out, (size_t)x);
	w = 1 / (s * s); /* relative errors count */
	b->sum_w += w;
	b->sum_x += w * x;
	b->sum_y += w * s;
	b->sum_xx += w * x * x;
	b->sum_xy += w * x * s;
	return print_row(b, algorithm, count, s, wrong, err);
}

/* ---- the line through the times ---- */

/* Seconds of a call = alpha + beta * bytes. False with fewer than two sizes. */
static bool fit(const struct bench *b, double *alpha, double *beta)
{
	double d = b->sum_w * b->sum_xx - b->sum_x * b->sum_x;

	if (b->n_sizes < 2 || !(d > 0))
		return false;
	*beta = (b->sum_w * b->sum_xy - b->sum_x * b->sum_y) / d;
	*alpha = (b->sum_y - *beta * b->sum_x) / b->sum_w;
	*beta = *beta > 0 ? *beta : 0;
	*alpha = *alpha > 0 ? *alpha : 0;
	return true;
}

static void note_number(const struct bench *b, const char *name, double value)
{
	char text[80];

	snprintf(text, sizeof text, "%s %.6g", name, value);
	b->host->note(b->host->arg, text);
}

/*
 * A step of a rank, then the all-reduce of all gradients: as it is, and beside the backward pass,
 * two thirds of the step.
 */
static void note_efficiency(const struct bench *b, double alpha, double beta)
{
	double step = b->options->step_ms * 1e-3, comm = alpha + beta * b->gradient_bytes;
	double exposed = comm > step * 2 / 3 ? comm - step * 2 / 3 : 0;
	char text[256];

	snprintf(text, sizeof text,
		 "%.80s: %.0f bytes of gradients take %.4g ms beside a step of %.4g ms",
		 b->options->model, b->gradient_bytes, comm * 1e3, step * 1e3);
	b->host->note(b->host->arg, text);
	note_number(b, "efficiency", step / (step + comm));
	note_number(b, "efficiency_overlapped", step / (step + exposed));
}

static void note_sent(const struct bench *b)
{
	double n = b->comm->size;
	char text[160];

	snprintf(text, sizeof text,
		 "sent_bytes %" PRIu64 " by the busiest rank for an array of %" PRIu64
		 ": %.3g times 2(n-1)/n of it",
		 b->sent, b->array, (double)b->sent / (2 * (n - 1) / n * (double)b->array));
	b->host->note(b->host->arg, text);
}

static int read_model(struct bench *b, struct nn_error *err)
{
	struct nn_bench_model *subject;

	if (!b->options->model || b->comm->rank > 0)
		return 0;
	if (b->n_sizes < 2)
		return nn_fail(err, NN_EUSAGE, "--model=%s: needs two --sizes at least",
			       b->options->model);
	if (nn_bench_model_open(&subject, b->options->model, 0, 1, err) < 0)
		return -1;
	b->gradient_bytes =
		(double)(nn_bench_model_parameters(subject) * nn_dtype_size(subject->dtype));
	nn_bench_model_free(subject);
	return 0;
}

/* Kept for whoever plans a training on this number of ranks: seconds, and seconds per byte. */
static void keep(const struct bench *b, double alpha, double beta)
{
	char key[NN_COMM_KEY], value[NN_CACHE_VALUE];

	nn_comm_key(key, "allreduce", b->comm->size);
	snprintf(value, sizeof value, "%.6g %.6g", alpha, beta);
	nn_cache_put("link", key, value, NULL);
}

static void notes(struct bench *b)
{
	double alpha, beta;
	char hex[NN_SHA256_HEX], text[NN_SHA256_HEX + 8];
	bool line = fit(b, &alpha, &beta);

	if (line) {
		note_number(b, "alpha_us", alpha * 1e6);
		note_number(b, "beta_us_per_MB", beta * 1e12);
		if (b->comm->size > 1 && b->options->algorithm == NN_ALGORITHM_AUTO)
			keep(b, alpha, beta);
	}
	nn_sha256_hex(&b->hash, hex);
	snprintf(text, sizeof text, "hash %s", hex);
	b->host->note(b->host->arg, text);
	if (line && b->options->model)
		note_efficiency(b, alpha, beta);
	if (b->sent && b->verbose)
		note_sent(b);
}

static int run(struct bench *b, const char *output, struct nn_error *err)
{
	struct nn_machine machine;
	size_t most = 0;

	for (size_t i = 0; i < b->n_sizes; i++)
		most = b->sizes[i] > most ? b->sizes[i] : most;
	b->in = nn_alloc(most + 8, 1, err);
	b->out = nn_alloc(most + 8, 1, err);
	if (!b->in || !b->out || read_model(b, err) < 0)
		return -1;
	if (b->comm->rank == 0) {
		nn_machine_init(&machine, 1);
		if (nn_report_open(&b->report, output, b->options->to, columns, &machine, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < b->n_sizes; i++)
		if (bench_size(b, b->sizes[i], err) < 0)
			return -1;
	if (b->comm->rank == 0)
		notes(b);
	return 0;
}

int nn_allreduce_bench(const struct nn_allreduce *job, struct nn_comm *comm, struct nn_error *err)
{
	struct bench b = {
		.options = job->options,
		.host = &job->host,
		.comm = comm,
		.verbose = job->std->verbose > 0,
		.reduce = { nn_std_dtype(job->std), (enum nn_reduce_op)job->options->op,
			    (size_t)comm->size },
	};
	int n = nn_allreduce_sizes(job->options->sizes, b.sizes, err), status = -1;

	nn_sha256_init(&b.hash);
	if (n > 0) {
		b.n_sizes = (size_t)n;
		status = run(&b, job->std->output, err);
	}
	status = nn_report_close(b.report, status, err);
	nn_free(b.in);
	nn_free(b.out);
	return status;
}
