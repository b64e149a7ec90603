/* The plan of a training: rows at once, then what is computed again or offloaded. */
#include "parallel/grid.h"
#include "plan/fit.h"

/* Rows that suit the caches, where --micro-batch does not say: more gain nothing. */
static size_t suiting(const struct nn_plan *plan, const struct nn_fit *fit, size_t input)
{
	const struct nn_recipe *o = plan->task->recipe;

	return nn_step_default_micro_batch(fit->micro, o->batch, o->leaves,
					   nn_pool_threads(plan->task->pool),
					   fit->activations_per_sample + input / fit->micro);
}

/* Does what rows have no part in exceed the limit already? */
static bool hopeless(const struct nn_fit *fit)
{
	size_t limit = fit->device ? fit->device_limit : fit->limit;

	return fit->parameters > limit || fit->optimizer > limit - fit->parameters;
}

/* Of the memory that does not suffice: on the device, where that is it. */
static bool takes_less(const struct nn_plan *plan, const struct nn_fit *fit,
		       const struct nn_fit *than)
{
	return than->device > than->device_limit
		       ? fit->device < than->device
		       : nn_fit_need(plan, fit) < nn_fit_need(plan, than);
}

/*
 * Fewer rows at once take less, but for sums that wait: more spans leave more of them. So the least
 * is sought, not the last.
 */
static int choose_rows(const struct nn_plan *plan, struct nn_fit *fit, struct nn_error *err)
{
	const struct nn_recipe *o = plan->task->recipe;
	size_t micro =
		plan->task->n_rows && plan->task->n_rows < o->batch ? plan->task->n_rows : o->batch;
	bool flows = plan->layout->pipe && plan->layout->pipe->schedule != NN_SCHEDULE_NAIVE;
	struct nn_fit smaller;

	if (flows && !o->micro_batch)
		micro = nn_pipe_micro(plan->layout, plan->task, micro);
	if (o->micro_batch && o->micro_batch < micro)
		micro = o->micro_batch;
	if (nn_fit_plan(plan, micro, fit, err) < 0)
		return -1;
	if (!o->micro_batch && !flows) {
		size_t suits = suiting(
			plan, fit, fit->input - nn_fit_data_bytes(plan, plan->task->device->dtype));

		if (suits < micro && nn_fit_plan(plan, micro = suits, fit, err) < 0)
			return -1;
	}
	while (!fit->fits && micro > fit->least && !hopeless(fit)) {
		micro = micro / 2 < fit->least ? fit->least : micro / 2;
		if (nn_fit_plan(plan, micro, &smaller, err) < 0)
			return -1;
		if (smaller.fits || takes_less(plan, &smaller, fit))
			*fit = smaller;
	}
	return 0;
}

/* Plans between what fits and what does not that are looked at. */
#define TRIES 8

/* As little of it as fits under --memory, else all that makes the plan take less. */
static int tighten(const struct nn_plan *plan, size_t *bytes, size_t high, struct nn_fit *fit,
		   struct nn_error *err)
{
	size_t low = *bytes = 1;
	struct nn_fit found;

	if (nn_fit_plan(plan, fit->micro, fit, err) < 0)
		return -1;
	for (int i = 0; i < TRIES && plan->budget->memory && fit->fits; i++) {
		*bytes = low + (high - low) / 2;
		if (nn_fit_plan(plan, fit->micro, &found, err) < 0)
			return -1;
		*(found.fits ? &low : &high) = *bytes;
		if (found.fits)
			*fit = found;
	}
	*bytes = low;
	return 0;
}

/*
 * Rows at once are chosen as if nothing were computed again or offloaded: fewer of them cost less
 * than that. Under --memory only where not even the fewest fit is anything dropped, and only where
 * that does not do anything written to a file, and then as little as fits; without it as little
 * memory is taken as can be.
 */
int nn_fit_choose(const struct nn_plan *plan, struct nn_fit *fit, struct nn_error *err)
{
	struct nn_recipe recipe = *plan->task->recipe;
	struct nn_task task = *plan->task;
	struct nn_plan other = { .task = &task, .layout = plan->layout, .budget = plan->budget };
	bool drops = recipe.recompute, spills = recipe.offload, enough;
	struct nn_fit alone;
	size_t high;

	if (!drops && !spills)
		return choose_rows(plan, fit, err);
	task.recipe = &recipe;
	recipe.recompute = recipe.offload = 0;
	if (choose_rows(&other, fit, err) < 0)
		return -1;
	high = fit->activations_per_sample;
	/* asked for, and nothing dropped */
	fit->recompute = recipe.recompute = drops ? SIZE_MAX : 0;
	fit->offload = recipe.offload = spills ? SIZE_MAX : 0;
	enough = plan->budget->memory && fit->fits;
	if (drops && !enough && tighten(&other, &recipe.recompute, high, fit, err) < 0)
		return -1;
	enough = plan->budget->memory && fit->fits;
	if (spills && !enough && tighten(&other, &recipe.offload, high, fit, err) < 0)
		return -1;
	enough = plan->budget->memory && fit->fits;
	if (!drops || !spills || enough)
		return 0;
	recipe.recompute = SIZE_MAX; /* what is computed again needs room meanwhile */
	alone = *fit;
	if (tighten(&other, &recipe.offload, high, &alone, err) < 0)
		return -1;
	if (nn_fit_need(plan, &alone) < nn_fit_need(plan, fit))
		*fit = alone;
	return 0;
}
