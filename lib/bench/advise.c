/*
 * nn-bench advise: rules of thumb, each measured on the given model.
 *
 * A rule whose other side is not present, or not distinguished from chance, "depends".
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/speedup.h"
#include "model/widen.h"

#define PARAMETERS 10000
#define SAMPLE_BYTES ((size_t)16 << 20)
#define FIGURE_S 1 /* of a figure at most where --time is not given */

static const struct nn_report_column columns[] = {
	{ "rule", 16, 0 },    { "claim", 64, 0 }, { "measured", 0, 0 },
	{ "verdict", 13, 0 }, { "check", 8, 1 },  { NULL, 0, 0 },
};

struct advise {
	struct nn_bench *b;
	struct nn_bench_work w;
	const struct nn_device *device;
};

/* On a table for people "depends" says why: no figure, or one that chance may have made. */
static const char *worded(const struct advise *v, const char *verdict, double measured, bool wrong)
{
	if (v->b->options->to != NN_REPORT_TABLE || wrong || strcmp(verdict, "depends") != 0)
		return verdict;
	return isfinite(measured) ? "undecided" : "not measured";
}

/*
 * A rule by its gains, with this verdict, or where it is NULL with theirs. A wrong result is a row
 * without a figure.
 */
static int put(struct advise *v, const char *rule, const char *claim, double measured,
	       const char *verdict, const struct nn_speedup *gains, int n, struct nn_error *err)
{
	bool wrong = false;

	for (int i = 0; i < n; i++)
		wrong |= gains[i].verdict.wrong;
	nn_report_text(v->w.report, "rule", rule);
	nn_report_text(v->w.report, "claim", claim);
	nn_report_real(v->w.report, "measured", wrong ? NAN : measured);
	if (wrong || !verdict)
		verdict = wrong ? "depends" : nn_speedup_verdict(gains, n);
	nn_report_text(v->w.report, "verdict", worded(v, verdict, measured, wrong));
	nn_report_check(v->w.report, nn_speedup_check(gains, n), wrong);
	return nn_report_row(v->w.report, err);
}

static const struct nn_speedup unknown = { .times = NAN, .low = NAN, .high = NAN };

static struct nn_trial_options usual(const struct advise *v, enum nn_bench_mode mode)
{
	return (struct nn_trial_options){ .subject = v->w.subject,
					  .device = v->device,
					  .threads = v->b->threads,
					  .mode = mode,
					  .batch = mode == NN_BENCH_TRAIN ? v->w.subject->batch : 1,
					  .most_bytes = SAMPLE_BYTES };
}

/* ---- the rules ---- */

/* "More than 10k parameters: use the GPU", and so fewer: do not. */
static int rule_gpu(struct advise *v, enum nn_bench_mode mode, struct nn_error *err)
{
	size_t n = nn_bench_model_parameters(v->w.subject);
	struct nn_trial_options ways[2] = { usual(v, mode), usual(v, mode) };
	const char *names[NN_BENCH_DEVICES], *verdict = "depends";
	int devices = nn_bench_devices(v->b, names, err);
	struct nn_speedup g = unknown;
	char claim[160];

	if (devices < 0)
		return -1;
	snprintf(claim, sizeof claim, "%s: %zu parameters, %s 10000: the %s is faster",
		 nn_bench_modes[mode], n, n > PARAMETERS ? "more than" : "not more than",
		 n > PARAMETERS ? "GPU" : "CPU");
	if (strcmp(names[devices - 1], "cpu") == 0 ||
	    strcmp(names[devices - 1], "cpu+openblas") == 0) {
		nn_bench_note(v->b, "gpu: not measured: no second device here");
	} else {
		if (!(ways[1].device = nn_bench_device(v->b, names[devices - 1],
						       v->w.subject->dtype, err)) ||
		    nn_speedup_models(v->b, "gpu", ways, &g, err) < 0)
			return -1;
		if (g.low > 1 || g.high < 1)
			verdict = (g.times > 1) == (n > PARAMETERS) ? "holds" : "does not hold";
	}
	return put(v, "gpu", claim, g.times, verdict, &g, 1, err);
}

/* A batch against others: its gains over each. */
static int against(struct advise *v, enum nn_bench_mode mode, const char *rule,
		   const size_t pairs[2][2], const char *what, struct nn_error *err)
{
	struct nn_speedup gains[2];
	char claim[160];

	for (int i = 0; i < 2; i++) {
		struct nn_trial_options ways[2] = { usual(v, mode), usual(v, mode) };

		ways[0].batch = pairs[i][0];
		ways[1].batch = pairs[i][1];
		if (nn_speedup_models(v->b, rule, ways, &gains[i], err) < 0)
			return -1;
	}
	snprintf(claim, sizeof claim, "%s: a batch of %s", nn_bench_modes[mode], what);
	return put(v, rule, claim, sqrt(gains[0].times * gains[1].times), NULL, gains, 2, err);
}

static int rule_1024(struct advise *v, enum nn_bench_mode mode, struct nn_error *err)
{
	static const size_t pairs[2][2] = { { 1000, 1024 }, { 1100, 1024 } };

	return against(v, mode, "batch-1024", pairs, "1024 is faster per row than 1000 and 1100",
		       err);
}

static int rule_32(struct advise *v, enum nn_bench_mode mode, struct nn_error *err)
{
	static const size_t pairs[2][2] = { { 32, 128 }, { 32, 1024 } };

	return against(v, mode, "batch-32", pairs,
		       "32 is too small: 128 and 1024 are faster per row", err);
}

/* Each doubling has to pay; measured is what all threads give over one. */
static int rule_threads(struct advise *v, enum nn_bench_mode mode, struct nn_error *err)
{
	struct nn_speedup gains[16];
	double all = 1;
	char claim[160];
	int n = 0;

	for (int threads = 1; threads < v->b->threads && n < 16; n++) {
		struct nn_trial_options ways[2] = { usual(v, mode), usual(v, mode) };

		ways[0].threads = threads;
		ways[1].threads = threads =
			2 * threads < v->b->threads ? 2 * threads : v->b->threads;
		if (nn_speedup_models(v->b, "threads", ways, &gains[n], err) < 0)
			return -1;
		all *= gains[n].times;
	}
	snprintf(claim, sizeof claim, "%s: more threads are faster, up to %d, a batch of %zu",
		 nn_bench_modes[mode], v->b->threads, usual(v, mode).batch);
	return put(v, "threads", claim, n ? all : NAN, NULL, gains, n, err);
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
static int rule_multiple(struct advise *v, enum nn_bench_mode mode, size_t multiple,
			 struct nn_error *err)
{
	struct nn_trial_options ways[2] = { usual(v, mode), usual(v, mode) };
	struct nn_bench_model *wide = NULL;
	struct nn_text text = { 0 };
	struct nn_error unfit;
	struct nn_speedup g = unknown;
	char rule[48], claim[160];
	int status = 0;
	bool pads;

	snprintf(rule, sizeof rule, "multiple-of-%zu", multiple);
	if (nn_widened(v->w.subject->net, padded, &multiple, &text, err) < 0)
		return -1;
	pads = strcmp(text.data, nn_net_text(v->w.subject->net)) != 0;
	snprintf(claim, sizeof claim,
		 pads ? "%s: widths padded to multiples of %zu are faster"
		      : "%s: all widths are multiples of %zu: nothing to pad",
		 nn_bench_modes[mode], multiple);
	if (pads && nn_bench_model_open(&wide, text.data, 1 + (int)v->w.subject->dtype,
					v->b->std->seed, &unfit) < 0) {
		nn_bench_note(v->b, "%s: not measured: %s", rule, unfit.text);
	} else if (pads) {
		ways[1].subject = wide;
		status = nn_speedup_models(v->b, rule, ways, &g, err);
	}
	nn_bench_model_free(wide);
	nn_text_free(&text);
	return status < 0 ? -1 : put(v, rule, claim, g.times, NULL, &g, 1, err);
}

/* A layer that misses a multiple; what padding gives it, the work on padding included. */
static int layer_multiple(struct advise *v, const struct nn_node *node, size_t rows,
			  size_t multiple, struct nn_error *err)
{
	struct nn_net_line line = nn_net_line(v->w.subject->net, node->line);
	struct nn_product p[2];
	char rule[48], claim[256];
	struct nn_speedup g;

	if (!nn_product_of(&p[0], v->w.subject->program, node, rows) ||
	    !nn_product_pad(&p[1], &p[0], multiple))
		return 0;
	snprintf(rule, sizeof rule, "multiple-of-%zu", multiple);
	snprintf(claim, sizeof claim,
		 "layer %s %s: M,N,K %zu,%zu,%zu padded to %zu,%zu,%zu is faster", line.name,
		 line.layer, p[0].m, p[0].n, p[0].k, p[1].m, p[1].n, p[1].k);
	if (nn_speedup_products(v->b, rule, v->device, p, &g, err) < 0)
		return -1;
	return put(v, rule, claim, g.times, NULL, &g, 1, err);
}

static int rule_layers(struct advise *v, enum nn_bench_mode mode, struct nn_error *err)
{
	static const size_t multiples[] = { 8, 16, 128 };
	const struct nn_program *p = v->w.subject->program;

	for (size_t k = 0; k < sizeof multiples / sizeof *multiples; k++)
		for (int i = 0; i < p->n_nodes && !nn_bench_stopped(v->b); i++)
			if (layer_multiple(v, &p->nodes[i], usual(v, mode).batch, multiples[k],
					   err) < 0)
				return -1;
	return 0;
}

/* ---- the verb ---- */

static int advise(struct advise *v, enum nn_bench_mode mode, struct nn_error *err)
{
	static int (*const rules[])(struct advise * v, enum nn_bench_mode mode,
				    struct nn_error * err) = {
		rule_gpu,
		rule_1024,
		rule_32,
		rule_threads,
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules && !nn_bench_stopped(v->b); i++)
		if (rules[i](v, mode, err) < 0)
			return -1;
	for (size_t multiple = 8; multiple <= 128 && !nn_bench_stopped(v->b);
	     multiple *= multiple == 16 ? 8 : 2)
		if (rule_multiple(v, mode, multiple, err) < 0)
			return -1;
	return 0;
}

static int advise_all(void *arg, struct nn_error *err)
{
	struct advise *v = arg;
	bool one = nn_opt_given(v->b->setup.list, "mode");
	int last = NN_BENCH_TRAIN;

	if (!(v->device = nn_bench_device(v->b, "cpu", v->w.subject->dtype, err)))
		return -1;
	for (int mode = NN_BENCH_PREDICT; mode >= NN_BENCH_TRAIN && !nn_bench_stopped(v->b);
	     mode--) {
		if (one && mode != (int)v->b->options->mode)
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

	(void)n;
	if (!nn_opt_given(b->setup.list, "time"))
		b->options->time_s = FIGURE_S;
	return nn_bench_on_model(b, words[0], columns, &v.w, advise_all, &v, err);
}
