/*
 * --stateful: a text is cut into as many streams as a batch has rows, each a run of windows that
 * follow each other. Batch k of an epoch has window k of every stream, so a row goes on where that
 * of the batch before ended. Windows that are left over are not trained on.
 */
#include "base/memory.h"
#include "parallel/strategy.h"
#include "train/streams.h"

int nn_streams_check(const struct nn_train_setup *s, struct nn_error *err)
{
	static const char *const none[] = { "shuffle", "folds", "selfcheck", "race",
					    "pipeline", "tensor", NULL };
	const struct nn_strategy *strategy;

	if (!s->train->recipe.stateful)
		return 0;
	if (s->data->window == 0)
		return nn_fail(err, NN_EUSAGE,
			       "--stateful: windows of a text go on; needs --window=N");
	for (size_t i = 0; none[i]; i++)
		if (nn_opt_given(s->list, none[i]))
			return nn_fail(err, NN_EUSAGE, "--%s: not with --stateful", none[i]);
	strategy = nn_strategy_parse(s->train->ranks.strategy, NULL, err);
	if (strategy && (strategy->whole || strategy->alone || strategy->stale || strategy->served))
		return nn_fail(err, NN_EUSAGE, "--stateful: needs --strategy=sync");
	return strategy ? 0 : -1;
}

/* One layer at least goes on, and none comes from the end of the text. */
static int check_program(const struct nn_train *t, struct nn_error *err)
{
	const struct nn_program *program = t->task.program;
	bool goes_on = false;

	for (int i = 0; i < program->n_nodes; i++) {
		const struct nn_node *node = &program->nodes[i];
		const struct nn_recurrent *a = node->attrs;

		if (node->op != NN_OP_recurrent)
			continue;
		if (a->reverse)
			return nn_fail(err, NN_EUSAGE,
				       "--stateful: a bidirectional layer has nothing to go on "
				       "with in its second direction");
		if (t->task.device && !t->task.device->kernels[node->op]->state)
			return nn_fail(err, NN_ENODEV, "--stateful: device %s keeps no states",
				       t->task.device->name);
		goes_on = true;
	}
	return goes_on ? 0
		       : nn_fail(err, NN_EUSAGE, "--stateful: the network has no rnn, lstm or gru");
}

int nn_streams_order(struct nn_train *t, struct nn_error *err)
{
	const uint64_t batch = t->options->recipe.batch, length = t->task.n_rows / batch;
	uint64_t *order;

	if (!t->options->recipe.stateful)
		return 0;
	if (check_program(t, err) < 0)
		return -1;
	if (length == 0)
		return nn_fail(err, NN_EFAIL,
			       "%s: has %llu windows to train on, --stateful with --batch=%llu "
			       "needs as many at least",
			       t->setup.data_path, (unsigned long long)t->task.n_rows,
			       (unsigned long long)batch);
	if (!(order = nn_alloc(length * batch, sizeof *order, err)))
		return -1;
	for (uint64_t k = 0; k < length; k++)
		for (uint64_t r = 0; r < batch; r++)
			order[k * batch + r] = t->task.rows[r * length + k];
	nn_free(t->task.rows);
	t->task.rows = order;
	t->task.n_rows = length * batch;
	return 0;
}
