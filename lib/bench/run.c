/*
 * nn-bench run: predictions and training steps of a model, per device and batch.
 *
 * The knee is the smallest batch that reaches 90 % of the largest throughput.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bench/curve.h"
#include "bench/machine/peak.h"
#include "bench/trial.h"
#include "device/products.h"
#include "device/stored.h"

#define PEAK_S 0.1 /* for the peak that a device's rows are held against */

static const struct nn_report_column columns[] = {
	{ "model", 20, 4 },    { "mode", 7, 0 },       { "device", 12, 0 },
	{ "precision", 9, 5 }, { "batch", 0, 0 },      { "n", 0, 8 },
	{ "p50_s", 0, 0 },     { "p90_s", 0, 3 },      { "p99_s", 0, 2 },
	{ "mean_s", 0, 6 },    { "ci95_s", 0, 7 },     { "samples_per_s", 0, 0 },
	{ "gflops", 0, 1 },    { "peak_share", 0, 2 }, { "memory_bytes", 0, 2 },
	{ "check", 8, 0 },     { "warmup_s", 0, 9 },   { NULL, 0, 0 },
};

struct run {
	struct nn_bench *b;
	struct nn_bench_work w;
	const struct nn_device *device;
	const char *device_name;
	bool int8;   /* which multiplies weights as such */
	bool stored; /* --device=auto: a device for each mode and batch */
	double peak; /* FLOP/s of the device on our threads */
	struct nn_curves *curves;
};

static void put_figures(struct run *r, const struct nn_trial *trial, size_t batch,
			const struct nn_measure *m)
{
	double rate = nn_trial_flops(trial) / m->mean_s;

	nn_report_count(r->w.report, "n", m->n);
	nn_report_real(r->w.report, "p50_s", m->p50_s);
	nn_report_real(r->w.report, "p90_s", m->p90_s);
	nn_report_real(r->w.report, "p99_s", m->p99_s);
	nn_report_real(r->w.report, "mean_s", m->mean_s);
	nn_report_real(r->w.report, "ci95_s", m->ci95_s);
	nn_report_real(r->w.report, "samples_per_s", (double)batch / m->mean_s);
	nn_report_real(r->w.report, "gflops", rate / 1e9);
	nn_report_real(r->w.report, "peak_share", rate / r->peak);
}

static int put_row(struct run *r, const struct nn_trial *trial, enum nn_bench_mode mode,
		   size_t batch, const struct nn_measure *m, const struct nn_verdict *verdict,
		   struct nn_error *err)
{
	const char *rounded = nn_products_rounded(nn_products_named(r->device_name));

	nn_report_text(r->w.report, "model", r->w.subject->name);
	nn_report_text(r->w.report, "mode", nn_bench_modes[mode]);
	nn_report_text(r->w.report, "device", r->device_name);
	nn_report_text(r->w.report, "precision",
		       r->int8 ? "int8"
		       : rounded ? rounded
				 : nn_dtype_name(r->w.subject->dtype));
	nn_report_count(r->w.report, "batch", batch);
	if (m->n > 0)
		put_figures(r, trial, batch, m);
	nn_report_count(r->w.report, "memory_bytes", nn_trial_bytes(trial));
	nn_verdict_put(verdict, r->w.report);
	nn_report_real(r->w.report, "warmup_s", m->warmup_s);
	return nn_report_row(r->w.report, err);
}

static int measure(struct run *r, struct nn_trial *trial, enum nn_bench_mode mode, size_t batch,
		   struct nn_error *err)
{
	struct nn_measure_call call = { nn_trial_call, trial };
	struct nn_measure m;
	struct nn_verdict verdict = { 0 };
	char what[64];

	if (nn_bench_measure(r->b, &call, 1, &m, err) < 0)
		return -1;
	if (nn_bench_stopped(r->b))
		return 0;
	if (nn_verdict_add(&verdict, trial, err) < 0)
		return -1;
	snprintf(what, sizeof what, "%s on %s, batch %zu", nn_bench_modes[mode], r->device_name,
		 batch);
	if (m.n == 0)
		nn_bench_too_short(r->b, what, &m);
	else
		nn_curves_add(r->curves, nn_bench_modes[mode], r->device_name, (double)batch, &m);
	return put_row(r, trial, mode, batch, &m, &verdict, err);
}

static int take_device(struct run *r, const char *name, enum nn_bench_mode mode,
		       struct nn_error *err)
{
	r->device = nn_bench_device_for(r->b, name, r->w.subject, mode == NN_BENCH_PREDICT,
					&r->int8, err);
	if (!r->device)
		return -1;
	if (strchr(r->device->name, '+')) /* by whose products it is another one */
		r->device_name = r->device->name;
	r->peak = nn_peak_fma(r->b, r->device, r->b->pool, PEAK_S);
	return 0;
}

static int take_stored(struct run *r, enum nn_bench_mode mode, size_t batch, struct nn_error *err)
{
	struct nn_use use = { nn_net_text(r->w.subject->net), mode == NN_BENCH_TRAIN, batch,
			      r->w.subject->dtype };
	char name[NN_DEVICE_NAME], note[NN_STORED_NOTE];

	nn_device_stored(&use, name, note);
	if (*note)
		nn_bench_note(r->b, "%s", note);
	if (take_device(r, name, mode, err) < 0)
		return -1;
	r->device_name = r->device->name;
	return 0;
}

static int run_batches(struct run *r, enum nn_bench_mode mode, const size_t *batches, int n,
		       struct nn_error *err)
{
	for (int i = 0; i < n && !nn_bench_stopped(r->b); i++) {
		struct nn_trial_options o = { .subject = r->w.subject,
					      .threads = r->b->threads,
					      .mode = mode,
					      .batch = batches[i] };
		struct nn_trial *trial;
		int status;

		if (r->stored && take_stored(r, mode, batches[i], err) < 0)
			return -1;
		o.device = r->device;
		o.int8 = r->int8;
		if (nn_trial_new(&trial, &o, err) < 0)
			return -1;
		status = measure(r, trial, mode, batches[i], err);
		nn_trial_free(trial);
		if (status < 0)
			return -1;
	}
	return 0;
}

static int run_device(struct run *r, const char *name, struct nn_error *err)
{
	const struct nn_bench *b = r->b;
	bool one_mode = nn_opt_given(b->setup.list, "mode");

	r->device_name = name;
	for (int mode = NN_BENCH_PREDICT; mode >= NN_BENCH_TRAIN; mode--) {
		size_t batches[NN_BENCH_BATCHES];
		int n = nn_bench_batches_or(b, mode == NN_BENCH_TRAIN ? r->w.subject->batch : 1,
					    batches, err);

		if (one_mode && mode != (int)b->options->mode)
			continue;
		if (!r->stored && take_device(r, name, (enum nn_bench_mode)mode, err) < 0)
			return -1;
		if (n < 0 || run_batches(r, (enum nn_bench_mode)mode, batches, n, err) < 0)
			return -1;
	}
	return 0;
}

static int run_devices(void *arg, struct nn_error *err)
{
	struct run *r = arg;
	const char *names[NN_BENCH_DEVICES];
	int n = nn_bench_devices(r->b, names, err);

	if (n < 0)
		return -1;
	r->stored =
		nn_opt_given(r->b->setup.list, "device") && strcmp(r->b->std->device, "auto") == 0;
	for (int i = 0; i < (r->stored ? 1 : n) && !nn_bench_stopped(r->b); i++)
		if (run_device(r, names[i], err) < 0)
			return -1;
	nn_curves_notes(r->curves, r->b);
	return r->w.plot && !nn_bench_stopped(r->b) ? nn_curves_plot(r->curves, r->w.plot, err) : 0;
}

int nn_verb_run(struct nn_bench *b, int n, char **words, struct nn_error *err)
{
	struct run r = { .b = b };
	int status;

	(void)n;
	if (nn_curves_new(&r.curves, words[0], b, err) < 0)
		return -1;
	status = nn_bench_on_model(b, words[0], columns, &r.w, run_devices, &r, err);
	nn_curves_free(r.curves);
	return status;
}
