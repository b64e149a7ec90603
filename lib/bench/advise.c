/* nn-bench advise: rules of thumb, each measured on the given model. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/op-trial.h"
#include "bench/trial.h"
#include "model/widen.h"

#define CLEARLY 0.05             /* a gain of less is not worth a rule */
#define PARAMETERS 10000
#define SAMPLE_BYTES ((size_t)16 << 20)
#define FIGURE_S 1               /* of a figure at most where --time is not given */

static const struct nn_report_column columns[] = {
	{ "rule", 16 }, { "claim", 64 }, { "measured", 0 }, { "verdict", 13 }, { NULL, 0 },
};

struct advise {
	struct nn_bench *b;
	struct nn_report *report;
	const struct nn_subject *subject;
	const struct nn_device *device;
};

static const char *mode_name(enum nn_bench_mode mode)
{
	return mode == NN_BENCH_TRAIN ? "train" : "predict";
}

/* ---- rows ---- */

/* How many times as fast something is, and between what the intervals of both leave that; NAN: not measured. */
struct gain {
	double times, low, high;
};

static struct gain gain_of(const struct nn_measure *slow, const struct nn_measure *fast, double rows)
{
	return (struct gain){
		.times = slow->mean_s / fast->mean_s * rows,
		.low = (slow->mean_s - slow->ci95_s) / (fast->mean_s + fast->ci95_s) * rows,
		.high = (slow->mean_s + slow->ci95_s) / fmax(fast->mean_s - fast->ci95_s, 1e-12) * rows,
	};
}

/* Are the gains that a rule promises there: all, none, or it depends, on which or on chance? */
static const char *verdict_of(const struct gain *gains, int n)
{
	int good = 0, bad = 0;

	for (int i = 0; i < n; i++) {
		good += gains[i].low > 1 + CLEARLY;
		bad += gains[i].high <= 1 + CLEARLY;
	}
	return good == n ? "holds" : bad == n ? "does not hold" : "depends";
}

static int put(struct advise *v, const char *rule, const char *claim, double measured, const char *verdict, struct nn_error *err)
{
	nn_report_text(v->report, "rule", rule);
	nn_report_text(v->report, "claim", claim);
	nn_report_real(v->report, "measured", measured);
	nn_report_text(v->report, "verdict", verdict);
	return nn_report_row(v->report, err);
}

/* ---- one way against another ---- */

static const struct gain unknown = { NAN, NAN, NAN };

struct way {
	const struct nn_subject *subject;
	const struct nn_device *device;
	int threads;
	size_t batch;
};

static int open_way(const struct way *w, enum nn_bench_mode mode, struct nn_trial **trial, struct nn_error *err)
{
	struct nn_trial_options o = { .subject = w->subject, .device = w->device, .threads = w->threads, .mode = mode, .batch = w->batch,
				      .most_bytes = SAMPLE_BYTES };

	return nn_trial_new(trial, &o, err);
}

/* How many times as fast, per row, the second way is, both measured in turns. NAN where it does not fit or time does not suffice. */
static int compare(struct advise *v, const char *rule, enum nn_bench_mode mode, const struct way ways[2], struct gain *gain,
		   struct nn_error *err)
{
	struct nn_trial *trials[2] = { NULL, NULL };
	struct nn_measure m[2] = {0};
	int status = 0;

	*gain = unknown;
	for (int i = 0; i < 2 && status == 0; i++)
		status = open_way(&ways[i], mode, &trials[i], err);
	if (status == 0) {
		const struct nn_measure_call calls[2] = { { nn_trial_call, trials[0] }, { nn_trial_call, trials[1] } };

		status = nn_bench_measure(v->b, calls, 2, m, err);
	} else if (err->code == NN_ENOMEM) {
		nn_bench_note(v->b, "%s: not measured: %s", rule, err->text);
		status = 1;
	}
	nn_trial_free(trials[0]);
	nn_trial_free(trials[1]);
	if (status)
		return status < 0 ? -1 : 0;
	for (int i = 0; i < 2 && !nn_bench_stopped(v->b); i++)
		if (m[i].n == 0) {
			nn_bench_too_short(v->b, rule, &m[i]);
			return 0;
		}
	*gain = gain_of(&m[0], &m[1], (double)ways[1].batch / (double)ways[0].batch);
	return 0;
}

static struct way usual(const struct advise *v, enum nn_bench_mode mode)
{
	return (struct way){ v->subject, v->device, v->b->threads, mode == NN_BENCH_TRAIN ? v->subject->batch : 1 };
}

/* ---- the rules ---- */

/* "More than 10k parameters: use the GPU", and so fewer: do not. */
static int rule_gpu(struct advise *v, enum nn_bench_mode mode, struct nn_error *err)
{
	size_t n = nn_subject_parameters(v->subject);
	struct way ways[2] = { usual(v, mode), usual(v, mode) };
	const char *names[NN_BENCH_DEVICES], *verdict = "depends";
	int devices = nn_bench_devices(v->b, names, err);
	struct gain g = unknown;
	char claim[160];

	if (devices < 0)
		return -1;
	snprintf(claim, sizeof claim, "%s: %zu parameters, %s 10000: the %s is faster", mode_name(mode), n,
		 n > PARAMETERS ? "more than" : "not more than", n > PARAMETERS ? "GPU" : "CPU");
	if (strcmp(names[devices - 1], "cpu") == 0 || strcmp(names[devices - 1], "cpu+openblas") == 0) {
		nn_bench_note(v->b, "gpu: not measured: no second device here");
	} else {
		if (!(ways[1].device = nn_bench_device(v->b, names[devices - 1], v->subject->dtype, err)) ||
		    compare(v, "gpu", mode, ways, &g, err) < 0)
			return -1;
		if (g.low > 1 || g.high < 1)
			verdict = (g.times > 1) == (n > PARAMETERS) ? "holds" : "does not hold";
	}
	return put(v, "gpu", claim, g.times, verdict, err);
}

/* A batch against others: the gains of `than` over each. */
static int against(struct advise *v, const char *rule, enum nn_bench_mode mode, const size_t pairs[2][2], struct gain gains[2],
		   struct nn_error *err)
{
	for (int i = 0; i < 2; i++) {
		struct way ways[2] = { usual(v, mode), usual(v, mode) };

		ways[0].batch = pairs[i][0];
		ways[1].batch = pairs[i][1];
		if (compare(v, rule, mode, ways, &gains[i], err) < 0)
			return -1;
	}
	return 0;
}

static int rule_1024(struct advise *v, enum nn_bench_mode mode, struct nn_error *err)
{
	static const size_t pairs[2][2] = { { 1000, 1024 }, { 1100, 1024 } };
	struct gain gains[2];
	char claim[160];

	snprintf(claim, sizeof claim, "%s: a batch of 1024 is faster per row than 1000 and 1100", mode_name(mode));
	return against(v, "batch-1024", mode, pairs, gains, err) < 0 ? -1
	       : put(v, "batch-1024", claim, sqrt(gains[0].times * gains[1].times), verdict_of(gains, 2), err);
}

static int rule_32(struct advise *v, enum nn_bench_mode mode, struct nn_error *err)
{
	static const size_t pairs[2][2] = { { 32, 128 }, { 32, 1024 } };
	struct gain gains[2];
	char claim[160];

	snprintf(claim, sizeof claim, "%s: a batch of 32 is too small: 128 and 1024 are faster per row", mode_name(mode));
	return against(v, "batch-32", mode, pairs, gains, err) < 0 ? -1
	       : put(v, "batch-32", claim, sqrt(gains[0].times * gains[1].times), verdict_of(gains, 2), err);
}

/* Each doubling has to pay; measured is what all threads give over one. */
static int rule_threads(struct advise *v, enum nn_bench_mode mode, struct nn_error *err)
{
	struct gain gains[16];
	double all = 1;
	char claim[160];
	int n = 0;

	for (int threads = 1; threads < v->b->threads && n < 16; n++) {
		struct way ways[2] = { usual(v, mode), usual(v, mode) };

		ways[0].threads = threads;
		ways[1].threads = threads = 2 * threads < v->b->threads ? 2 * threads : v->b->threads;
		if (compare(v, "threads", mode, ways, &gains[n], err) < 0)
			return -1;
		all *= gains[n].times;
	}
	snprintf(claim, sizeof claim, "%s: more threads are faster, up to %d, a batch of %zu", mode_name(mode), v->b->threads,
		 usual(v, mode).batch);
	return put(v, "threads", claim, n ? all : NAN, n ? verdict_of(gains, n) : "depends", err);
}

/* ---- round dimensions ---- */

static size_t round_up(size_t n, size_t multiple)
{
	return (n + multiple - 1) / multiple * multiple;
}

static size_t padded(void *arg, size_t out)
{
	return round_up(out, *(const size_t *)arg);
}

/* The whole model, its hidden layers padded. */
static int rule_multiple(struct advise *v, enum nn_bench_mode mode, size_t multiple, struct nn_error *err)
{
	struct way ways[2] = { usual(v, mode), usual(v, mode) };
	struct nn_subject *wide = NULL;
	struct nn_text text = {0};
	struct nn_error unfit;
	struct gain g = unknown;
	char rule[48], claim[160];
	int status = 0;

	snprintf(rule, sizeof rule, "multiple-of-%zu", multiple);
	if (nn_widened(v->subject->net, padded, &multiple, &text, err) < 0)
		return -1;
	if (strcmp(text.data, nn_net_text(v->subject->net)) == 0) {
		snprintf(claim, sizeof claim, "%s: all widths are multiples of %zu: nothing to pad", mode_name(mode), multiple);
	} else if (nn_subject_open(&wide, text.data, 1 + (int)v->subject->dtype, v->b->std->seed, &unfit) < 0) {
		snprintf(claim, sizeof claim, "%s: widths padded to multiples of %zu are faster", mode_name(mode), multiple);
		nn_bench_note(v->b, "%s: not measured: %s", rule, unfit.text);
	} else {
		snprintf(claim, sizeof claim, "%s: widths padded to multiples of %zu are faster", mode_name(mode), multiple);
		ways[1].subject = wide;
		status = compare(v, rule, mode, ways, &g, err);
	}
	nn_subject_free(wide);
	nn_text_free(&text);
	return status < 0 ? -1 : put(v, rule, claim, g.times, verdict_of(&g, 1), err);
}

/* A product as it is and padded: M rows, N outputs, K inputs. */
struct product {
	enum nn_op_id op;
	union {
		struct nn_dense dense;
		struct nn_conv2d conv2d;
	} attrs;
	struct nn_shape in;
	size_t rows, m, n, k;
};

static struct product product_of(const struct nn_program *program, const struct nn_node *node, size_t rows)
{
	const struct nn_shape *out = &program->values[node->out].shape;
	struct product p = { .op = node->op, .in = program->values[node->in[0]].shape, .rows = rows };

	if (node->op == NN_OP_dense) {
		p.attrs.dense = *(const struct nn_dense *)node->attrs;
		p.n = p.attrs.dense.out;
		p.k = p.in.dim[p.in.rank - 1];
	} else {
		p.attrs.conv2d = *(const struct nn_conv2d *)node->attrs;
		p.n = p.attrs.conv2d.out;
		p.k = p.in.dim[0] / p.attrs.conv2d.groups * p.attrs.conv2d.kernel[0] * p.attrs.conv2d.kernel[1];
	}
	p.m = rows * nn_shape_count(out) / p.n;
	return p;
}

/* The smallest number from n on of which each is worth `per` and all together a multiple. */
static size_t pad_to(size_t n, size_t per, size_t multiple)
{
	while (n * per % multiple != 0)
		n++;
	return n;
}

/* Rows, channels or values until M, N and K are multiples; a window and the size of an image stay. */
static struct product pad_product(const struct product *from, size_t multiple)
{
	struct product p = *from;
	size_t *in = p.op == NN_OP_dense ? &p.in.dim[p.in.rank - 1] : &p.in.dim[0];

	*in = pad_to(*in, from->k / *in, multiple);
	p.n = round_up(p.n, multiple);
	p.rows = pad_to(p.rows, from->m / from->rows, multiple);
	if (p.op == NN_OP_dense)
		p.attrs.dense.out = p.n;
	else
		p.attrs.conv2d.out = p.n;
	p.k = from->k / (p.op == NN_OP_dense ? from->in.dim[p.in.rank - 1] : from->in.dim[0]) * *in;
	p.m = from->m / from->rows * p.rows;
	return p;
}

static int compare_products(struct advise *v, const char *rule, const struct product products[2], struct gain *gain,
			    struct nn_error *err)
{
	struct nn_op_trial *trials[2] = { NULL, NULL };
	struct nn_measure m[2] = {0};
	int status = 0;

	*gain = unknown;
	for (int i = 0; i < 2 && status == 0; i++) {
		struct nn_op_trial_site site = { .op = products[i].op, .attrs = &products[i].attrs, .in = &products[i].in, .n_in = 1,
						 .rows = products[i].rows };

		status = nn_op_trial_new(&trials[i], &site, v->device, v->b->pool, err);
	}
	if (status == 0) {
		const struct nn_measure_call calls[2] = { { nn_op_trial_forward, trials[0] }, { nn_op_trial_forward, trials[1] } };

		status = nn_bench_measure(v->b, calls, 2, m, err);
	} else if (err->code == NN_ENOMEM) {
		nn_bench_note(v->b, "%s: not measured: %s", rule, err->text);
		status = 1;
	}
	nn_op_trial_free(trials[0]);
	nn_op_trial_free(trials[1]);
	if (status == 0 && m[0].n && m[1].n)
		*gain = gain_of(&m[0], &m[1], 1);
	return status < 0 ? -1 : 0;
}

/* A layer that misses a multiple; what padding gives it, the work on padding included. */
static int layer_multiple(struct advise *v, const struct nn_node *node, size_t rows, size_t multiple, struct nn_error *err)
{
	struct product p[2] = { product_of(v->subject->program, node, rows) };
	struct nn_net_line line = nn_net_line(v->subject->net, node->line);
	char rule[48], claim[256];
	struct gain g;

	if (node->op == NN_OP_conv2d && p[0].attrs.conv2d.groups != 1)
		return 0;
	p[1] = pad_product(&p[0], multiple);
	if (p[1].m == p[0].m && p[1].n == p[0].n && p[1].k == p[0].k)
		return 0;
	snprintf(rule, sizeof rule, "multiple-of-%zu", multiple);
	snprintf(claim, sizeof claim, "layer %s %s: M,N,K %zu,%zu,%zu padded to %zu,%zu,%zu is faster", line.name, line.layer, p[0].m,
		 p[0].n, p[0].k, p[1].m, p[1].n, p[1].k);
	if (compare_products(v, rule, p, &g, err) < 0)
		return -1;
	return put(v, rule, claim, g.times, verdict_of(&g, 1), err);
}

static int rule_layers(struct advise *v, enum nn_bench_mode mode, struct nn_error *err)
{
	static const size_t multiples[] = { 8, 16, 128 };
	const struct nn_program *p = v->subject->program;

	for (size_t k = 0; k < sizeof multiples / sizeof *multiples; k++)
		for (int i = 0; i < p->n_nodes && !nn_bench_stopped(v->b); i++)
			if ((p->nodes[i].op == NN_OP_dense || p->nodes[i].op == NN_OP_conv2d) &&
			    layer_multiple(v, &p->nodes[i], usual(v, mode).batch, multiples[k], err) < 0)
				return -1;
	return 0;
}

/* ---- the verb ---- */

static int advise(struct advise *v, enum nn_bench_mode mode, struct nn_error *err)
{
	static int (*const rules[])(struct advise *v, enum nn_bench_mode mode, struct nn_error *err) = {
		rule_gpu, rule_1024, rule_32, rule_threads,
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules && !nn_bench_stopped(v->b); i++)
		if (rules[i](v, mode, err) < 0)
			return -1;
	for (size_t multiple = 8; multiple <= 128 && !nn_bench_stopped(v->b); multiple *= multiple == 16 ? 8 : 2)
		if (rule_multiple(v, mode, multiple, err) < 0)
			return -1;
	return 0;
}

static int advise_all(struct advise *v, struct nn_error *err)
{
	bool one = nn_opt_given(v->b->setup.list, "mode");
	int last = NN_BENCH_TRAIN;

	if (!(v->device = nn_bench_device(v->b, "cpu", v->subject->dtype, err)))
		return -1;
	for (int mode = NN_BENCH_PREDICT; mode >= NN_BENCH_TRAIN && !nn_bench_stopped(v->b); mode--) {
		if (one && mode != v->b->options->mode)
			continue;
		last = mode;
		if (advise(v, (enum nn_bench_mode)mode, err) < 0)
			return -1;
	}
	return nn_bench_stopped(v->b) ? 0 : rule_layers(v, (enum nn_bench_mode)last, err);
}

int nn_verb_advise(struct nn_bench *b, int n, char **words, struct nn_error *err)
{
	struct advise v = { .b = b };
	struct nn_subject *subject = NULL;
	int status;

	(void)n;
	if (!nn_opt_given(b->setup.list, "time"))
		b->options->time_s = FIGURE_S;
	if (nn_bench_report(b, columns, &v.report, err) < 0)
		return -1;
	status = nn_bench_subject(b, words[0], &subject, err);
	v.subject = subject;
	if (status == 0)
		status = advise_all(&v, err);
	nn_subject_free(subject);
	return nn_report_close(v.report, status < 0 ? NULL : err) < 0 ? -1 : status;
}
