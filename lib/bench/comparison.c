/* Two trials of a model, timed in turns for as long as it takes to see who is faster. */
#include <math.h>

#include "bench/comparison.h"

#define FIRST_S 0.1 /* of each side; four times as long while the intervals overlap */
#define MOST_S 2.0  /* two that are as fast as one another need not be told apart */

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

int nn_comparison(struct nn_bench *bench, const struct nn_trial_options ways[2],
		  struct nn_comparison_times *t, struct nn_error *err)
{
	struct nn_measure m[3] = { 0 };
	struct nn_trial *pair[2];
	int status;

	*t = (struct nn_comparison_times){ .copies = ways[1].device->remote != NULL };
	if (nn_trial_pair_new(pair, ways, err) < 0)
		return -1;
	status = measure(bench,
			 (struct nn_measure_call[]){ { nn_trial_call, pair[0] },
						     { nn_trial_call, pair[1] },
						     { nn_trial_copies, pair[1] } },
			 t->copies ? 3 : 2, m, err);
	if (status == 0 && m[0].n && m[1].n && !nn_bench_stopped(bench))
		status = nn_verdict_add_pair(&t->verdict, pair, err);
	nn_trial_pair_free(pair);
	t->a = m[0];
	t->b = m[1];
	t->b_first_s = m[1].first_s;
	t->a_s = m[0].n ? m[0].mean_s : NAN;
	t->b_s = m[1].n ? m[1].mean_s : NAN;
	t->b_nocopy_s = t->b_s - (t->copies ? m[2].mean_s : 0);
	return status;
}
