/* What the checks share: a row of the table, a step, the values a training begins with. */
#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/output.h"
#include "model/model.h"
#include "train/init.h"
#include "train/selfcheck/selfcheck.h"

int nn_selfcheck_row(struct nn_selfcheck *c, const char *name, const char *what, bool passed,
		     struct nn_error *err, const char *format, ...)
{
	char compared[400];
	va_list args;

	va_start(args, format);
	vsnprintf(compared, sizeof compared, format, args);
	va_end(args);
	c->n_checks++;
	c->n_failed += !passed;
	if (nn_output_printf(c->table, err, "%s\t%s\t%s\t%s\n", name, what, compared,
			     passed ? "pass" : "fail") < 0)
		return -1;
	return nn_output_flush(c->table, err);
}

int nn_selfcheck_step(struct nn_step **step, const struct nn_train *t, size_t rows, size_t batch,
		      size_t micro, struct nn_error *err)
{
	const struct nn_train_options *o = t->options;
	struct nn_step_options options = {
		.device = t->task.device,
		.pool = t->task.pool,
		.program = t->task.program,
		.dataset = t->task.dataset,
		.augment = t->task.augment,
		.rows = rows,
		.batch = batch,
		.micro = micro,
		.losses = t->task.losses,
		.weights = t->task.shares,
		.leaves = batch == o->recipe.batch
				  ? o->recipe.leaves
				  : t->task.device->leaves(batch, nn_program_group(t->task.program),
							   o->recipe.leaves),
		.optimizer = nn_recipe_optimizer(&o->recipe),
		.seed = t->std->seed,
		.target = &t->task.schema->targets[0],
	};
	size_t available = nn_memory_available();
	struct nn_step_memory memory;

	if (nn_step_plan(&options, &memory, err) < 0)
		return -1;
	if (memory.total > available)
		return nn_fail(err, NN_ENOMEM,
			       "--selfcheck needs %zu bytes for %zu rows, %zu are available",
			       memory.total, micro, available);
	return nn_step_new(step, &options, err);
}

int nn_selfcheck_start(const struct nn_train *t, struct nn_step *step, void **params,
		       struct nn_error *err)
{
	return nn_init_values(t, params, err) < 0
		       ? -1
		       : nn_graph_load(nn_step_graph(step), (const void *const *)params, err);
}
