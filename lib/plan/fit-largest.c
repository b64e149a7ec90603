/* The largest batch that fits at once. */
#include <math.h>

#include "plan/fit.h"

/*
 * Bytes by which a batch of `rows` rows at once exceeds the limit, 0 or less: it fits. Its leaves
 * are those of that many rows.
 */
static int excess(const struct nn_plan *plan, size_t rows, double *bytes)
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
	*bytes = INFINITY;
	if (nn_fit_plan(&other, rows, &fit, &err) < 0)
		return err.code == NN_ENOMEM ? 0 : -1;
	/* what the samples of a training take does not depend on the batch */
	*bytes = (double)(nn_fit_need(plan, &fit) -
			  ranks * nn_fit_data_bytes(&other, plan->task->device->dtype) +
			  ranks * nn_fit_data_bytes(plan, plan->task->device->dtype)) -
		 (double)fit.limit;
	if (fit.device > fit.device_limit)
		*bytes = fmax(*bytes, (double)(fit.device - fit.device_limit));
	return 0;
}

#define MOST_ROWS ((size_t)1 << 40)

/*
 * Between a batch that fits and one whose activations alone do not: memory grows nearly in
 * proportion to rows, so the place where it meets the limit lies on the line through the last two,
 * and a plan of a deep network takes a while. Every fourth halves, whatever memory does.
 */
int nn_fit_largest(const struct nn_plan *plan, const struct nn_fit *fit, size_t *rows,
		   struct nn_error *err)
{
	size_t group = nn_program_group(plan->task->program), unit = group ? group : 1, low = 0,
	       row = fit->activations_per_sample ? fit->activations_per_sample : 1,
	       limit = fit->device ? fit->device_limit : fit->limit,
	       high = (limit / row + 1 < MOST_ROWS ? limit / row + 1 : MOST_ROWS) / unit + 2;
	double slope = (double)row * (double)unit, under = 0, bytes;

	for (size_t n = 1, at = 1; high - low > 1; n++) {
		if (n > 1) {
			double guess = slope > 0 ? floor((double)low + under / slope) : 0;

			at = n % 4 == 0 || !(guess < (double)high) ? low + (high - low) / 2
			     : guess > (double)low                 ? (size_t)guess
								   : low + 1;
		}
		if (excess(plan, at * unit, &bytes) < 0)
			return nn_fail(err, NN_EFAIL, "the largest batch cannot be planned");
		if (!(bytes <= 0) && at == 1)
			break;
		if (n > 1 && isfinite(bytes))
			slope = (bytes + under) / (double)(at - low);
		if (bytes <= 0) {
			low = at;
			under = -bytes;
		} else {
			high = at;
		}
	}
	*rows = low * unit;
	return 0;
}
