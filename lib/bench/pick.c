/*
 * nn-bench pick: the device that is fastest for a model and a use, one word.
 *
 * Medians are compared, copies included, the first call not. Stored answers hold for batches of
 * one power of two and for the devices that were present; nn-predict asks for --batch where it is
 * given, else for one row.
 */
#include <math.h>
#include <stdio.h>

#include "base/output.h"
#include "bench/trial.h"
#include "device/stored.h"

/* for a device at most, so that an answer comes at once; --time says otherwise */
#define PICK_S 0.2

struct candidate {
	const char *name;
	struct nn_trial *trial;
	struct nn_measure m;
	struct nn_verdict verdict;
};

/*
 * A device that cannot, be it for want of memory or of kernels, is left out; the first error is the
 * answer where none can.
 */
static int open_trial(struct nn_bench *b, const struct nn_trial_options *use, struct candidate *c,
		      struct nn_error *err)
{
	struct nn_trial_options o = *use;
	struct nn_error why = { 0 };

	o.device = nn_bench_device_for(b, c->name, o.subject, o.mode == NN_BENCH_PREDICT, &o.int8,
				       &why);
	if (o.device && nn_trial_new(&c->trial, &o, &why) == 0)
		return 0;
	if (b->std->verbose)
		nn_bench_note(b, "%s is left out: %s", c->name, why.text);
	if (err && err->code == NN_OK)
		*err = why;
	return -1;
}

static int measure(struct nn_bench *b, struct candidate *c, int n, struct nn_error *err)
{
	struct nn_measure_call calls[NN_BENCH_DEVICES];
	struct nn_measure m[NN_BENCH_DEVICES];
	double kept = b->options->time_s;
	int status;

	for (int i = 0; i < n; i++)
		calls[i] = (struct nn_measure_call){ nn_trial_call, c[i].trial };
	if (!nn_opt_given(b->setup.list, "time"))
		b->options->time_s = PICK_S;
	status = nn_bench_measure(b, calls, (size_t)n, m, err);
	b->options->time_s = kept;
	for (int i = 0; i < n && status == 0; i++) {
		c[i].m = m[i];
		if (!nn_bench_stopped(b))
			status = nn_verdict_add(&c[i].verdict, c[i].trial, err);
	}
	return status;
}

/* Of two that chance may have put in this order the answer says so, on a line of its own. */
static void note_undecided(const struct nn_bench *b, const struct candidate *c, int n, int best)
{
	for (int i = 0; i < n; i++)
		if (i != best && !c[i].verdict.wrong && c[i].m.n && c[best].m.n &&
		    fabs(c[i].m.mean_s - c[best].m.mean_s) <= c[i].m.ci95_s + c[best].m.ci95_s)
			nn_bench_note(b,
				      "undecided: %s and %s take the same time, as far as was "
				      "measured",
				      c[best].name, c[i].name);
}

/* One call of each is an answer too, where the time suffices for no more. */
static int fastest(struct nn_bench *b, const struct candidate *c, int n)
{
	int best = -1;

	for (int i = 0; i < n; i++) {
		double s = c[i].m.n ? nn_measure_usual(&c[i].m) : c[i].m.first_s,
		       than = best < 0      ? INFINITY
			      : c[best].m.n ? nn_measure_usual(&c[best].m)
					    : c[best].m.first_s;

		if (c[i].verdict.wrong)
			nn_bench_note(b, "%s is left out: its results are wrong", c[i].name);
		else if (s < than)
			best = i;
		if (b->std->verbose)
			nn_bench_note(b, "%s: %.4g s", c[i].name, s);
	}
	if (best >= 0)
		note_undecided(b, c, n, best);
	return best;
}

static int choose(struct nn_bench *b, const struct nn_trial_options *use, char name[NN_DEVICE_NAME],
		  struct nn_error *err)
{
	const char *names[NN_BENCH_DEVICES];
	struct candidate c[NN_BENCH_DEVICES] = { { .trial = NULL } };
	struct nn_error why = { 0 };
	int found = nn_bench_devices(b, names, err), n = 0, best = 0, status = 0;

	for (int i = 0; i < found; i++) {
		c[n].name = names[i];
		n += open_trial(b, use, &c[n], &why) == 0;
	}
	if (n == 0) {
		if (err)
			*err = why;
		return -1;
	}
	if (found > 1 && (status = measure(b, c, n, err)) == 0 && !nn_bench_stopped(b))
		best = fastest(b, c, n);
	if (status == 0 && best < 0)
		status = nn_fail(err, NN_EFAIL, "%s: the results of every device are wrong",
				 use->subject->name);
	if (status == 0)
		snprintf(name, NN_DEVICE_NAME, "%s", c[best].name);
	for (int i = 0; i < n; i++)
		nn_trial_free(c[i].trial);
	return status;
}

static int take_use(const struct nn_bench *b, struct nn_trial_options *use, struct nn_error *err)
{
	bool given = nn_opt_given(b->setup.list, "mode");

	use->mode = given ? b->options->mode : NN_BENCH_PREDICT;
	use->threads = b->threads;
	use->most_bytes = (size_t)8 << 20;
	return nn_bench_batch_or(b, "pick", use->mode == NN_BENCH_TRAIN ? use->subject->batch : 1,
				 &use->batch, err);
}

static int put_answer(const struct nn_bench *b, const char *name, struct nn_error *err)
{
	struct nn_output *output;

	if (nn_output_open(&output, b->std->output, false, err) < 0)
		return -1;
	return nn_output_close(output, nn_output_printf(output, err, "%s\n", name), err);
}

int nn_verb_pick(struct nn_bench *b, int n, char **words, struct nn_error *err)
{
	struct nn_bench_model *subject = NULL;
	struct nn_trial_options use = { 0 };
	char name[NN_DEVICE_NAME];
	int status = -1;

	(void)n;
	if (nn_bench_subject(b, words[0], &subject, err) < 0)
		return -1;
	use.subject = subject;
	if (take_use(b, &use, err) == 0 && choose(b, &use, name, err) == 0)
		status = 0;
	if (status == 0 && b->options->store && !nn_bench_stopped(b)) {
		struct nn_use stored = { nn_net_text(subject->net), use.mode == NN_BENCH_TRAIN,
					 use.batch, subject->dtype };

		status = nn_device_store(&stored, name, err);
	}
	if (status == 0 && !nn_bench_stopped(b))
		status = put_answer(b, name, err);
	nn_bench_model_free(subject);
	return status;
}
