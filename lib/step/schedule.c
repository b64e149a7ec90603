/* Schedules: the rate of a step from its number alone. */
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "step/schedule.h"

static const char *const names[] = {
	[NN_RATE_CONSTANT] = "constant", [NN_RATE_COSINE] = "cosine",   [NN_RATE_STEPWISE] = "step",
	[NN_RATE_LINEAR] = "linear",     [NN_RATE_PLATEAU] = "plateau",
};
#define N_NAMES (sizeof names / sizeof *names)

static const char *next_name(const void *arg, size_t i)
{
	(void)arg;
	return i < N_NAMES ? names[i] : NULL;
}

static int parse_step(struct nn_schedule *s, const char *text, struct nn_error *err)
{
	const char *colon = strchr(text, ':');

	s->kind = NN_RATE_STEPWISE;
	if (!colon || !nn_parse_u64(text, (size_t)(colon - text), &s->every) || s->every == 0 ||
	    !nn_parse_f64(colon + 1, strlen(colon + 1), &s->factor) ||
	    !(s->factor > 0 && s->factor <= 1))
		return nn_fail(err, NN_EUSAGE,
			       "expected step:N:F, N steps (at least 1) and a factor F in (0, 1]");
	return 0;
}

int nn_schedule_parse(struct nn_schedule *s, const char *text, struct nn_error *err)
{
	const char *near;

	s->every = 0;
	s->factor = 0.1;
	if (strncmp(text, "step:", 5) == 0)
		return parse_step(s, text + 5, err);
	for (size_t i = 0; i < N_NAMES; i++)
		if (strcmp(names[i], text) == 0) {
			s->kind = (enum nn_schedule_kind)i;
			return 0;
		}
	near = nn_did_you_mean(text, next_name, NULL);
	return nn_fail(err, NN_EUSAGE,
		       "expected constant, cosine, step[:N:F], linear or plateau%s%s%s",
		       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/*
 * sin and cos of x in [0, pi/4], by their series: the error is below one unit in the last place of
 * f64.
 */
static double series(double x, int first)
{
	double term = first ? x : 1, sum = 0;

	for (int k = first; k < 24; k += 2) {
		sum += term;
		term *= -x * x / (double)((k + 1) * (k + 2));
	}
	return sum;
}

/* cos(pi p) for p in [0, 1]; libm's cos differs between versions and CPUs. */
static double cos_pi(double p)
{
	const double pi = 3.14159265358979323846;

	if (p > 0.5)
		return -cos_pi(1 - p);
	return p <= 0.25 ? series(pi * p, 0) : series(pi * (0.5 - p), 1);
}

/* x^n by squaring */
static double power(double x, uint64_t n)
{
	double result = 1;

	for (; n > 0; n >>= 1, x *= x)
		if (n & 1)
			result *= x;
	return result;
}

double nn_schedule_rate(const struct nn_schedule *s, uint64_t step)
{
	double p;

	if (step < s->warmup)
		return s->lr * ((double)(step + 1) / (double)s->warmup);
	if (s->kind == NN_RATE_CONSTANT)
		return s->lr;
	if (s->kind == NN_RATE_PLATEAU)
		return s->lr * power(0.1, s->drops);
	if (s->kind == NN_RATE_STEPWISE && s->every)
		return s->lr * power(s->factor, (step - s->warmup) / s->every);
	if (step >= s->planned)
		p = 1;
	else
		p = (double)(step - s->warmup) / (double)(s->planned - s->warmup);
	if (s->kind == NN_RATE_LINEAR)
		return s->lr * (1 - p);
	if (s->kind == NN_RATE_COSINE)
		return s->lr * (1 + cos_pi(p)) / 2;
	return s->lr * power(0.1, (uint64_t)(3 * p));
}
