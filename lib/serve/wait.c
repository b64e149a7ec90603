/* When a batch is sent: full, out of time, or because waiting does not pay. */
#include "serve/wait.h"

/* Computing and answering take this much longer than the table says, now and then. */
#define MARGIN 1.5

static struct nn_wait now(enum nn_dispatch because)
{
	return (struct nn_wait){ .because = because };
}

/* The last moment at which an answer is in time; *because is set if it is before *until. */
static void before(struct nn_wait *wait, double moment, enum nn_dispatch because)
{
	if (moment < wait->until)
		*wait = (struct nn_wait){ moment, because };
}

struct nn_wait nn_wait_decide(const struct nn_wait_view *v)
{
	double cost = MARGIN * nn_costs_at(v->costs, v->queued);
	struct nn_wait wait;

	if (v->queued >= v->max_batch)
		return now(NN_FULL);
	if (v->draining)
		return now(NN_DRAIN);
	if (v->max_delay <= 0)
		return now(NN_IDLE);
	wait = (struct nn_wait){ v->oldest + v->max_delay, NN_TIMEOUT };
	before(&wait, v->deadline - cost, NN_DEADLINE);
	if (v->slo > 0)
		before(&wait, v->oldest + v->slo - cost, NN_TIMEOUT);
	if (wait.until <= v->now)
		wait.until = 0;
	return wait;
}
