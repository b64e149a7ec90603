/* How good the parameters are, and whether none were better. */
#include <math.h>

#include "model/model.h"
#include "step/evaluate.h"
#include "train/judge.h"
#include "parallel/ranks.h"
#include "train/figures.h"
#include "train/state/save.h"
#include "train/tell/curve.h"

static bool better(const struct nn_train *t, double value, double than)
{
	if (isnan(than))
		return !isnan(value);
	return t->rises ? value > than + 1e-6 * fabs(than) : value < than - 1e-6 * fabs(than);
}

/* Judge the value of --metric: best so far, patience, plateau. */
static void compare_best(struct nn_train *t, double value)
{
	struct nn_counters *c = &t->counters;

	t->found.metric = value;
	t->found.best = better(t, value, c->best);
	if (t->found.best) {
		c->best = value;
		c->best_step = c->step;
		c->best_epoch = nn_task_epoch(&t->task, t->counters.step);
		c->stale = 0;
		if (t->kept.best)
			nn_params_copy(t->task.program, t->task.device->dtype, t->worker.keeps,
				       t->kept.best, t->worker.params);
	} else if (++c->stale >= t->options->patience && t->options->patience) {
		c->done = 1;
	}
	if (t->schedule.kind != NN_RATE_PLATEAU)
		return;
	if (better(t, value, c->plateau)) {
		c->plateau = value;
		c->plateau_stale = 0;
	} else if (++c->plateau_stale >= 5) {
		c->plateau_stale = 0;
		c->drops++;
	}
}

int nn_train_evaluate_params(struct nn_train *t, void *const *params, struct nn_error *err)
{
	struct nn_comm *comm = nn_layout_in_parts(&t->layout)
				       ? nn_layout_evaluators(&t->layout, t->task.n_valid)
				       : NULL;
	void *const *all = t->whole ? t->whole : params;

	if (!t->evaluator)
		return 0;
	for (int p = 0; comm && p < t->task.program->n_params; p++)
		if (nn_comm_broadcast(comm, 0, all[p],
				      nn_shape_count(&t->task.program->params[p].desc.shape) *
					      nn_dtype_size(t->task.device->dtype),
				      err) < 0)
			return -1;
	return nn_evaluator_run(t->evaluator, (const void *const *)all, err);
}

int nn_train_evaluate(struct nn_train *t, struct nn_error *err)
{
	double value = NAN;

	t->found.held_out = false;
	if (t->task.n_valid == 0) {
		compare_best(t, nn_counters_metric(&t->counters, t->metric));
		nn_curve_evaluation(t->told.curve, t->counters.step, NAN, t->found.metric,
				    t->found.best);
		return 0;
	}
	if (nn_save_export_params(&t->kept, err) < 0)
		return -1;
	if (nn_train_evaluate_params(t, t->worker.params, err) < 0)
		return -1;
	t->found.held_out = t->evaluator != NULL;
	if (t->evaluator)
		nn_evaluator_get(t->evaluator, t->metric, &value);
	if (nn_layout_in_parts(&t->layout) &&
	    nn_comm_broadcast(t->layout.comm, 0, &value, sizeof value, err) < 0)
		return -1;
	compare_best(t, value);
	if (t->evaluator)
		nn_evaluator_get(t->evaluator, "loss", &value);
	nn_curve_evaluation(t->told.curve, t->counters.step, value, t->found.metric, t->found.best);
	return 0;
}
