/* The largest batch that fits at once. */
#include "plan/fit.h"

/* Does a batch of `rows` rows fit at once? Its leaves are those of that many rows. */
static int batch_fits(const struct nn_plan *plan, size_t rows, bool *fits)
{
	struct nn_recipe recipe = *plan->task->recipe;
	struct nn_task task = *plan->task;
	struct nn_plan other = { .task = &task, .layout = plan->layout, .budget = plan->budget };
	struct nn_fit fit;
	struct nn_error err;
	size_t group = nn_program_group(task.program),
	       ranks = plan->budget->memory ? 1 : (size_t)plan->layout->on_host;

	recipe.batch = rows;
	recipe.leaves = task.device->leaves(rows, group, SIZE_MAX);
	task.recipe = &recipe;
	task.n_rows = rows;
	*fits = false;
	if (nn_fit_plan(&other, rows, &fit, &err) < 0)
		return err.code == NN_ENOMEM ? 0 : -1;
	/* what the samples of a training take does not depend on the batch */
	*fits = nn_fit_need(plan, &fit) -
				ranks * nn_fit_data_bytes(&other, plan->task->device->dtype) +
				ranks * nn_fit_data_bytes(plan, plan->task->device->dtype) <=
			fit.limit &&
		fit.device <= fit.device_limit;
	return 0;
}

#define MOST_ROWS ((size_t)1 << 40)

/* Halving what lies between a batch that fits and one whose activations alone do not. */
int nn_fit_largest(const struct nn_plan *plan, const struct nn_fit *fit, size_t *rows,
		   struct nn_error *err)
{
	size_t group = nn_program_group(plan->task->program), unit = group ? group : 1, low = 0,
	       row = fit->activations_per_sample ? fit->activations_per_sample : 1,
	       limit = fit->device ? fit->device_limit : fit->limit,
	       high = (limit / row + 1 < MOST_ROWS ? limit / row + 1 : MOST_ROWS) / unit + 2;
	bool fits;

	for (size_t at = 1; high - low > 1; at = low + (high - low) / 2) {
		if (batch_fits(plan, at * unit, &fits) < 0)
			return nn_fail(err, NN_EFAIL, "the largest batch cannot be planned");
		if (!fits && at == 1)
			break;
		*(fits ? &low : &high) = at;
	}
	*rows = low * unit;
	return 0;
}
