/* How good the parameters are, and whether none were better. */
#include <math.h>

#include "train/judge.h"
#include "train/ranks.h"
#include "train/record.h"
#include "train/save.h"

static bool better(const struct nn_train *t, double value, double than)
{
	if (isnan(than))
		return !isnan(value);
	return t->rises ? value > than + 1e-6 * fabs(than) : value < than - 1e-6 * fabs(than);
}

/* Judge the value of --metric: best so far, patience, plateau. */
static void judge(struct nn_train *t, double value)
{
	struct nn_counters *c = &t->counters;

	t->found.metric = value;
	t->found.best = better(t, value, c->best);
	if (t->found.best) {
		c->best = value;
		c->best_step = c->step;
		c->best_epoch = nn_train_epoch(t);
		c->stale = 0;
		if (t->best)
			nn_params_copy(t->program, t->device->dtype, t->keeps, t->best, t->params);
	} else if (++c->stale >= t->options->patience && t->options->patience) {
		c->done = 1;
	}
	if (t->schedule.kind != NN_PLATEAU)
		return;
	if (better(t, value, c->plateau)) {
		c->plateau = value;
		c->plateau_stale = 0;
	} else if (++c->plateau_stale >= 5) {
		c->plateau_stale = 0;
		c->drops++;
	}
}

int nn_train_evaluate(struct nn_train *t, void *const *params, struct nn_error *err)
{
	struct nn_comm *comm = nn_train_in_parts(t) ? nn_train_evaluators(t) : NULL;
	void *const *all = t->whole ? t->whole : params;

	if (!t->evaluator)
		return 0;
	for (int p = 0; comm && p < t->program->n_params; p++)
		if (nn_comm_broadcast(comm, 0, all[p],
				      nn_shape_count(&t->program->params[p].desc.shape) *
					      nn_dtype_size(t->device->dtype),
				      err) < 0)
			return -1;
	return nn_evaluator_run(t->evaluator, (const void *const *)all, err);
}

int nn_train_judge(struct nn_train *t, struct nn_error *err)
{
	double value = NAN;

	t->found.held_out = false;
	if (t->n_valid == 0) {
		judge(t, nn_train_passed(t, t->metric));
		nn_curve_evaluation(t->curve, t->counters.step, NAN, t->found.metric,
				    t->found.best);
		return 0;
	}
	if (nn_train_collect(t, err) < 0)
		return -1;
	if (nn_train_evaluate(t, t->params, err) < 0)
		return -1;
	t->found.held_out = t->evaluator != NULL;
	if (t->evaluator)
		nn_evaluator_get(t->evaluator, t->metric, &value);
	if (nn_train_in_parts(t) && nn_comm_broadcast(t->comm, 0, &value, sizeof value, err) < 0)
		return -1;
	judge(t, value);
	if (t->evaluator)
		nn_evaluator_get(t->evaluator, "loss", &value);
	nn_curve_evaluation(t->curve, t->counters.step, value, t->found.metric, t->found.best);
	return 0;
}
