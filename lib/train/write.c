/* Writing the model: what its record says, and where it goes. */
#include "base/output.h"
#include "train/state/record.h"
#include "train/write.h"

static struct nn_model_record record_of(const struct nn_train *t)
{
	return (struct nn_model_record){
		.task = &t->task,
		.options = t->options,
		.std = t->std,
		.list = t->setup.list,
		.missing = t->setup.data->missing,
		.weight = nn_dataset_weight(t->task.dataset),
		.counters = &t->counters,
		.schedule = &t->schedule,
		.evaluator = t->evaluator,
		.metric = t->metric,
		.threshold = &t->found.threshold,
		.init = t->source.init_sha256,
	};
}

int nn_train_check_output(const struct nn_train *t, struct nn_error *err)
{
	const struct nn_model_record record = record_of(t);

	return t->output ? nn_record_model(&record, NULL, NULL, err) : 0;
}

int nn_train_write(struct nn_train *t, void *const *params, struct nn_error *err)
{
	const struct nn_model_record record = record_of(t);
	int status;

	if (!nn_layout_first(&t->layout))
		return 0;
	if (nn_record_model(&record, t->output, params, err) < 0)
		return -1;
	status = nn_output_commit(t->output, err);
	t->output = NULL;
	t->written = status == 0;
	return status;
}
