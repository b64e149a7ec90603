/* A training planned anew with less of something. */
#include "model/widen.h"
#include "plan/fit.h"
#include "plan/vary.h"

#define ROUND 8 /* widths are multiples of it where they can be */

const unsigned char nn_give_degrees[NN_GIVE_KINDS] = {
	[NN_GIVE_THREADS] = 1,   [NN_GIVE_LEAVES] = 2, [NN_GIVE_PRECISION] = 1,
	[NN_GIVE_OPTIMIZER] = 2, [NN_GIVE_WIDTH] = 1,
};

static size_t slots(const struct nn_recipe *o)
{
	struct nn_optimizer_options options = nn_recipe_optimizer(o);

	return nn_optimizer_bytes(&options, 1, 1, NN_F32) / nn_dtype_size(NN_F32) - 1;
}

static bool give_up_threads(struct nn_variant *v, int degree)
{
	(void)degree;
	if (nn_pool_threads(v->task.pool) <= 1)
		return false;
	v->task.pool = NULL;
	return true;
}

static bool give_up_leaves(struct nn_variant *v, int degree)
{
	size_t leaves = degree == 1 ? 2 : 1;

	if (v->recipe.leaves <= leaves || (size_t)nn_layout_n_sharers(v->plan.layout) > leaves)
		return false;
	v->recipe.leaves = leaves;
	return true;
}

static bool give_up_precision(struct nn_variant *v, int degree)
{
	struct nn_error err;

	(void)degree;
	if (v->task.device->dtype != NN_F64)
		return false;
	v->task.device = nn_device_open(v->task.device->name, NN_F32, &err);
	return v->task.device != NULL;
}

enum nn_optimizer_kind nn_give_optimizer(int degree)
{
	return nn_optimizer_keeping(degree == 1 ? 1 : 0);
}

static bool give_up_optimizer(struct nn_variant *v, int degree)
{
	struct nn_recipe *o = &v->recipe;

	if (slots(o) < (degree == 1 ? 2 : 1))
		return false;
	o->optimizer = (int)nn_give_optimizer(degree);
	o->momentum = 0;
	o->nesterov = false;
	return true;
}

static size_t narrower(void *arg, size_t out)
{
	double width = (double)out * *(const double *)arg;
	size_t n = width < 1 ? 1 : (size_t)width;

	return n >= 2 * ROUND && n < out ? n / ROUND * ROUND : n;
}

/* The canonical text with narrower layers. */
static bool give_up_width(struct nn_variant *v, double width)
{
	struct nn_text text = { 0 };
	struct nn_error err;
	bool made = nn_widened(v->task.net, narrower, &width, &text, &err) == 0 &&
		    nn_net_parse(&v->net, "-m", text.data, text.length, true, &err) == 0 &&
		    nn_net_resolve(v->net, NULL, NULL, &err) == 0;

	nn_text_free(&text);
	if (made)
		v->task.program = nn_net_program(v->net);
	return made;
}

bool nn_may_give_up(const struct nn_plan *plan, const struct nn_command *command, int kind)
{
	if (command->resumes && kind != NN_GIVE_THREADS)
		return false;
	switch (kind) {
	case NN_GIVE_THREADS:
		return nn_pool_threads(plan->task->pool) > 1;
	case NN_GIVE_LEAVES:
		return plan->task->recipe->leaves > 1;
	case NN_GIVE_PRECISION:
		return plan->task->device->dtype == NN_F64;
	case NN_GIVE_OPTIMIZER:
		return slots(plan->task->recipe) > 0;
	default:
		return !command->starts && nn_widens_hidden(plan->task->net);
	}
}

bool nn_vary(struct nn_variant *v, const struct nn_plan *plan, const struct nn_change *c)
{
	static bool (*const give_up[NN_GIVE_WIDTH])(struct nn_variant * v, int degree) = {
		[NN_GIVE_THREADS] = give_up_threads,
		[NN_GIVE_LEAVES] = give_up_leaves,
		[NN_GIVE_PRECISION] = give_up_precision,
		[NN_GIVE_OPTIMIZER] = give_up_optimizer,
	};
	struct nn_error err;

	*v = (struct nn_variant){ .plan = *plan,
				  .task = *plan->task,
				  .recipe = *plan->task->recipe };
	v->plan.task = &v->task;
	v->task.recipe = &v->recipe;
	if (nn_layout_n_sharers(plan->layout) > 1 || nn_layout_parts(plan->layout) > 1)
		v->task.logs = true;
	for (int kind = 0; kind < NN_GIVE_WIDTH; kind++)
		if (c->degree[kind] && !give_up[kind](v, c->degree[kind]))
			return false;
	if (c->degree[NN_GIVE_WIDTH] && !give_up_width(v, c->width))
		return false;
	if ((c->rows ? nn_fit_plan(&v->plan, c->rows, &v->plan.fit, &err)
		     : nn_fit_choose(&v->plan, &v->plan.fit, &err)) < 0)
		return false;
	return v->plan.fit.fits;
}

size_t nn_vary_need(struct nn_variant *v, const struct nn_plan *plan)
{
	struct nn_fit *fit = &v->plan.fit, found;
	struct nn_error err;

	v->task.logs = plan->task->logs;
	return nn_fit_need(plan,
			   nn_fit_plan(&v->plan, fit->micro, &found, &err) < 0 ? fit : &found);
}

void nn_variant_free(struct nn_variant *v)
{
	nn_net_free(v->net);
}
