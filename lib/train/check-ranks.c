/* Ranks, strategies and parts that the command line alone rules out. */
#include <inttypes.h>

#include "device/device.h"
#include "device/products.h"
#include "parallel/strategy.h"
#include "step/stages.h"
#include "train/check.h"

/* Ranks that have columns each. */
static int check_tensor(const struct nn_train_setup *s, struct nn_error *err)
{
	unsigned long long ranks = s->train->ranks.tensor;

	if (s->train->folds)
		return nn_fail(err, NN_EUSAGE, "--tensor=%llu: not with --folds", ranks);
	if (s->train->selfcheck)
		return nn_fail(err, NN_EUSAGE,
			       "--tensor=%llu: not with --selfcheck, which is one process", ranks);
	if (nn_products_asked(s->std) != NN_PRODUCTS_OWN)
		return nn_fail(err, NN_EUSAGE,
			       "%s: not with --tensor, whose ranks rest on equal bytes",
			       nn_products_option(s->std));
	return 0;
}

static bool is_able(const struct nn_strategy *strategy, size_t ability)
{
	return *(const bool *)((const char *)strategy + ability);
}

/* The first strategy that is. */
static const struct nn_strategy *able(size_t ability)
{
	const struct nn_strategy *const *s = nn_strategies;

	while (!is_able(*s, ability))
		s++;
	return *s;
}

int nn_check_strategy(const struct nn_train_setup *s, struct nn_error *err)
{
	const struct nn_train_options *o = s->train;
	const struct {
		const char *name;
		bool asked;
		size_t ability; /* of a strategy that has it */
	} of_some[] = {
		{ "staleness", nn_opt_given(s->list, "staleness"),
		  offsetof(struct nn_strategy, stale) },
		{ "staleness-lr", nn_opt_given(s->list, "staleness-lr"),
		  offsetof(struct nn_strategy, stale) },
		{ "record", o->ranks.record, offsetof(struct nn_strategy, stale) },
		{ "replay-run", o->ranks.replay_run, offsetof(struct nn_strategy, stale) },
		{ "precision=f16", nn_products_asked(s->std) == NN_PRODUCTS_F16,
		  offsetof(struct nn_strategy, parts) },
		{ "pipeline", o->ranks.pipeline, offsetof(struct nn_strategy, parts) },
		{ "tensor", o->ranks.tensor > 1, offsetof(struct nn_strategy, parts) },
		{ "shard-optimizer", o->ranks.shard_optimizer,
		  offsetof(struct nn_strategy, parts) },
	};
	const struct nn_strategy *strategy = nn_strategy_parse(o->ranks.strategy, NULL, err);

	if (!strategy)
		return -1;
	for (size_t i = 0; i < sizeof of_some / sizeof *of_some; i++)
		if (of_some[i].asked && !is_able(strategy, of_some[i].ability))
			return nn_fail(err, NN_EUSAGE, "--%s: needs --strategy=%s", of_some[i].name,
				       able(of_some[i].ability)->name);
	if (o->ranks.record && o->ranks.replay_run)
		return nn_fail(err, NN_EUSAGE,
			       "--record: a run that --replay-run repeats is recorded already");
	if ((o->ranks.record || o->ranks.replay_run) && (o->resume || o->folds))
		return nn_fail(
			err, NN_EUSAGE,
			"--%s: a record begins with the first step of a training; without --%s",
			o->ranks.record ? "record" : "replay-run", o->resume ? "resume" : "folds");
	if (o->ranks.pipeline && o->folds)
		return nn_fail(err, NN_EUSAGE, "--pipeline=%s: not with --folds",
			       o->ranks.pipeline);
	return o->ranks.tensor > 1 ? check_tensor(s, err) : 0;
}

int nn_check_ranks(const struct nn_train_setup *s, struct nn_error *err)
{
	const struct nn_train_options *o = s->train;
	const struct nn_device *device = nn_device_open("cpu", NN_F32, err);
	uint64_t parts = o->ranks.tensor ? o->ranks.tensor : 1, most, wanted = 1;
	enum nn_pipeline_schedule schedule;
	int stages = 1;

	if (!device || (o->ranks.pipeline &&
			nn_parse_pipeline(o->ranks.pipeline, &stages, &schedule, err) < 0))
		return -1;
	parts *= (uint64_t)stages;
	most = o->recipe.leaves ? o->recipe.leaves : device->leaves(o->recipe.batch, 1, SIZE_MAX);
	if (s->ranks / parts <= most || nn_opt_given(s->list, "explain") || o->race ||
	    nn_strategy_parse(o->ranks.strategy, NULL, err)->whole)
		return 0;
	while (wanted < s->ranks / parts)
		wanted *= 2;
	return nn_fail(err, NN_EUSAGE,
		       "--ranks=%" PRIu64 ": a batch of %" PRIu64 " has at most %" PRIu64
		       " lea%s; use at most --ranks=%" PRIu64 ", or --leaves=%" PRIu64 "%s",
		       s->ranks, o->recipe.batch, most, most == 1 ? "f" : "ves", most * parts,
		       wanted, wanted > o->recipe.batch ? " with a --batch of as many" : "");
}
