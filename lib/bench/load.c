/*
 * nn-bench load: a server under load. Latency counts from the time at which a request was to be
 * sent (Schroeder et al., NSDI'06; Tene's coordinated omission), in parts: this program, the
 * network, the server's queue, the server.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "bench/bench.h"
#include "bench/load/plot.h"
#include "bench/load/report.h"
#include "bench/load/search.h"
#include "bench/load.h"

#define CLOSED 8 /* connections of a closed loop, at most those of an open one */
#define OPEN 256
#define WARMUP_S 0.2     /* before anything counts, */
#define WARMUP_MOST 1000 /* or so many requests */
#define SETTLE 10        /* requests between two rates of a search */
#define SEARCH_S 2.0     /* for a rate of --slo, where --time does not say */
#define LATE 0.01        /* of the requests of a rate that holds: p99 */
#define SEARCHED 1e6     /* requests a second, at most */
#define LEAST 10         /* requests of a rate that is tried */

struct load {
	struct nn_bench *b;
	const struct nn_load_options *o;
	struct nn_bench_work w;
	struct nn_load_plot *plot;
	struct nn_load_server server;
	struct nn_load_model model;
	struct nn_load_trace trace;
	struct nn_load_requests requests, nulls;
	struct nn_load_client *client;
	size_t connections;
	double slo, seconds; /* 0: none; of a pass */
	double warmup, call; /* seconds: of the warm-up, and of a request there */
	struct nn_load_result result, null;
};

/* ---- options ---- */

int nn_load_check_arrivals(const char *value, struct nn_error *err)
{
	return *value ? 0
		      : nn_fail(err, NN_EUSAGE, "--arrivals=: expected poisson, constant or FILE");
}

static bool parse_time(const char *text, double *seconds)
{
	size_t n = strlen(text);
	bool micro = n > 2 && strcmp(text + n - 2, "us") == 0;

	if (!micro && !(n > 2 && strcmp(text + n - 2, "ms") == 0))
		return nn_parse_seconds(text, n, seconds) && *seconds > 0;
	if (!nn_parse_f64(text, n - 2, seconds))
		return false;
	*seconds /= micro ? 1e6 : 1e3;
	return *seconds > 0;
}

int nn_load_check_slo(const char *value, struct nn_error *err)
{
	char quoted[NN_QUOTED];
	double seconds;

	return parse_time(value, &seconds)
		       ? 0
		       : nn_fail(err, NN_EUSAGE,
				 "--slo=%s: expected a time such as 5ms, 500us or 0.005",
				 nn_quote(quoted, value, strlen(value)));
}

static bool is_trace(const struct nn_load_options *o)
{
	return o->arrivals && nn_load_arrivals_file(o->arrivals);
}

static bool is_open(const struct nn_load_options *o)
{
	return o->rate > 0 || o->slo || is_trace(o);
}

int nn_load_check(const struct nn_bench_setup *setup, int n, char **operands, struct nn_error *err)
{
	const struct nn_load_options *o = &setup->bench->load;

	(void)n;
	if (o->arrivals && !is_open(o))
		return nn_fail(err, NN_EUSAGE,
			       "--arrivals=%s: expected --rate=N or --slo=TIME with it",
			       o->arrivals);
	if (o->null && o->slo)
		return nn_fail(err, NN_EUSAGE, "--null: does not go with --slo");
	return nn_load_server_check(operands[0], err);
}

/* ---- passes ---- */

/* rate 0: of a trace as recorded, else closed loop. */
static int pass(struct load *l, const struct nn_load_requests *requests, double rate,
		struct nn_load_result *result, struct nn_error *err)
{
	struct nn_load_arrivals arrivals = {
		.poisson = !l->o->arrivals || strcmp(l->o->arrivals, "poisson") == 0,
		.trace = is_trace(l->o) ? &l->trace : NULL,
		.rate = rate,
		.limit = l->seconds,
		.seed = l->b->std->seed,
	};
	struct nn_load_plan plan = {
		.client = l->client,
		.requests = requests,
		.arrivals = is_open(l->o) ? &arrivals : NULL,
		.seconds = l->seconds,
		.timeout = l->o->timeout_s,
		.slo = l->slo,
		.late_most = fmax(LATE * rate * l->seconds, 1),
		.stop = l->b->setup.host.stop,
	};

	if (arrivals.trace && l->slo == 0 && !nn_opt_given(l->b->setup.list, "time")) {
		double speed = rate > 0 ? rate / nn_load_trace_rate(&l->trace) : 1;

		plan.seconds = l->trace.times[l->trace.n - 1] / (speed > 0 ? speed : 1);
		arrivals.limit = INFINITY;
	}
	return nn_load_pass(&plan, result, err);
}

/* Requests that do not count: connections are made, and what a server does at first. */
static int run_uncounted(struct load *l, const struct nn_load_requests *requests, uint64_t most,
			 struct nn_error *err)
{
	struct nn_load_plan plan = {
		.client = l->client,
		.requests = requests,
		.at_once = is_open(l->o) ? 1 : 0,
		.seconds = fmin(WARMUP_S, l->seconds / 5),
		.timeout = l->o->timeout_s,
		.most = most,
		.stop = l->b->setup.host.stop,
	};

	if (nn_load_pass(&plan, &l->result, err) < 0)
		return -1;
	l->warmup += l->result.elapsed;
	return 0;
}

static int warm_up(struct load *l, const struct nn_load_requests *requests, struct nn_error *err)
{
	const struct nn_load_result *r = &l->result;

	if (run_uncounted(l, requests, WARMUP_MOST, err) < 0)
		return -1;
	l->call = r->ok > 0 ? r->flight / (double)r->ok : 0.01;
	if (requests == &l->nulls && r->ok == 0 && !r->stopped)
		return nn_fail(err, NN_EFAIL, "--null: %s: model %s:null: %s", l->server.url,
			       l->model.name, *r->why ? r->why : "no answer");
	return 0;
}

/* ---- rows ---- */

/* What the server's batches were in the mean during a pass of this rate; NAN: it does not tell. */
static int pass_counted(struct load *l, double rate, double *batch, struct nn_error *err)
{
	struct nn_load_counts before, after;

	*batch = NAN;
	nn_load_model_counts(l->model.name, &l->server, l->o->timeout_s, &before);
	if (pass(l, &l->requests, rate, &l->result, err) < 0)
		return -1;
	if (nn_load_model_counts(l->model.name, &l->server, l->o->timeout_s, &after) &&
	    after.batches > before.batches)
		*batch = (after.rows - before.rows) / (after.batches - before.batches);
	return 0;
}

/* A pass of the model, one of the null model where that is asked for, and their row. */
static int measure(struct load *l, double rate, struct nn_error *err)
{
	struct nn_load_row row = {
		.rate = rate,
		.rows = (size_t)l->o->rows,
		.warmup = l->warmup,
		.connections = l->connections,
		.timeout = l->o->timeout_s,
		.result = &l->result,
	};

	if (pass_counted(l, rate, &row.batch, err) < 0)
		return -1;
	if (l->o->null && !l->result.stopped) {
		if (pass(l, &l->nulls, rate, &l->null, err) < 0)
			return -1;
		row.null = &l->null;
	}
	if (nn_load_report_row(l->w.report, &row, err) < 0)
		return -1;
	nn_load_plot_add(l->plot, rate, &l->result);
	if (l->slo == 0)
		nn_load_report_notes(l->b, &row);
	return 0;
}

static int attempt(void *arg, double rate, bool *holds, bool *stop, struct nn_error *err)
{
	struct load *l = arg;
	const struct nn_load_result *r = &l->result;

	/* What the rate before has left in the server is worked off first. */
	if (r->hopeless && run_uncounted(l, &l->requests, SETTLE, err) < 0)
		return -1;
	if (measure(l, rate, err) < 0)
		return -1;
	*stop = r->stopped;
	*holds = r->ok > 0 && !r->hopeless && (double)r->late <= LATE * (double)(r->ok + r->errors);
	return 0;
}

/* --time is too short for a rate. */
static int leave_empty(struct load *l, double rate, struct nn_error *err)
{
	const struct nn_load_row row = { .rows = (size_t)l->o->rows,
					 .batch = NAN,
					 .warmup = l->warmup,
					 .connections = l->connections,
					 .timeout = l->o->timeout_s,
					 .result = &l->result };

	l->result = (struct nn_load_result){ 0 };
	nn_bench_note(
		l->b,
		"--time=%g is too short for a rate: about --time=%.2g is needed to try %.3g a "
		"second",
		l->seconds, LEAST / rate, rate);
	return nn_load_report_row(l->w.report, &row, err);
}

static int search(struct load *l, struct nn_error *err)
{
	struct nn_load_search s = {
		.first = l->o->rate > 0 ? l->o->rate : 0.5 / l->call,
		.least = LEAST / l->seconds,
		.most = SEARCHED,
		.attempt = attempt,
		.arg = l,
	};
	char slo[NN_DURATION];
	double best;

	if (s.least > s.most)
		return leave_empty(l, s.first, err);
	if (nn_load_search(&s, &best, err) < 0)
		return -1;
	nn_duration(slo, l->slo);
	if (best > 0)
		nn_bench_note(l->b, "the highest rate tried whose p99 is within %s is %g a second",
			      slo, best);
	else if (!nn_bench_stopped(l->b))
		return nn_fail(err, NN_EFAIL,
			       "--slo: no rate from %.3g a second on has its p99 within %s",
			       s.least, slo);
	return 0;
}

/* ---- the verb ---- */

static int make_requests(struct load *l, struct nn_error *err)
{
	struct nn_load_body body = { .form = (enum nn_load_form)l->o->form,
				     .rows = (size_t)l->o->rows,
				     .seed = l->b->std->seed };

	if (nn_load_model_ask(&l->model, &l->server, l->o->model, l->o->timeout_s, err) < 0 ||
	    nn_load_requests_make(&l->requests, &l->server, &l->model, &body, err) < 0)
		return -1;
	body.null = true;
	return l->o->null ? nn_load_requests_make(&l->nulls, &l->server, &l->model, &body, err) : 0;
}

static int open_all(struct load *l, const char *url, struct nn_error *err)
{
	char title[800];

	if (nn_load_server_find(&l->server, url, err) < 0 ||
	    (l->o->key_file && nn_load_server_key(&l->server, l->o->key_file, err) < 0) ||
	    (is_trace(l->o) && nn_load_trace_read(&l->trace, l->o->arrivals, err) < 0))
		return -1;
	if (is_trace(l->o) && (l->o->rate > 0 || l->slo > 0) &&
	    isnan(nn_load_trace_rate(&l->trace)))
		return nn_fail(err, NN_EUSAGE, "%s: one moment alone has no rate to be changed",
			       l->o->arrivals);
	if (make_requests(l, err) < 0)
		return -1;
	snprintf(title, sizeof title, "load on %s, model %s", url, l->model.name);
	if (nn_load_plot_new(&l->plot, title, l->b, l->slo, err) < 0)
		return -1;
	return nn_load_client_new(&l->client, &l->server, l->connections, l->o->timeout_s, NULL,
				  NULL, err);
}

static int run(void *arg, struct nn_error *err)
{
	struct load *l = arg;
	int status;

	if ((l->o->null && warm_up(l, &l->nulls, err) < 0) || warm_up(l, &l->requests, err) < 0)
		return -1;
	if (nn_bench_stopped(l->b))
		return 0;
	status = l->slo > 0 ? search(l, err) : measure(l, l->o->rate, err);
	if (status == 0 && l->w.plot && !nn_bench_stopped(l->b))
		status = nn_load_plot_write(l->plot, l->w.plot, err);
	return status;
}

static void close_all(struct load *l)
{
	nn_load_client_free(l->client);
	nn_load_plot_free(l->plot);
	nn_load_requests_free(&l->nulls);
	nn_load_requests_free(&l->requests);
	nn_load_model_free(&l->model);
	nn_load_trace_free(&l->trace);
	nn_free(l);
}

int nn_verb_load(struct nn_bench *b, int n, char **words, struct nn_error *err)
{
	struct load *l = nn_alloc(1, sizeof *l, err);
	int status = -1;

	(void)n;
	if (!l)
		return -1;
	l->b = b;
	l->o = &b->options->load;
	if (l->o->slo)
		parse_time(l->o->slo, &l->slo);
	l->seconds =
		l->slo > 0 && !nn_opt_given(b->setup.list, "time") ? SEARCH_S : b->options->time_s;
	l->connections = l->o->connections ? (size_t)l->o->connections
			 : is_open(l->o)   ? OPEN
					   : CLOSED;
	if (open_all(l, words[0], err) == 0)
		status = nn_bench_on_model(b, NULL, nn_load_columns, &l->w, run, l, err);
	close_all(l);
	return status;
}
