/* What the command line alone rules out: options that exclude or need each other. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/memory.h"
#include "base/output.h"
#include "data/picture/samples.h"
#include "device/products.h"
#include "model/onnx.h"
#include "model/weights.h"
#include "step/optimizer.h"
#include "step/schedule.h"
#include "train/check.h"
#include "train/convert.h"
#include "train/replay.h"
#include "train/spool.h"
#include "train/state/checkpoint.h"
#include "train/streams.h"
#include "train/train.h"
#include "train/try/try.h"

static bool given(const struct nn_train_setup *s, const char *name)
{
	return nn_opt_given(s->list, name);
}

/* The first of these options, up to NULL, that was given; NULL: none was. */
static const char *first_given(const struct nn_train_setup *s, const char *const *names)
{
	while (*names && !given(s, *names))
		names++;
	return *names;
}

static bool numbers_only(const struct nn_train_options *o)
{
	return o->recipe.loss > NN_LOSS_CROSS_ENTROPY;
}

static int check_optimizer(const struct nn_train_setup *s, struct nn_error *err)
{
	const struct nn_train_options *o = s->train;
	const struct nn_optimizer_info *info = &nn_optimizers[o->recipe.optimizer];

	if (o->recipe.momentum != 0 && !(info->flags & NN_TAKES_MOMENTUM))
		return nn_fail(err, NN_EUSAGE, "--momentum: --optimizer=%s has none", info->name);
	if (o->recipe.nesterov && !(info->flags & NN_TAKES_NESTEROV))
		return nn_fail(err, NN_EUSAGE, "--nesterov: --optimizer=%s has none", info->name);
	if (o->recipe.nesterov && o->recipe.momentum == 0)
		return nn_fail(err, NN_EUSAGE, "--nesterov: needs --momentum above 0");
	if (o->recipe.weight_decay != 0 && info->flags & NN_NO_DECAY)
		return nn_fail(err, NN_EUSAGE, "--weight-decay: --optimizer=%s has none",
			       info->name);
	return 0;
}

static int check_length(const struct nn_train_setup *s, struct nn_error *err)
{
	struct nn_schedule schedule;

	if (nn_schedule_parse(&schedule, s->train->recipe.schedule, err) < 0)
		return -1;
	if (schedule.kind == NN_RATE_CONSTANT || schedule.kind == NN_RATE_PLATEAU ||
	    given(s, "epochs") || given(s, "steps"))
		return 0;
	return nn_fail(err, NN_EUSAGE,
		       "--schedule=%s: needs --epochs=N or --steps=N, the length it is planned for",
		       s->train->recipe.schedule);
}

static int check_batch(const struct nn_train_options *o, struct nn_error *err)
{
	if (o->recipe.leaves & (o->recipe.leaves - 1))
		return nn_fail(err, NN_EUSAGE, "--leaves=%llu: expected a power of two",
			       (unsigned long long)o->recipe.leaves);
	if (o->recipe.leaves > o->recipe.batch)
		return nn_fail(err, NN_EUSAGE, "--leaves=%llu: expected at most the batch, %llu",
			       (unsigned long long)o->recipe.leaves,
			       (unsigned long long)o->recipe.batch);
	return 0;
}

static int check_targets(const struct nn_train_setup *s, struct nn_error *err)
{
	const struct nn_train_options *o = s->train;

	if (numbers_only(o) && o->class_weight)
		return nn_fail(err, NN_EUSAGE,
			       "--class-weight: needs classes, that is --loss=cross-entropy");
	if (numbers_only(o) && s->data->classes)
		return nn_fail(err, NN_EUSAGE,
			       "--classes: needs classes, that is --loss=cross-entropy");
	if (s->data->classes && s->data->window)
		return nn_fail(err, NN_EUSAGE,
			       "--classes: the classes of a text (--window) are its characters");
	if (numbers_only(o) && o->ignore)
		return nn_fail(err, NN_EUSAGE,
			       "--ignore: needs classes, that is --loss=cross-entropy");
	if (numbers_only(o) && o->threshold)
		return nn_fail(err, NN_EUSAGE,
			       "--threshold: needs two classes, that is --loss=cross-entropy");
	return 0;
}

static int check_text(const struct nn_train_setup *s, struct nn_error *err)
{
	bool apart = s->targets_path && *s->targets_path;
	const char *file = apart ? s->targets_path : s->data_path;
	const struct nn_text_use use = { .file = file ? file : "--window",
					 .apart = apart,
					 .inputs = 1,
					 .targets = 1,
					 .numbers = numbers_only(s->train),
					 .embedded = true,
					 .target = s->data->target };

	return s->data->window ? nn_text_check(&use, NN_EUSAGE, err) : 0;
}

static int check_held_out(const struct nn_train_options *o, struct nn_error *err)
{
	if (o->valid || o->folds)
		return 0;
	if (o->threshold)
		return nn_fail(err, NN_EUSAGE,
			       "--threshold: is found on held-out data, --valid=FILE or "
			       "--valid=FRACTION");
	if (o->patience)
		return nn_fail(err, NN_EUSAGE,
			       "--patience: needs held-out data, --valid=FILE or --valid=FRACTION");
	if (o->valid_every)
		return nn_fail(
			err, NN_EUSAGE,
			"--valid-every: needs held-out data, --valid=FILE or --valid=FRACTION");
	return 0;
}

static bool data_from_stdin(const struct nn_train_setup *s)
{
	return s->data_path && nn_is_stdin(s->data_path);
}

static bool targets_from_stdin(const struct nn_train_setup *s)
{
	return s->targets_path && nn_is_stdin(s->targets_path);
}

static bool reads_stdin(const struct nn_train_setup *s)
{
	return data_from_stdin(s) || targets_from_stdin(s);
}

/* How many of --valid=FILE[,TARGETS]. */
static int held_out_from_stdin(const struct nn_train_setup *s)
{
	const char *valid = s->train->valid ? s->train->valid : "", *comma = strchr(valid, ',');

	return (nn_is_stdin(valid) || strncmp(valid, "-,", 2) == 0) +
	       (comma && nn_is_stdin(comma + 1));
}

/* A model that comes through a pipe is there for one training in this process. */
static int check_model_pipe(const struct nn_train_setup *s, struct nn_error *err)
{
	static const char *const often[] = { "try",   "race",     "selfcheck", "ranks",
					     "hosts", "hostfile", NULL };
	const char *name = first_given(s, often);
	struct stat st;

	if (!name || !s->train->model || stat(s->train->model, &st) < 0 || S_ISREG(st.st_mode) ||
	    S_ISDIR(st.st_mode))
		return 0;
	return nn_fail(err, NN_EUSAGE, "-m %s: can be read once; --%s needs the model in a file",
		       s->train->model, name);
}

static int check_inputs(const struct nn_train_setup *s, struct nn_error *err)
{
	bool data = data_from_stdin(s), targets = targets_from_stdin(s);

	if (s->train->cache && (data || targets))
		return nn_fail(err, NN_EUSAGE,
			       "--cache=%s: keeps data of files, stdin cannot be told from another "
			       "one",
			       s->train->cache);
	if (s->train->cache && s->train->recipe.replay)
		return nn_fail(err, NN_EUSAGE,
			       "--cache=%s: not with --replay, which reads on while it trains",
			       s->train->cache);
	if (data && targets)
		return nn_fail(err, NN_EUSAGE, "-: stdin can be DATA or TARGETS, not both");
	if ((data || targets) && nn_is_stdin(s->train->model))
		return nn_fail(err, NN_EUSAGE, "-m %s: stdin is read as %s already",
			       s->train->model, data ? "DATA" : "TARGETS");
	if (held_out_from_stdin(s) + data + targets > 1)
		return nn_fail(err, NN_EUSAGE, "--valid=%s: stdin is read as %s already",
			       s->train->valid,
			       data      ? "DATA"
			       : targets ? "TARGETS"
					 : "held-out data");
	if (s->train->resume && (data || targets) && !nn_spool_file(s->train))
		return nn_fail(err, NN_EUSAGE,
			       "--resume: stdin can be read a second time only where --spool=FILE "
			       "has kept it");
	return 0;
}

/* ---- outputs: no two in one place, none over an input ---- */

static bool is_stdout(const char *path)
{
	return path && nn_is_stdout(path);
}

static bool model_to_stdout(const struct nn_train_setup *s)
{
	return !s->std->output || is_stdout(s->std->output);
}

/* A pipe is read once, by whoever reads the model. */
static bool is_text(const char *path)
{
	struct stat st;
	FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "r") : NULL;
	char bytes[9];
	size_t n = file ? fread(bytes, 1, sizeof bytes, file) : 0;

	if (file)
		fclose(file);
	return !memchr(bytes, 0, n);
}

/* What stdout may carry where the model does not go there. */
static int check_stdout(const struct nn_train_setup *s, struct nn_error *err)
{
	const struct {
		const char *name, *path, *wanted; /* NULL: it may, where the model does not */
	} outputs[] = {
		{ "log", s->std->log, NULL },
		{ "plot", s->train->plot, NULL },
		{ "record", s->train->ranks.record, NULL },
		{ "checkpoint", s->train->checkpoint, "a state needs a file" },
		{ "cache", s->train->cache, "expected the name of a file" },
		{ "spool", nn_spool_file(s->train), "expected the name of a file, or a size" },
	};

	for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
		if (is_stdout(outputs[i].path) && (outputs[i].wanted || model_to_stdout(s)))
			return nn_fail(err, NN_EUSAGE, "--%s=%s: %s", outputs[i].name,
				       outputs[i].path,
				       outputs[i].wanted ? outputs[i].wanted
							 : "the model goes to stdout; give it "
							   "a file with -o FILE");
	return 0;
}

static bool keeps_state(const struct nn_train_setup *s)
{
	const char *checkpoint = s->train->checkpoint;

	return checkpoint ? nn_checkpoint_is_file(checkpoint) : !model_to_stdout(s);
}

/*
 * -o may replace the start model, which is complete before anything is written, but never a model's
 * text. Of the state the place it has beside -o is looked at.
 */
static int check_files(const struct nn_train_setup *s, struct nn_error *err)
{
	const struct nn_train_options *o = s->train;
	bool beside = s->std->output && !o->checkpoint && !is_stdout(s->std->output);
	char *state = beside ? nn_checkpoint_beside(s->std->output, err) : NULL;
	const struct nn_file_use files[] = {
		{ .path = s->data_path, .each = nn_samples_each_file },
		{ .path = s->targets_path, .each = nn_samples_each_file },
		{ .name = "model",
		  .path = o->model,
		  .replaceable = !is_text(o->model),
		  .each = nn_weights_each_file },
		{ .name = "checkpoint",
		  .path = beside           ? state
			  : keeps_state(s) ? o->checkpoint
					   : NULL,
		  .writes = true },
	};
	int status = beside && !state
			     ? -1
			     : nn_files_check(s->list, files, sizeof files / sizeof *files, err);

	nn_free(state);
	return status;
}

static int check_outputs(const struct nn_train_setup *s, struct nn_error *err)
{
	if (check_stdout(s, err) < 0 || check_files(s, err) < 0)
		return -1;
	if (s->train->fold_batchnorm && !nn_train_converts(s))
		return nn_fail(err, NN_EUSAGE,
			       "--fold-batchnorm: rewrites a finished model: -m MODEL --steps=0 "
			       "without DATA");
	if (nn_onnx_named(s->std->output) && nn_std_check_computed(s->std, NULL) < 0)
		return nn_fail(err, NN_EUSAGE,
			       "--precision: the ONNX file %s holds f32 or f64; safetensors hold "
			       "bf16, f16 and int8, too",
			       s->std->output);
	if (s->train->resume && !keeps_state(s))
		return nn_fail(err, NN_EUSAGE, "--resume: no state is kept %s",
			       nn_checkpoint_none(s->train));
	return 0;
}

/* ---- what stands alone ---- */

/*
 * Cross-validation writes a table, no model: what speaks of one, or of held-out rows, is a mistake.
 */
static int check_folds(const struct nn_train_setup *s, struct nn_error *err)
{
	static const struct {
		const char *name, *why;
	} wrong[] = {
		{ "output", "which writes a table to stdout and no model" },
		{ "valid", "which holds out each fold in turn" },
		{ "threshold", "which writes no model that could keep it" },
		{ "checkpoint", "which keeps no state" },
		{ "checkpoint-every", "which keeps no state" },
		{ "resume", "which keeps no state" },
		{ "plot", "each fold has curves of its own; --log=FILE keeps their figures" },
		{ "tensorboard",
		  "each fold has curves of its own; --log=FILE keeps their figures" },
	};

	if (s->train->folds == 0)
		return 0;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (given(s, wrong[i].name) && !(i == 0 && s->train->tries))
			return nn_fail(err, NN_EUSAGE, "%s%s: not with --folds, %s",
				       i == 0 ? "-o, --" : "--", wrong[i].name, wrong[i].why);
	if (is_stdout(s->std->log))
		return nn_fail(err, NN_EUSAGE, "--log=%s: the table of --folds goes to stdout",
			       s->std->log);
	return 0;
}

/* Ranks resume from a state, with data that are still there. */
static int check_restarts(const struct nn_train_setup *s, struct nn_error *err)
{
	unsigned long long n = s->train->max_restarts;

	if (n == 0)
		return 0;
	if (s->train->folds || !keeps_state(s))
		return nn_fail(err, NN_EUSAGE, "--max-restarts=%llu: no state is kept %s", n,
			       nn_checkpoint_none(s->train));
	if (reads_stdin(s) && !nn_spool_file(s->train))
		return nn_fail(err, NN_EUSAGE,
			       "--max-restarts=%llu: stdin can be read a second time only where "
			       "--spool=FILE has kept it",
			       n);
	return 0;
}

/* --selfcheck writes a table and nothing else. */
static int check_selfcheck(const struct nn_train_setup *s, struct nn_error *err)
{
	static const char *const none[] = { "output", "checkpoint", "checkpoint-every",
					    "resume", "log",        "plot", "tensorboard",
					    "folds",  NULL };
	const char *name = first_given(s, none);

	if (!s->train->selfcheck)
		return 0;
	if (name)
		return nn_fail(err, NN_EUSAGE,
			       "--%s: --selfcheck trains no model and writes nothing but its table",
			       name);
	if (nn_products_asked(s->std) != NN_PRODUCTS_OWN)
		return nn_fail(err, NN_EUSAGE,
			       "%s: promises nothing that --selfcheck could check",
			       nn_products_option(s->std));
	return 0;
}

/* --race writes a table and, with --plot, a picture; its trainings are told their strategies. */
static int check_race(const struct nn_train_setup *s, struct nn_error *err)
{
	static const char *const none[] = {
		"output",    "log",     "checkpoint", "checkpoint-every", "resume",     "folds",
		"tensorboard",
		"selfcheck", "explain", "strategy",   "record",           "replay-run", "pipeline",
		"tensor",    NULL,
	};
	const char *name = first_given(s, none);

	if (!s->train->race)
		return 0;
	if (name)
		return nn_fail(err, NN_EUSAGE,
			       "--%s: not with --race, which keeps nothing but its table", name);
	if (nn_comm_env_size() != 1)
		return nn_fail(err, NN_EUSAGE,
			       "--race=%s: starts the ranks of each strategy itself; use --ranks=N "
			       "in place of mpirun or srun",
			       s->train->race);
	if (!(s->train->recipe.time_limit > 0))
		return nn_fail(err, NN_EUSAGE,
			       "--race=%s: needs --time-limit=SECONDS, the time of each strategy",
			       s->train->race);
	if (reads_stdin(s))
		return nn_fail(
			err, NN_EUSAGE,
			"--race=%s: reads the data once for each strategy, so they cannot be stdin",
			s->train->race);
	return 0;
}

static int check(const struct nn_train_setup *s, struct nn_error *err)
{
	if (s->train->explain && strcmp(s->train->explain, "json") != 0)
		return nn_fail(err, NN_EUSAGE,
			       "--explain=%.40s: expected json, or no value for text",
			       s->train->explain);
	if (!s->train->model)
		return nn_fail(
			err, NN_EUSAGE,
			"no model given: -m FILE, or text as in -m 'dense 128, relu, dense ?'");
	if (nn_train_convert_check(s, err) < 0 || check_folds(s, err) < 0 ||
	    check_optimizer(s, err) < 0 || check_length(s, err) < 0 ||
	    check_batch(s->train, err) < 0 || check_targets(s, err) < 0 ||
	    check_held_out(s->train, err) < 0 || check_inputs(s, err) < 0 ||
	    check_model_pipe(s, err) < 0 || check_selfcheck(s, err) < 0 ||
	    check_outputs(s, err) < 0 || check_restarts(s, err) < 0 || check_race(s, err) < 0 ||
	    nn_check_strategy(s, err) < 0 || nn_streams_check(s, err) < 0 ||
	    nn_train_replay_check(s, err) < 0 || nn_check_ranks(s, err) < 0 ||
	    check_text(s, err) < 0)
		return -1;
	return s->std->dry_run ? nn_net_check(s->train->model, err) : 0;
}

int nn_train_check(const struct nn_train_setup *s, struct nn_error *err)
{
	return s->train->tries ? nn_try_check(s, check, err) : check(s, err);
}
