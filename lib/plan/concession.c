/* A training planned anew with less of something. */
#include "plan/concession.h"
#include "plan/fit.h"

const struct nn_concession_kind nn_concession_kinds[NN_CONCESSIONS] = {
	[NN_RECOMPUTE] = { { "recompute" }, 1 },
	[NN_LESS_THREADS] = { { "threads" }, 1 },
	[NN_LESS_LEAVES] = { { "leaves" }, 2 },
	[NN_LESS_PRECISION] = { { "precision" }, 1 },
	[NN_LESS_OPTIMIZER] = { { "optimizer", "momentum", "nesterov" }, 2 },
};

/* ---- each of them; false: there is no such thing to give ---- */

static bool recompute(struct nn_variant *v, int level)
{
	size_t had = v->recipe.recompute;

	v->recipe.recompute = (size_t)level;
	return had == 0;
}

static bool fewer_threads(struct nn_variant *v, int level)
{
	bool some = nn_pool_threads(v->task.pool) > level;

	v->task.pool = NULL;
	return some;
}

static bool fewer_leaves(struct nn_variant *v, int level)
{
	size_t leaves = level == 1 ? 2 : 1, had = v->recipe.leaves;

	v->recipe.leaves = leaves;
	return had > leaves && (size_t)nn_layout_n_sharers(v->plan.layout) <= leaves;
}

static bool less_precision(struct nn_variant *v, int level)
{
	bool some = v->task.device->dtype == NN_F64 && level == 1;

	if (some)
		v->task.device = nn_device_open(v->task.device->name, NN_F32, NULL);
	return some && v->task.device;
}

static bool smaller_optimizer(struct nn_variant *v, int level)
{
	struct nn_recipe *r = &v->recipe;
	struct nn_optimizer_options o = nn_recipe_optimizer(r);
	size_t slots = level == 1 ? 1 : 0;

	r->optimizer = (int)nn_optimizer_keeping(slots);
	r->momentum = 0;
	r->nesterov = false;
	return nn_optimizer_count(&o) > slots;
}

static bool (*const concede[NN_CONCESSIONS])(struct nn_variant *v,
					     int level) = { recompute, fewer_threads, fewer_leaves,
							    less_precision, smaller_optimizer };

/* ---- a plan without them ---- */

static void begin(struct nn_variant *v, const struct nn_plan *plan)
{
	*v = (struct nn_variant){ .plan = *plan,
				  .task = *plan->task,
				  .recipe = *plan->task->recipe };
	v->plan.task = &v->task;
	v->task.recipe = &v->recipe;
}

bool nn_may_concede(const struct nn_plan *plan, const struct nn_command *command, int kind)
{
	struct nn_variant v;

	if (command->resumes && kind > NN_LESS_THREADS)
		return false;
	begin(&v, plan);
	return concede[kind](&v, nn_concession_kinds[kind].levels);
}

bool nn_concede(struct nn_variant *v, const struct nn_plan *plan, const struct nn_concession *c)
{
	struct nn_error err;

	begin(v, plan);
	if (nn_layout_n_sharers(plan->layout) > 1 || nn_layout_parts(plan->layout) > 1)
		v->task.logs = true;
	for (int kind = 0; kind < NN_CONCESSIONS; kind++)
		if (c->level[kind] && !concede[kind](v, c->level[kind]))
			return false;
	return nn_fit_choose(&v->plan, &v->plan.fit, &err) == 0 && v->plan.fit.fits;
}

size_t nn_variant_need(struct nn_variant *v, const struct nn_plan *plan)
{
	struct nn_fit *fit = &v->plan.fit, found;
	struct nn_error err;

	v->task.logs = plan->task->logs;
	return nn_fit_need(plan,
			   nn_fit_plan(&v->plan, fit->micro, &found, &err) < 0 ? fit : &found);
}
