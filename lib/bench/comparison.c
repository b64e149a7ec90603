/* Two trials of a model, timed in turns for as long as it takes to see who is faster. */
#include <math.h>

#include "bench/comparison.h"

#define SAMPLE_BYTES ((size_t)4 << 20)
#define FIRST_S 0.1 /* of each side; four times as long while the intervals overlap */
#define MOST_S 2.0  /* two that are as fast as one another need not be told apart */

static int open_trial(struct nn_bench *bench, const struct nn_comparison *d,
		      const struct nn_contender *side, const struct nn_bench_model *subject,
		      struct nn_trial **trial, const struct nn_device **device,
		      struct nn_error *err)
{
	struct nn_trial_options o = { .subject = subject,
				      .threads = side->threads,
				      .mode = d->mode,
				      .batch = d->batch,
				      .most_bytes = SAMPLE_BYTES };

	*device = o.device = nn_bench_device(bench, side->name, subject->dtype, err);
	return o.device ? nn_trial_new(trial, &o, err) : -1;
}

static bool told_apart(const struct nn_measure *a, const struct nn_measure *b)
{
	return a->n > 0 && b->n > 0 && fabs(a->mean_s - b->mean_s) > a->ci95_s + b->ci95_s;
}

static int measure(struct nn_bench *bench, const struct nn_measure_call *calls, size_t n,
		   struct nn_measure *m, struct nn_error *err)
{
	double most = bench->options->time_s, first = NAN;
	int status = 0;

	for (double s = fmin(FIRST_S, most); status == 0; s = fmin(4 * s, most)) {
		bench->options->time_s = s;
		status = nn_bench_measure(bench, calls, n, m, err);
		if (isnan(first))
			first = m[1].first_s;
		if (told_apart(&m[0], &m[1]) || (m[0].n && m[1].n && s >= MOST_S) || s >= most ||
		    nn_bench_stopped(bench))
			break;
	}
	m[1].first_s = first;
	bench->options->time_s = most;
	return status;
}

int nn_comparison(struct nn_bench *bench, const struct nn_comparison *d,
		  struct nn_comparison_times *t, struct nn_error *err)
{
	struct nn_trial *a = NULL, *b = NULL;
	const struct nn_device *device;
	struct nn_measure m[3] = { 0 };
	int status = open_trial(bench, d, d->a, d->subject_a, &a, &device, err);

	*t = (struct nn_comparison_times){
		.a_s = NAN, .b_s = NAN, .b_nocopy_s = NAN, .b_first_s = NAN
	};
	if (status == 0)
		status = open_trial(bench, d, d->b, d->subject_b, &b, &device, err);
	if (status == 0) {
		struct nn_measure_call calls[3] = { { nn_trial_call, a },
						    { nn_trial_call, b },
						    { nn_trial_copies, b } };

		t->copies = device->remote != NULL;
		status = measure(bench, calls, t->copies ? 3 : 2, m, err);
	}
	if (status == 0 && m[0].n && m[1].n && !nn_bench_stopped(bench) &&
	    (nn_verdict_add(&t->verdict, a, err) < 0 || nn_verdict_add(&t->verdict, b, err) < 0))
		status = -1;
	nn_trial_free(a);
	nn_trial_free(b);
	if (status < 0)
		return -1;
	t->a = m[0];
	t->b = m[1];
	t->b_first_s = m[1].first_s;
	t->a_s = m[0].n ? m[0].mean_s : NAN;
	t->b_s = m[1].n ? m[1].mean_s : NAN;
	t->b_nocopy_s = t->b_s - (t->copies ? m[2].mean_s : 0);
	return 0;
}

int nn_comparison_fits(struct nn_bench *bench, const struct nn_comparison *d, struct nn_error *err)
{
	const struct nn_device *device;
	struct nn_trial *trial = NULL;
	int status = open_trial(bench, d, d->b, d->subject_b, &trial, &device, err);

	nn_trial_free(trial);
	return status;
}
