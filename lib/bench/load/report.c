/* Rows of nn-bench load, and what is said of them. */
#include <math.h>

#include "base/clock.h"
#include "base/text.h"
#include "bench/load/report.h"

const struct nn_report_column nn_load_columns[] = {
	{ "rate", 0, 0 },       { "sent", 0, 6 },     { "ok", 0, 7 },
	{ "errors", 0, 0 },     { "p50_s", 0, 0 },    { "p90_s", 0, 4 },
	{ "p99_s", 0, 0 },      { "max_s", 0, 3 },    { "samples_per_s", 0, 0 },
	{ "batch_mean", 0, 4 }, { "server_s", 0, 1 }, { "queue_s", 0, 1 },
	{ "network_s", 0, 1 },  { "client_s", 0, 2 }, { "null_s", 0, 8 },
	{ "net_s", 0, 8 },      { "warmup_s", 0, 9 }, { NULL, 0, 0 },
};

static double mean(double sum, uint64_t n)
{
	return n > 0 ? sum / (double)n : NAN;
}

static void put_parts(struct nn_report *report, const struct nn_load_result *r)
{
	double queue = mean(r->part[NN_LOAD_QUEUE], r->timed), server = 0;

	for (int i = 0; i < NN_LOAD_PARTS; i++)
		server += i == NN_LOAD_QUEUE ? 0 : mean(r->part[i], r->timed);
	nn_report_real(report, "server_s", server);
	nn_report_real(report, "queue_s", queue);
	/* The header counts in steps of its own: the rest may come out below nothing. */
	nn_report_real(report, "network_s",
		       fmax(mean(r->flight_timed, r->timed) - server - queue, r->timed ? 0 : NAN));
	nn_report_real(report, "client_s", mean(r->waiting, r->ok));
}

int nn_load_report_row(struct nn_report *report, const struct nn_load_row *row,
		       struct nn_error *err)
{
	const struct nn_load_result *r = row->result;
	double answered = r->elapsed > 0 ? (double)r->ok / r->elapsed : NAN;
	double null = row->null ? mean(row->null->flight, row->null->ok) : NAN;

	nn_report_real(report, "rate", row->rate > 0 ? row->rate : answered);
	nn_report_count(report, "sent", r->ok + r->errors);
	nn_report_count(report, "ok", r->ok);
	nn_report_count(report, "errors", r->errors);
	nn_report_real(report, "p50_s", nn_load_latency_at(&r->latency, 0.5));
	nn_report_real(report, "p90_s", nn_load_latency_at(&r->latency, 0.9));
	nn_report_real(report, "p99_s", nn_load_latency_at(&r->latency, 0.99));
	nn_report_real(report, "max_s", r->ok > 0 ? r->latency.max : NAN);
	nn_report_real(report, "samples_per_s", answered * (double)row->rows);
	nn_report_real(report, "batch_mean", row->batch);
	put_parts(report, r);
	nn_report_real(report, "null_s", null);
	nn_report_real(report, "net_s", mean(r->flight, r->ok) - null);
	nn_report_real(report, "warmup_s", row->warmup);
	return nn_report_row(report, err);
}

static void note_errors(const struct nn_bench *b, const struct nn_load_row *row)
{
	const struct nn_load_result *r = row->result;

	if (r->unsent > 0)
		nn_bench_note(b,
			      "%llu request%s not sent: on %llu connection%s the server did not "
			      "keep up, nor in the %g s of --timeout after the last was due",
			      (unsigned long long)r->unsent, r->unsent == 1 ? " was" : "s were",
			      (unsigned long long)row->connections, nn_s(row->connections),
			      row->timeout);
	if (r->errors > r->unsent)
		nn_bench_note(b, "%llu of %llu request%s failed, the first: %s",
			      (unsigned long long)r->errors,
			      (unsigned long long)(r->ok + r->errors), nn_s(r->ok + r->errors),
			      r->why);
}

/* Where the time of a request goes, in one sentence. */
static void note_parts(const struct nn_bench *b, const struct nn_load_result *r)
{
	char text[NN_LOAD_PARTS][NN_DURATION], client[NN_DURATION], network[NN_DURATION];
	double server = 0;

	if (r->timed == 0)
		return;
	for (int i = 0; i < NN_LOAD_PARTS; i++) {
		server += mean(r->part[i], r->timed);
		nn_duration(text[i], mean(r->part[i], r->timed));
	}
	nn_bench_note(b,
		      "of a request, in the mean: client %s, network %s; in the server read %s, "
		      "parse %s, queue %s, compute %s, format %s",
		      nn_duration(client, fmax(mean(r->waiting, r->ok), 0)),
		      nn_duration(network, fmax(mean(r->flight_timed, r->timed) - server, 0)),
		      text[NN_LOAD_READ], text[NN_LOAD_PARSE], text[NN_LOAD_QUEUE],
		      text[NN_LOAD_COMPUTE], text[NN_LOAD_FORMAT]);
}

/* Percentiles are empty where fewer than five requests lie beyond them. */
static void note_few(const struct nn_bench *b, const struct nn_load_result *r)
{
	if (r->ok == 0 && r->errors == 0 && !r->stopped)
		nn_bench_note(b, "no request was answered, nor failed: the figures are left empty; "
				 "more --time is needed");
	if (r->ok > 0 && isnan(nn_load_latency_at(&r->latency, 0.99)))
		nn_bench_note(b, "%llu answer%s too few for p99_s, which takes 500: more --time",
			      (unsigned long long)r->ok, r->ok == 1 ? " is" : "s are");
}

void nn_load_report_notes(const struct nn_bench *b, const struct nn_load_row *row)
{
	note_errors(b, row);
	note_few(b, row->result);
	note_parts(b, row->result);
}
