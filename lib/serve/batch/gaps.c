/* Running means, as of the round trips of TCP (RFC 6298): a mean and a mean deviation. */
#include <math.h>
#include <stdbool.h>

#include "serve/batch/gaps.h"

#define STEP 0.0625

static struct nn_gap *state(struct nn_gaps *g, size_t pending)
{
	return &g->states[pending < NN_GAP_STATES ? pending : NN_GAP_STATES - 1];
}

static double step_of(struct nn_gap *s)
{
	double step = 1.0 / ++s->seen;

	s->seen -= s->seen > 64;
	return step > STEP ? step : STEP;
}

void nn_gaps_came(struct nn_gaps *g, double now, size_t pending, double rows)
{
	struct nn_gap *s = state(g, pending);
	double gap = now - g->since, step;
	bool known = s->part > 0, begins = g->since == 0;

	g->rows += (rows - g->rows) * (g->rows == 0 ? 1 : STEP);
	g->since = now;
	if (begins)
		return;
	step = step_of(s);
	s->part += (1 - s->part) * step;
	if (!known) {
		s->mean = gap;
		s->deviation = gap / 2;
		return;
	}
	/* one pause for lunch does not make all gaps long */
	gap = fmin(gap, 4 * nn_gap_patience(s));
	s->deviation += (fabs(gap - s->mean) - s->deviation) * step;
	s->mean += (gap - s->mean) * step;
}

void nn_gaps_answered(struct nn_gaps *g, double now, size_t pending, size_t can_come)
{
	struct nn_gap *s = state(g, pending);

	/* whether somebody would have come soon is not known */
	if (can_come > 0 && (s->seen == 0 || now - g->since >= nn_gap_patience(s)))
		s->part -= s->part * step_of(s);
	g->since = now;
}

struct nn_gap nn_gaps_next(const struct nn_gaps *g, size_t pending)
{
	size_t at = pending < NN_GAP_STATES ? pending : NN_GAP_STATES - 1;

	for (size_t i = at + 1; i-- > 0;)
		if (g->states[i].seen > 0)
			return g->states[i];
	while (at < NN_GAP_STATES - 1 && g->states[at].seen == 0)
		at++;
	return g->states[at];
}

double nn_gap_patience(const struct nn_gap *gap)
{
	return gap->mean + 4 * gap->deviation;
}
