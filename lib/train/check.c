/* What can be told from the command line alone: options that exclude or need each other. */
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "train/optimizer.h"
#include "train/schedule.h"
#include "train/spool.h"
#include "train/train.h"

static bool given(const struct nn_train_setup *s, const char *name)
{
	return nn_opt_given(s->list, name);
}

static bool numbers_only(const struct nn_train_options *o)
{
	return o->loss > 1;                  /* neither auto nor cross-entropy */
}

static int check_optimizer(const struct nn_train_setup *s, struct nn_error *err)
{
	const struct nn_train_options *o = s->train;
	const struct nn_optimizer_info *info = &nn_optimizers[o->optimizer];

	if (o->momentum != 0 && !info->momentum)
		return nn_fail(err, NN_EUSAGE, "--momentum: --optimizer=%s has none; sgd and lars do", info->name);
	if (o->nesterov && (info->kind != NN_SGD || o->momentum == 0))
		return nn_fail(err, NN_EUSAGE, "--nesterov: needs --optimizer=sgd with --momentum above 0");
	if (o->weight_decay != 0 && info->kind == NN_RPROP)
		return nn_fail(err, NN_EUSAGE, "--weight-decay: --optimizer=rprop has none");
	return 0;
}

static int check_length(const struct nn_train_setup *s, struct nn_error *err)
{
	struct nn_schedule schedule;

	if (nn_schedule_parse(&schedule, s->train->schedule, err) < 0)
		return -1;
	if (schedule.kind == NN_CONSTANT || schedule.kind == NN_PLATEAU || given(s, "epochs") || given(s, "steps"))
		return 0;
	return nn_fail(err, NN_EUSAGE, "--schedule=%s: needs --epochs=N or --steps=N, the length it is planned for",
		       s->train->schedule);
}

static int check_batch(const struct nn_train_options *o, struct nn_error *err)
{
	if (o->leaves & (o->leaves - 1))
		return nn_fail(err, NN_EUSAGE, "--leaves=%llu: expected a power of two", (unsigned long long)o->leaves);
	if (o->leaves > o->batch)
		return nn_fail(err, NN_EUSAGE, "--leaves=%llu: expected at most the batch, %llu",
			       (unsigned long long)o->leaves, (unsigned long long)o->batch);
	return 0;
}

static int check_targets(const struct nn_train_options *o, struct nn_error *err)
{
	if (numbers_only(o) && o->class_weight)
		return nn_fail(err, NN_EUSAGE, "--class-weight: needs classes, that is --loss=cross-entropy");
	if (numbers_only(o) && o->ignore)
		return nn_fail(err, NN_EUSAGE, "--ignore: needs classes, that is --loss=cross-entropy");
	return 0;
}

static int check_held_out(const struct nn_train_options *o, struct nn_error *err)
{
	if (o->valid || o->folds)
		return 0;
	if (o->patience)
		return nn_fail(err, NN_EUSAGE, "--patience: needs held-out data, --valid=FILE or --valid=FRACTION");
	if (o->valid_every)
		return nn_fail(err, NN_EUSAGE, "--valid-every: needs held-out data, --valid=FILE or --valid=FRACTION");
	return 0;
}

static int check_pipeline(const struct nn_train_options *o, struct nn_error *err)
{
	if (o->pipeline && o->folds)
		return nn_fail(err, NN_EUSAGE, "--pipeline=%s: not with --folds", o->pipeline);
	return 0;
}

static bool is_stdin(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

static int check_inputs(const struct nn_train_setup *s, struct nn_error *err)
{
	bool data = s->data_path && nn_is_stdin(s->data_path), targets = s->targets_path && nn_is_stdin(s->targets_path);

	if (data && targets)
		return nn_fail(err, NN_EUSAGE, "-: stdin can be DATA or TARGETS, not both");
	if ((data || targets) && nn_is_stdin(s->train->model))
		return nn_fail(err, NN_EUSAGE, "-m %s: stdin is read as %s already", s->train->model, data ? "DATA" : "TARGETS");
	if (s->train->resume && (data || targets) && !nn_spool_file(s->train))
		return nn_fail(err, NN_EUSAGE, "--resume: stdin can be read a second time only where --spool=FILE has kept it");
	return 0;
}

/* A file that is read must not be written over; the start model is complete before anything is written. */
static int check_output(const char *name, const char *path, const struct nn_train_setup *s, struct nn_error *err)
{
	const char *inputs[] = { s->data_path, s->targets_path, s->train->valid };

	if (!path || is_stdin(path))
		return 0;
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		if (inputs[i] && nn_same_file(path, inputs[i]))
			return nn_fail(err, NN_EUSAGE, "%s: %s is an input, which would be lost", name, path);
	return 0;
}

/* The start model may be replaced by -o; a model's text never. */
static bool is_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char bytes[9];
	size_t n = file ? fread(bytes, 1, sizeof bytes, file) : 0;

	if (file)
		fclose(file);
	return !memchr(bytes, 0, n);
}

static int check_model(const struct nn_train_setup *s, struct nn_error *err)
{
	const char *model = s->train->model, *output = s->std->output, *log = s->std->log, *spool = nn_spool_file(s->train);

	if (log && nn_same_file(log, model))
		return nn_fail(err, NN_EUSAGE, "--log: %s is an input, which would be lost", log);
	if (s->train->checkpoint && nn_same_file(s->train->checkpoint, model))
		return nn_fail(err, NN_EUSAGE, "--checkpoint: %s is an input, which would be lost", s->train->checkpoint);
	if (spool && nn_same_file(spool, model))
		return nn_fail(err, NN_EUSAGE, "--spool: %s is an input, which would be lost", spool);
	if (output && nn_same_file(output, model) && is_text(model))
		return nn_fail(err, NN_EUSAGE, "-o: %s is an input, which would be lost", output);
	if (log && strcmp(log, "-") != 0 && ((output && strcmp(log, output) == 0) ||
		    (s->train->checkpoint && strcmp(log, s->train->checkpoint) == 0)))
		return nn_fail(err, NN_EUSAGE, "--log=%s: the model or the state goes there", log);
	return 0;
}

static int check_outputs(const struct nn_train_setup *s, struct nn_error *err)
{
	const struct nn_train_options *o = s->train;
	bool to_stdout = !s->std->output || is_stdin(s->std->output);

	if (check_model(s, err) < 0 || check_output("-o", s->std->output, s, err) < 0 || check_output("--log", s->std->log, s, err) < 0 ||
	    check_output("--checkpoint", o->checkpoint, s, err) < 0)
		return -1;
	if (is_stdin(s->std->log) && to_stdout)
		return nn_fail(err, NN_EUSAGE, "--log=-: the model goes to stdout; give it a file with -o FILE");
	if (is_stdin(o->checkpoint))
		return nn_fail(err, NN_EUSAGE, "--checkpoint=-: a state needs a file");
	if (o->resume && to_stdout && !o->checkpoint)
		return nn_fail(err, NN_EUSAGE, "--resume: no state is kept without -o FILE or --checkpoint=FILE");
	if (s->std->output && o->checkpoint &&
	    (strcmp(s->std->output, o->checkpoint) == 0 || nn_same_file(s->std->output, o->checkpoint)))
		return nn_fail(err, NN_EUSAGE, "--checkpoint=%s: this is where -o writes the model", o->checkpoint);
	return 0;
}

/* What stdin gave is kept in a file of its own. */
static int check_spool(const struct nn_train_setup *s, struct nn_error *err)
{
	const char *spool = nn_spool_file(s->train);
	const char *others[] = { s->std->output, s->std->log, s->train->checkpoint };

	if (!spool)
		return 0;
	if (is_stdin(spool))
		return nn_fail(err, NN_EUSAGE, "--spool=-: expected the name of a file, or a size");
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i] && (strcmp(others[i], spool) == 0 || nn_same_file(others[i], spool)))
			return nn_fail(err, NN_EUSAGE, "--spool=%s: this is where another output goes", spool);
	return check_output("--spool", spool, s, err);
}

/* The picture has a place of its own. */
static int check_plot(const struct nn_train_setup *s, struct nn_error *err)
{
	const char *plot = s->train->plot;
	const char *others[] = { s->std->output, s->std->log, s->train->checkpoint, nn_spool_file(s->train) };
	static const char *const what[] = { "-o", "--log", "--checkpoint", "--spool" };

	if (!plot)
		return 0;
	if (check_output("--plot", plot, s, err) < 0)
		return -1;
	if (is_stdin(plot) && !s->std->output)
		return nn_fail(err, NN_EUSAGE, "--plot=-: the model goes to stdout; give it a file with -o FILE");
	if (nn_same_file(plot, s->train->model))
		return nn_fail(err, NN_EUSAGE, "--plot: %s is an input, which would be lost", plot);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i] && (strcmp(plot, others[i]) == 0 || (!is_stdin(plot) && nn_same_file(plot, others[i]))))
			return nn_fail(err, NN_EUSAGE, "--plot=%s: this is where %s goes", plot, what[i]);
	return 0;
}

/* A record has a place of its own. */
static int check_record(const struct nn_train_setup *s, struct nn_error *err)
{
	const char *record = s->train->record;
	const char *others[] = { s->std->output, s->std->log, s->train->checkpoint, s->train->plot };

	if (!record)
		return 0;
	if (is_stdin(record) && !s->std->output)
		return nn_fail(err, NN_EUSAGE, "--record=-: the model goes to stdout; give it a file with -o FILE");
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (others[i] && (strcmp(record, others[i]) == 0 || (!is_stdin(record) && nn_same_file(record, others[i]))))
			return nn_fail(err, NN_EUSAGE, "--record=%s: this is where another output goes", record);
	return check_output("--record", record, s, err);
}

static int check_strategy(const struct nn_train_setup *s, struct nn_error *err)
{
	static const char *const of_async[] = { "staleness", "staleness-lr", "record", "replay-run" };
	const struct nn_train_options *o = s->train;
	const struct nn_strategy *strategy = nn_strategy_parse(o->strategy, NULL, err);

	if (!strategy)
		return -1;
	for (size_t i = 0; i < sizeof of_async / sizeof *of_async; i++)
		if (strategy != &nn_strategy_async && given(s, of_async[i]))
			return nn_fail(err, NN_EUSAGE, "--%s: needs --strategy=async", of_async[i]);
	if (o->pipeline && strategy != &nn_strategy_sync)
		return nn_fail(err, NN_EUSAGE, "--pipeline=%s: needs --strategy=sync", o->pipeline);
	if (o->shard_optimizer && strategy != &nn_strategy_sync)
		return nn_fail(err, NN_EUSAGE, "--shard-optimizer: needs --strategy=sync");
	if (o->record && o->replay_run)
		return nn_fail(err, NN_EUSAGE, "--record: a run that --replay-run repeats is recorded already");
	if ((o->record || o->replay_run) && (o->resume || o->folds))
		return nn_fail(err, NN_EUSAGE, "--%s: a record begins with the first step of a training; without --%s",
			       o->record ? "record" : "replay-run", o->resume ? "resume" : "folds");
	return check_record(s, err);
}

/* Cross-validation writes a table, no model: what speaks of one, or of held-out rows, is a mistake. */
static int check_folds(const struct nn_train_setup *s, struct nn_error *err)
{
	static const struct {
		const char *name, *why;
	} wrong[] = {
		{ "output", "which writes a table to stdout and no model" }, { "valid", "which holds out each fold in turn" },
		{ "checkpoint", "which keeps no state" }, { "checkpoint-every", "which keeps no state" }, { "resume", "which keeps no state" },
		{ "plot", "each fold has curves of its own; --log=FILE keeps their figures" },
	};

	if (s->train->folds == 0)
		return 0;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (given(s, wrong[i].name))
			return nn_fail(err, NN_EUSAGE, "%s%s: not with --folds, %s", i == 0 ? "-o, --" : "--", wrong[i].name, wrong[i].why);
	if (is_stdin(s->std->log))
		return nn_fail(err, NN_EUSAGE, "--log=-: the table of --folds goes to stdout");
	return 0;
}

/* Ranks go on from a state, with data that are still there. */
static int check_restarts(const struct nn_train_setup *s, struct nn_error *err)
{
	unsigned long long n = s->train->max_restarts;

	if (n == 0)
		return 0;
	if (s->train->folds || (!s->train->checkpoint && (!s->std->output || is_stdin(s->std->output))))
		return nn_fail(err, NN_EUSAGE, "--max-restarts=%llu: no state is kept without -o FILE or --checkpoint=FILE", n);
	if (((s->data_path && nn_is_stdin(s->data_path)) || (s->targets_path && nn_is_stdin(s->targets_path))) && !nn_spool_file(s->train))
		return nn_fail(err, NN_EUSAGE, "--max-restarts=%llu: stdin can be read a second time only where --spool=FILE has kept it", n);
	return 0;
}

/* --selfcheck writes a table and nothing else. */
static int check_selfcheck(const struct nn_train_setup *s, struct nn_error *err)
{
	static const char *const none[] = { "output", "checkpoint", "checkpoint-every", "resume", "log", "plot", "folds" };

	for (size_t i = 0; s->train->selfcheck && i < sizeof none / sizeof *none; i++)
		if (given(s, none[i]))
			return nn_fail(err, NN_EUSAGE, "--%s: --selfcheck trains no model and writes nothing but its table", none[i]);
	if (s->train->selfcheck && !s->std->reproducible)
		return nn_fail(err, NN_EUSAGE, "--reproducible=no: promises nothing that --selfcheck could check");
	return 0;
}

/* --race writes a table and, with --plot, a picture; its trainings are told their strategies. */
static int check_race(const struct nn_train_setup *s, struct nn_error *err)
{
	static const char *const none[] = {
		"output", "log", "checkpoint", "checkpoint-every", "resume", "folds", "selfcheck", "explain", "strategy", "record", "replay-run",
		"pipeline",
	};

	for (size_t i = 0; s->train->race && i < sizeof none / sizeof *none; i++)
		if (given(s, none[i]))
			return nn_fail(err, NN_EUSAGE, "--%s: not with --race, which keeps nothing but its table", none[i]);
	if (s->train->race && !(s->train->time_limit > 0))
		return nn_fail(err, NN_EUSAGE, "--race=%s: needs --time-limit=SECONDS, the time of each strategy", s->train->race);
	if (s->train->race && (nn_is_stdin(s->data_path) || (s->targets_path && nn_is_stdin(s->targets_path))))
		return nn_fail(err, NN_EUSAGE, "--race=%s: reads the data once for each strategy, so they cannot be stdin", s->train->race);
	return 0;
}

int nn_train_check(const struct nn_train_setup *s, struct nn_error *err)
{
	if (s->train->explain && strcmp(s->train->explain, "json") != 0)
		return nn_fail(err, NN_EUSAGE, "--explain=%.40s: expected json, or no value for text", s->train->explain);
	if (!s->train->model)
		return nn_fail(err, NN_EUSAGE, "no model given: -m FILE, or text as in -m 'dense 128, relu, dense ?'");
	if (check_folds(s, err) < 0 || check_optimizer(s, err) < 0 || check_length(s, err) < 0 || check_batch(s->train, err) < 0 ||
	    check_targets(s->train, err) < 0 || check_held_out(s->train, err) < 0 || check_pipeline(s->train, err) < 0 || check_inputs(s, err) < 0 ||
	    check_selfcheck(s, err) < 0 || check_outputs(s, err) < 0 || check_spool(s, err) < 0 || check_plot(s, err) < 0 ||
	    check_restarts(s, err) < 0 || check_race(s, err) < 0 || check_strategy(s, err) < 0)
		return -1;
	return 0;
}
