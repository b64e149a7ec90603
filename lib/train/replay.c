/*
 * --replay: after a step as many samples come in as it has drawn, so what the ring holds follows
 * from the number of samples drawn, which a state knows.
 */
#include <string.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/text.h"
#include "comm/comm.h"
#include "data/ring.h"
#include "parallel/strategy.h"
#include "train/replay.h"
#include "train/spool.h"

#define FEW_BATCHES 10

static int check_data(const struct nn_train_setup *s, struct nn_error *err)
{
	unsigned long long n = s->train->recipe.replay;
	bool ranks = s->ranks > 1 || nn_opt_given(s->list, "ranks") || nn_comm_env_size() > 1;
	double fraction = 0;

	if (s->train->valid && nn_parse_fraction(s->train->valid, &fraction, err) < 0)
		return -1;
	if (fraction > 0)
		return nn_fail(err, NN_EUSAGE,
			       "--valid=%s: a fraction of a stream is not known before its end; "
			       "with --replay=%llu give --valid=FILE",
			       s->train->valid, n);
	if (s->data->missing == NN_MISSING_DROP)
		return nn_fail(err, NN_EUSAGE,
			       "--missing=drop: not with --replay; --missing=mean fills by the "
			       "first %llu sample%s",
			       n, nn_s(n));
	if (s->targets_path && nn_is_stdin(s->targets_path))
		return nn_fail(err, NN_EUSAGE,
			       "--replay=%llu: TARGETS are a file; DATA can be stdin", n);
	if (ranks && s->data_path && nn_is_stdin(s->data_path) && !nn_spool_file(s->train))
		return nn_fail(err, NN_EUSAGE,
			       "--replay=%llu: each rank reads the stream itself, so it cannot be "
			       "stdin; give a file",
			       n);
	return 0;
}

int nn_train_replay_check(const struct nn_train_setup *s, struct nn_error *err)
{
	static const char *const none[] = { "shuffle", "folds", "selfcheck", "race", "try",
					    "window", "stateful", "pipeline", "tensor", NULL };
	const struct nn_strategy *strategy;

	if (!s->train->recipe.replay)
		return 0;
	for (size_t i = 0; none[i]; i++)
		if (nn_opt_given(s->list, none[i]))
			return nn_fail(err, NN_EUSAGE, "--%s: not with --replay", none[i]);
	strategy = nn_strategy_parse(s->train->ranks.strategy, NULL, err);
	if (strategy && (strategy->whole || strategy->alone || strategy->stale || strategy->served))
		return nn_fail(err, NN_EUSAGE, "--replay: needs --strategy=sync");
	return strategy ? check_data(s, err) : -1;
}

static void warn(struct nn_train *t)
{
	unsigned long long n = t->options->recipe.replay, batch = t->options->recipe.batch;

	if (n < FEW_BATCHES * batch)
		nn_tell_warning(&t->told,
				"--replay=%llu: fewer than %d batches of %llu: samples of a step "
				"are much the same as those of the step before",
				n, FEW_BATCHES, batch);
}

int nn_train_replay_open(struct nn_train *t, struct nn_error *err)
{
	const struct nn_program *program = t->task.program;
	struct nn_ring_options options = { .dataset = t->task.dataset,
					   .data = t->setup.data_path,
					   .targets = t->setup.targets_path,
					   .rows = (size_t)t->options->recipe.replay,
					   .seed = t->task.seed };
	struct nn_shape *outputs;
	int status;

	if (!t->options->recipe.replay)
		return 0;
	warn(t);
	if (!(outputs = nn_alloc((size_t)program->n_outputs, sizeof *outputs, err)))
		return -1;
	for (int i = 0; i < program->n_outputs; i++)
		outputs[i] = program->values[program->outputs[i].value].shape;
	options.outputs = outputs;
	status = nn_ring_new(&t->ring, &options, err);
	nn_free(outputs);
	return status;
}

/* As many as were drawn in all steps so far; the last of an epoch draws what is left of it. */
static uint64_t drawn(const struct nn_train *t)
{
	uint64_t step = t->counters.step, epochs = step / t->task.steps_per_epoch,
		 left = step % t->task.steps_per_epoch;

	return epochs * t->task.n_rows + left * t->options->recipe.batch;
}

/* Steps that draw at least so many samples. */
static uint64_t steps_for(const struct nn_train *t, uint64_t samples)
{
	uint64_t batch = t->options->recipe.batch, epochs = samples / t->task.n_rows,
		 left = samples % t->task.n_rows;

	return epochs * t->task.steps_per_epoch + (left + batch - 1) / batch;
}

int nn_train_replay_follow(struct nn_train *t, struct nn_error *err)
{
	const struct nn_recipe *r = &t->options->recipe;
	bool ended;
	uint64_t total;

	if (!t->ring)
		return 0;
	if (nn_ring_follow(t->ring, drawn(t), t->setup.host.stop, &ended, &total, err) < 0)
		return -1;
	if (ended && t->task.planned == UINT64_MAX && !(r->time_limit > 0)) {
		t->task.planned = steps_for(t, total);
		t->ends_by = "stream";
	}
	return 0;
}

void nn_train_replay_tell(const struct nn_train *t)
{
	const char *notice;

	for (size_t i = 0; t->ring && (notice = nn_ring_notice(t->ring, i)); i++)
		nn_tell_note(&t->told, "%s", notice);
}
