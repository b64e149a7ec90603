/* Two ways timed in turns, their results compared with the reference. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/speedup.h"
#include "bench/op/trial.h"

#define CLEARLY 0.05 /* a gain of less is not worth a rule */

static void gain_init(struct nn_speedup *gain)
{
	*gain = (struct nn_speedup){ .times = NAN, .low = NAN, .high = NAN };
}

/* rows: of the second for one of the first. */
static void take_times(struct nn_speedup *gain, const struct nn_measure m[2], double rows)
{
	const struct nn_measure *slow = &m[0], *fast = &m[1];

	gain->times = slow->mean_s / fast->mean_s * rows;
	gain->low = (slow->mean_s - slow->ci95_s) / (fast->mean_s + fast->ci95_s) * rows;
	gain->high =
		(slow->mean_s + slow->ci95_s) / fmax(fast->mean_s - fast->ci95_s, 1e-12) * rows;
}

/* Time did not suffice for one of them: says so. */
static bool too_short(struct nn_bench *b, const char *rule, const struct nn_measure m[2])
{
	for (int i = 0; i < 2; i++)
		if (m[i].n == 0) {
			if (!nn_bench_stopped(b))
				nn_bench_too_short(b, rule, &m[i]);
			return true;
		}
	return false;
}

/* What does not fit is left out, without an error. */
static int excuse(struct nn_bench *b, const char *rule, const struct nn_error *err)
{
	if (err->code != NN_ENOMEM)
		return -1;
	nn_bench_note(b, "%s: not measured: %s", rule, err->text);
	return 0;
}

/* ---- models ---- */

static int time_models(struct nn_bench *b, const char *rule, struct nn_trial *trials[2],
		       double rows, struct nn_speedup *gain, struct nn_error *err)
{
	const struct nn_measure_call calls[2] = { { nn_trial_call, trials[0] },
						  { nn_trial_call, trials[1] } };
	struct nn_measure m[2] = { 0 };

	nn_bench_doing(b, "%s", rule);
	if (nn_bench_measure(b, calls, 2, m, err) < 0)
		return -1;
	if (too_short(b, rule, m))
		return 0;
	if (nn_verdict_add_pair(&gain->verdict, trials, err) < 0)
		return -1;
	if (!gain->verdict.wrong)
		take_times(gain, m, rows);
	return 0;
}

int nn_speedup_models(struct nn_bench *b, const char *rule, const struct nn_trial_options ways[2],
		      struct nn_speedup *gain, struct nn_error *err)
{
	struct nn_trial *trials[2];
	int status;

	gain_init(gain);
	if (nn_trial_pair_new(trials, ways, err) < 0)
		return excuse(b, rule, err);
	status = time_models(b, rule, trials, (double)ways[1].batch / (double)ways[0].batch, gain,
			     err);
	nn_trial_pair_free(trials);
	return status;
}

/* ---- products ---- */

static int time_products(struct nn_bench *b, const char *rule, struct nn_op_trial *trials[2],
			 struct nn_speedup *gain, struct nn_error *err)
{
	const struct nn_measure_call calls[2] = { { nn_op_trial_forward, trials[0] },
						  { nn_op_trial_forward, trials[1] } };
	struct nn_measure m[2] = { 0 };

	for (int i = 0; i < 2; i++)
		if (nn_verdict_add_op(&gain->verdict, trials[i], false, err) < 0)
			return -1;
	if (gain->verdict.wrong)
		return 0;
	nn_bench_doing(b, "%s", rule);
	if (nn_bench_measure(b, calls, 2, m, err) < 0)
		return -1;
	if (!too_short(b, rule, m))
		take_times(gain, m, 1);
	return 0;
}

int nn_speedup_products(struct nn_bench *b, const char *rule, const struct nn_device *device,
			const struct nn_product products[2], struct nn_speedup *gain,
			struct nn_error *err)
{
	struct nn_op_trial *trials[2] = { NULL, NULL };
	int status = 0;

	gain_init(gain);
	for (int i = 0; i < 2 && status == 0; i++) {
		struct nn_op_site site = { .op = products[i].op,
					   .attrs = &products[i].attrs,
					   .in = &products[i].in,
					   .n_in = 1,
					   .rows = products[i].rows };

		status = nn_op_trial_new(&trials[i], &site,
					 &(struct nn_op_how){ .device = device, .pool = b->pool },
					 err);
	}
	status = status < 0 ? excuse(b, rule, err) : time_products(b, rule, trials, gain, err);
	nn_op_trial_free(trials[0]);
	nn_op_trial_free(trials[1]);
	return status;
}

/* ---- what they say ---- */

const char *nn_speedup_verdict(const struct nn_speedup *gains, int n)
{
	int good = 0, bad = 0;

	for (int i = 0; i < n; i++) {
		good += gains[i].low > 1 + CLEARLY;
		bad += gains[i].high <= 1 + CLEARLY;
	}
	return n == 0 ? "depends" : good == n ? "holds" : bad == n ? "does not hold" : "depends";
}

const char *nn_speedup_check(const struct nn_speedup *gains, int n)
{
	const char *text = n > 0 ? gains[0].verdict.check : "";

	for (int i = 0; i < n; i++)
		if (gains[i].verdict.wrong)
			return gains[i].verdict.check;
	return *text ? text : NULL;
}
