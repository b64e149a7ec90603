/*
 * nn-bench ops: each op on each device, ours and a library's (OpenBLAS, cuBLAS) side by side,
 * against the peaks of the device.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "bench/machine/roof.h"
#include "bench/roofline.h"
#include "bench/trial.h"
#include "bench/op/trial.h"
#include "device/products.h"
#include "op/notation.h"

#define ALL_S 1 /* of a figure where all ops are measured and no --time is given */
/* Calls that a device with memory of its own is asked for before it is waited for. */
#define AT_ONCE 16

static const struct nn_report_column columns[] = {
	{ "op", 23, 0 },        { "shape", 34, 0 },  { "device", 6, 4 }, { "kernel", 8, 0 },
	{ "dtype", 5, 3 },      { "seconds", 0, 0 }, { "gflops", 0, 0 }, { "gbytes_s", 0, 2 },
	{ "peak_share", 0, 1 }, { "check", 5, 0 },   { NULL, 0, 0 },
};

struct ops {
	struct nn_bench *bench;
	struct nn_bench_work w;
	int n; /* operands */
	char **words;
	const char *names[NN_BENCH_DEVICES]; /* of devices */
	int n_names;
	/* the one under way; library: the same with a library's kernels, NULL: not here */
	const struct nn_device *device, *library;
	struct nn_roofs roofs;
};

/* One row: a pass of an op by one kernel. */
struct row {
	const char *kernel;
	const struct nn_op_site *site;
	bool backward;
	struct nn_roof_work work;
	struct nn_verdict verdict;
};

static int put_row(struct ops *o, const struct row *row, const struct nn_measure *m,
		   struct nn_error *err)
{
	struct nn_text shape = { 0 };
	char name[64];
	double share;

	snprintf(name, sizeof name, "%s%s", nn_ops[row->site->op]->name,
		 row->backward ? "-backward" : "");
	nn_op_write(row->site->op, row->site->attrs, row->site->in, row->site->rows, &shape);
	nn_report_text(o->w.report, "op", name);
	nn_report_text(o->w.report, "shape", shape.data);
	nn_report_text(o->w.report, "device", o->device->name);
	nn_report_text(o->w.report, "kernel", row->kernel);
	nn_report_text(o->w.report, "dtype", nn_dtype_name(o->device->dtype));
	nn_text_free(&shape);
	nn_verdict_put(&row->verdict, o->w.report);
	if (m && m->n > 0) {
		if (nn_roofs_share(&o->roofs, &row->work, m->mean_s, &share, err) < 0)
			return -1;
		nn_roofs_put(o->w.report, &row->work, m->mean_s, share);
	} else if (m && !nn_bench_stopped(o->bench)) {
		nn_bench_too_short(o->bench, name, m);
	}
	return nn_report_row(o->w.report, err);
}

/* ---- a pass ---- */

/* Ours, but for products of a device that leaves them to a library. */
static const char *own_kernel(const struct ops *o, enum nn_op_id op)
{
	const struct nn_device *d = o->device;

	return d->library_kernels && d->library_kernels[op] &&
			       d->library_kernels[op] == d->kernels[op]
		       ? d->library
		       : "ours";
}

/* Ours, and in turns with it the library's where it has the op. */
static int measure_pass(struct ops *o, const struct nn_op_site *site, struct nn_op_trial *trials[2],
			bool backward, struct nn_error *err)
{
	const char *const kernels[2] = { own_kernel(o, site->op),
					 o->library ? o->library->library : NULL };
	struct nn_measure_call calls[2];
	struct nn_measure results[2] = { 0 };
	struct row rows[2];
	size_t n = trials[1] ? 2 : 1;
	bool right = true;
	int status = 0;

	for (size_t i = 0; i < n && status == 0; i++) {
		struct nn_op_trial *t = trials[i];

		calls[i] = (struct nn_measure_call){ backward ? nn_op_trial_backward
							      : nn_op_trial_forward,
						     t };
		rows[i] = (struct row){ .kernel = kernels[i],
					.site = site,
					.backward = backward,
					.work = { nn_op_trial_flop(t, backward),
						  nn_op_trial_bytes(t, backward),
						  nn_op_trial_span(t, backward) } };
		status = nn_verdict_add_op(&rows[i].verdict, t, backward, err);
		right &= !rows[i].verdict.wrong;
	}
	/* What is wrong is not worth a figure, and stands in its row without one. */
	if (status == 0 && right)
		status = nn_bench_measure(o->bench, calls, n, results, err);
	for (size_t i = 0; status == 0 && i < n; i++) {
		results[i].mean_s /= (double)trials[i]->repeat;
		status = nn_op_trial_failed(trials[i], err);
	}
	for (size_t i = 0; status == 0 && i < n && !nn_bench_stopped(o->bench); i++)
		status = put_row(o, &rows[i], right ? &results[i] : NULL, err);
	return status;
}

/* The library's, unless it cannot be used after all. */
static int library_trial(struct ops *o, const struct nn_op_site *site, struct nn_op_how how,
			 struct nn_op_trial **trial, struct nn_error *err)
{
	how.device = o->library;
	how.kernel = o->library ? o->library->library_kernels[site->op] : NULL;
	if (!how.kernel || nn_op_trial_new(trial, site, &how, err) == 0)
		return 0;
	if (err->code != NN_ENODEV)
		return -1;
	nn_bench_note(o->bench, "no rows of %s: %s", o->library->library, err->text);
	o->library = NULL;
	return 0;
}

static int measure_site(struct ops *o, const struct nn_op_site *site, struct nn_error *err)
{
	struct nn_op_how how = {
		.device = o->device, .pool = o->bench->pool, .training = true, .want_dx = true
	};
	struct nn_op_trial *trials[2] = { NULL, NULL };
	int status = nn_op_trial_new(&trials[0], site, &how, err);

	if (status == 0)
		status = library_trial(o, site, how, &trials[1], err);
	for (int i = 0; i < 2 && o->device->remote && status == 0; i++)
		if (trials[i])
			trials[i]->repeat = AT_ONCE;
	for (int backward = 0; backward < 2 && status == 0 && !nn_bench_stopped(o->bench);
	     backward++)
		status = measure_pass(o, site, trials, backward, err);
	nn_op_trial_free(trials[0]);
	nn_op_trial_free(trials[1]);
	return status;
}

/* ---- the verb ---- */

/* All sites of an op, the one that SHAPE describes, or all of all. */
static int measure_operand(struct ops *o, const char *operand, struct nn_error *err)
{
	enum nn_op_id op = operand ? nn_op_site_op(operand) : NN_N_OPS;
	struct nn_op_operand one;

	if (operand && strchr(operand, ':'))
		return nn_op_operand_parse(&one, operand, err) < 0
			       ? -1
			       : measure_site(o, &one.site, err);
	for (size_t i = 0; i < nn_op_n_sites && !nn_bench_stopped(o->bench); i++)
		if (!nn_op_sites[i].name && (!operand || nn_op_sites[i].op == op) &&
		    measure_site(o, &nn_op_sites[i], err) < 0)
			return -1;
	return 0;
}

static const char *next_op(const void *arg, size_t i)
{
	(void)arg;
	return i < NN_N_OPS ? nn_ops[i]->name : NULL;
}

int nn_ops_check(const struct nn_bench_setup *setup, int n, char **words, struct nn_error *err)
{
	if (n == 1 && nn_roofline_is_model(words[0]))
		return setup->std->dry_run ? nn_bench_model_check(words[0], err) : 0;
	for (const char *const *name = (const char *const[]){ "batch", "mode", "plot", NULL };
	     *name; name++)
		if (nn_opt_given(setup->list, *name))
			return nn_fail(err, NN_EUSAGE,
				       "--%s: means something to ops with a MODEL alone", *name);
	for (int i = 0; i < n; i++) {
		struct nn_op_operand one;
		char quoted[NN_QUOTED], name[64];
		const char *near;

		if (nn_op_site_op(words[i]) != NN_N_OPS) {
			if (strchr(words[i], ':') && nn_op_operand_parse(&one, words[i], err) < 0)
				return -1;
			continue;
		}
		snprintf(name, sizeof name, "%.*s", (int)strcspn(words[i], ":"), words[i]);
		near = nn_did_you_mean(name, next_op, NULL);
		return nn_fail(err, NN_EUSAGE, "%s: unknown op%s%s%s",
			       *words[i] ? nn_quote(quoted, words[i], strlen(words[i])) : "\"\"",
			       near ? "; did you mean " : "; see nn-bench(1)", near ? near : "",
			       near ? "?" : "");
	}
	return 0;
}

/* Device `name`, and beside its own products a library's. */
static int open_device(struct ops *o, const char *name, struct nn_error *err)
{
	const enum nn_dtype dtype = nn_dtype_computed(nn_std_dtype(o->bench->std));
	char full[NN_PRODUCTS_NAME];
	struct nn_error none;

	o->library = NULL;
	if (!(o->device = nn_bench_device(o->bench, name, dtype, err)))
		return -1;
	if (strchr(o->device->name, '+'))
		return 0;
	nn_products_device(full, name, NN_PRODUCTS_ANY_ORDER);
	if (!(o->library = nn_device_open(full, dtype, &none)))
		nn_bench_note(o->bench, "no rows of %s: %s", nn_products_library(full), none.text);
	return 0;
}

static int measure_device(struct ops *o, const char *name, struct nn_error *err)
{
	int status = open_device(o, name, err);

	if (status == 0)
		status = nn_roofs_init(&o->roofs, o->bench, o->device, err);
	if (o->n == 0 && status == 0)
		status = measure_operand(o, NULL, err);
	for (int i = 0; i < o->n && status == 0 && !nn_bench_stopped(o->bench); i++)
		status = measure_operand(o, o->words[i], err);
	return status;
}

static int measure_all(void *arg, struct nn_error *err)
{
	struct ops *o = arg;
	int status = 0;

	for (int i = 0; i < o->n_names && status == 0 && !nn_bench_stopped(o->bench); i++)
		status = measure_device(o, o->names[i], err);
	return status;
}

/* Before a row is printed: are they there? The CPU's products are ours whatever the options. */
static int check_devices(struct ops *o, struct nn_error *err)
{
	struct nn_bench *b = o->bench;
	const enum nn_dtype dtype = nn_dtype_computed(nn_std_dtype(b->std));
	struct nn_error none;
	const bool tf32 = b->std->precision == NN_PRECISION_TF32;

	if ((o->n_names = nn_bench_devices(b, o->names, err)) < 0)
		return -1;
	if (tf32 && !nn_opt_given(b->setup.list, "device"))
		o->names[0] = "cpu+tf32";
	for (int i = 0; i < o->n_names; i++) {
		if (nn_bench_is_cpu(o->names[i]) && !tf32)
			o->names[i] = "cpu";
		if (!nn_bench_device(b, o->names[i], dtype, err))
			return -1;
		if (strcmp(o->names[i], "cpu") == 0 && nn_device_open("cpu+openblas", dtype, &none))
			snprintf(b->machine.blas, sizeof b->machine.blas, "openblas");
	}
	return 0;
}

int nn_verb_ops(struct nn_bench *b, int n, char **words, struct nn_error *err)
{
	struct ops o = { .bench = b, .n = n, .words = words };

	if (n == 1 && nn_roofline_is_model(words[0]))
		return nn_roofline(b, words[0], err);
	if (check_devices(&o, err) < 0)
		return -1;
	if (n == 0 && !nn_opt_given(b->setup.list, "time"))
		b->options->time_s = ALL_S;
	return nn_bench_on_model(b, NULL, columns, &o.w, measure_all, &o, err);
}
