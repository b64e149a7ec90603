/*
 * Checkpoints: the state is written whole beside the old one, so that a kill at any moment leaves
 * one that loads.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "base/text.h"
#include "model/model.h"
#include "train/state/checkpoint.h"
#include "parallel/ranks.h"
#include "train/state/lock.h"
#include "train/state/carried.h"
#include "train/state/save.h"
#include "train/spool.h"

/* ---- opening ---- */

char *nn_checkpoint_beside(const char *output, struct nn_error *err)
{
	static const char suffix[] = ".safetensors";
	size_t n = strlen(output), s = sizeof suffix - 1;
	struct nn_text text = { 0 };
	char *path = NULL;

	if (n > s && strcmp(output + n - s, suffix) == 0 && output[n - s - 1] != '/')
		n -= s;
	nn_text_add_bytes(&text, output, n);
	nn_text_add(&text, ".state.safetensors");
	if (text.failed)
		nn_fail(err, NN_ENOMEM, "cannot allocate the name of the state");
	else
		path = nn_strdup(text.data, err);
	nn_text_free(&text);
	return path;
}

static int open_sets(struct nn_keeping *k, struct nn_error *err)
{
	struct nn_state_tensors *s = &k->tensors;
	size_t slots = nn_optimizer_slots(nn_step_optimizer(k->worker->step));
	bool keeps = k->state_path || (k->options->resume && !nn_layout_first(k->worker->layout));

	s->program = k->worker->task->program;
	s->dtype = k->worker->task->device->dtype;
	if (k->options->patience &&
	    !(k->best = nn_params_some(k->worker->task->program, s->dtype, k->worker->keeps, err)))
		return -1;
	if (k->options->recipe.stateful && nn_carried_open(k, err) < 0)
		return -1;
	if (!keeps)
		return 0;
	for (size_t set = 0; set < NN_STATE_SETS; set++) {
		bool kept = set == NN_SET_BEST ? k->best != NULL : set < NN_SET_SLOT0 + slots;

		if (kept && !(s->set[set] = nn_params_some(k->worker->task->program, s->dtype,
							   k->worker->keeps, err)))
			return -1;
	}
	return nn_save_open(k, err);
}

/* A model beside which the state can lie: a regular file, or a new one. */
static bool is_regular(const char *output)
{
	struct stat st;

	return output && strcmp(output, "-") != 0 && (stat(output, &st) < 0 || S_ISREG(st.st_mode));
}

/* Can a state be written there? Asked before work begins; -o has asked for its own directory. */
static int check_place(const char *path, struct nn_error *err)
{
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return nn_fail(err, NN_EFAIL, "%s: is not a regular file, which a state needs",
			       path);
	return nn_output_check(path, err);
}

enum nn_checkpoint_place nn_checkpoint_place(const struct nn_train_options *o, const char *output)
{
	if (o->checkpoint)
		return nn_checkpoint_is_file(o->checkpoint) ? NN_CHECKPOINT_NAMED
							    : NN_CHECKPOINT_NONE;
	return is_regular(output) ? NN_CHECKPOINT_BESIDE : NN_CHECKPOINT_NONE;
}

const char *nn_checkpoint_none(const struct nn_train_options *o)
{
	return o->checkpoint ? "with --checkpoint=no" : "without -o FILE or --checkpoint=FILE";
}

/* Freed by the caller; NULL: there is none, or no memory. */
static char *name_of(const struct nn_train_options *o, const char *output, struct nn_error *err)
{
	switch (nn_checkpoint_place(o, output)) {
	case NN_CHECKPOINT_NAMED:
		return nn_strdup(o->checkpoint, err);
	case NN_CHECKPOINT_BESIDE:
		return nn_checkpoint_beside(output, err);
	default:
		return NULL;
	}
}

static size_t name_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strlen(slash ? slash + 1 : path);
}

/* A model may have the longest name there is; its state cannot. */
static int no_room(struct nn_keeping *k, struct nn_error *err)
{
	nn_free(k->state_path);
	k->state_path = NULL;
	if (k->options->resume)
		return nn_fail(err, NN_EUSAGE,
			       "--resume: the name of -o is too long for a state beside it; "
			       "--checkpoint=FILE names one");
	nn_tell_warning(
		k->telling,
		"the name of -o is too long for a state beside it; --checkpoint=FILE keeps one");
	return 0;
}

int nn_checkpoint_lock(struct nn_keeping *k, struct nn_error *err)
{
	enum nn_checkpoint_place place = nn_checkpoint_place(k->options, k->output);

	if (place == NN_CHECKPOINT_NONE) {
		if (k->options->checkpoint_every)
			nn_tell_warning(k->telling, "--checkpoint-every: no state is written %s",
					nn_checkpoint_none(k->options));
		return 0;
	}
	k->state_path = name_of(k->options, k->output, err);
	if (k->state_path && place == NN_CHECKPOINT_BESIDE && name_length(k->state_path) > NAME_MAX)
		return no_room(k, err);
	if (!k->state_path || nn_lock_take(&k->lock, k->state_path, err) < 0)
		return -1;
	if (place == NN_CHECKPOINT_NAMED && check_place(k->state_path, err) < 0)
		return -1;
	k->replaces = access(k->state_path, F_OK) == 0;
	nn_output_sweep(k->state_path);
	return 0;
}

void nn_train_sweep(const struct nn_train_setup *s)
{
	const char *const outputs[] = { s->std->output, s->train->plot, nn_spool_file(s->train) };
	char *state = name_of(s->train, s->std->output, NULL);
	struct nn_lock *lock = NULL;
	struct nn_error err;

	for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
		if (outputs[i])
			nn_output_sweep(outputs[i]);
	if (state && nn_lock_take(&lock, state, &err) == 0)
		nn_output_sweep(state);
	nn_lock_release(lock);
	nn_free(state);
}

/* ---- the end ---- */

static bool asked_for(const struct nn_train_options *o)
{
	return o->checkpoint || o->checkpoint_every || o->resume;
}

void nn_train_forget(const struct nn_train_setup *s)
{
	char *state = asked_for(s->train) ? NULL : name_of(s->train, s->std->output, NULL);

	if (state)
		unlink(state);
	nn_free(state);
}

void nn_checkpoint_end(const struct nn_keeping *k)
{
	if (k->state_path && !asked_for(k->options) && unlink(k->state_path) < 0 && errno != ENOENT)
		nn_tell_warning(k->telling, "%s: cannot remove the state: %s", k->state_path,
				strerror(errno));
}

/* ---- the tensors of a state ---- */

/* What a run without --resume finds in the place of its state; one that had come to its end is
 * missed by nobody. */
static void warn_replaced(const struct nn_keeping *k)
{
	struct nn_error err;
	bool finished;

	if (!k->replaces || k->options->resume)
		return;
	if (nn_state_finished(k->state_path, &finished, &err) < 0)
		nn_tell_warning(k->telling, "%s; it is replaced", err.text);
	else if (!finished)
		nn_tell_warning(k->telling,
				"%s: the state of an older run that had not ended is replaced; "
				"--resume would go on with it",
				k->state_path);
}

int nn_checkpoint_open(struct nn_keeping *k, struct nn_error *err)
{
	if (!(k->options_json = nn_opt_json(k->list, err)))
		return -1;
	if (nn_parse_every(k->options->checkpoint_every, &k->save_steps, &k->save_s, err) < 0)
		return -1;
	warn_replaced(k);
	return open_sets(k, err);
}

void nn_checkpoint_free(struct nn_keeping *k)
{
	nn_save_close(k);
	for (int set = 0; set < NN_STATE_SETS; set++)
		nn_free(k->tensors.set[set]);
	nn_free(k->tensors.carried);
	nn_free(k->best);
	nn_free(k->options_json);
	k->tensors = (struct nn_state_tensors){ 0 };
	k->best = NULL;
	k->options_json = NULL;
}

/* ---- resuming ---- */

static void take_slots(struct nn_keeping *k)
{
	struct nn_optimizer *optimizer = nn_step_optimizer(k->worker->step);

	for (size_t i = 0; i < nn_optimizer_slots(optimizer); i++)
		nn_optimizer_load(optimizer, i,
				  (const void *const *)k->tensors.set[NN_SET_SLOT0 + i]);
}

/* A rate that depends on the length of the training goes by the new one. */
static void tell_length(struct nn_keeping *k, const struct nn_state *state)
{
	uint64_t epochs = nn_state_count(state, "epochs"), steps = nn_state_count(state, "steps"),
		 was = UINT64_MAX, is = k->worker->task->planned, step = k->worker->counters->step;

	if (k->schedule->kind == NN_RATE_CONSTANT || k->schedule->kind == NN_RATE_PLATEAU)
		return;
	if (epochs && !nn_mul(epochs, k->worker->task->steps_per_epoch, &was))
		was = UINT64_MAX;
	if (steps && steps < was)
		was = steps;
	if (was != is && step < is)
		nn_tell_warning(k->telling,
				"--schedule=%s was planned for %" PRIu64
				" step%s, now it is for %" PRIu64 ": from step %" PRIu64
				" on the rate is that of the new length",
				k->options->recipe.schedule, was, nn_s(was), is, step + 1);
}

/* What rank 0 does for all. */
static int read_state(struct nn_keeping *k, bool *resumed, struct nn_error *err)
{
	struct nn_state_facts now = nn_save_facts(k);
	struct nn_state *state = NULL;
	bool other_build;
	int status;

	if (!k->replaces && k->worker->task->planned == 0)
		return nn_fail(
			err, NN_EFAIL,
			"%s: there is no state yet to write the model of (--resume --steps=0)",
			k->state_path);
	if (!k->replaces) {
		nn_tell_note(k->telling,
			     "%s: there is no state yet; training starts from the beginning",
			     k->state_path);
		return 0;
	}
	if (nn_state_read(&state, k->state_path, err) < 0)
		return -1;
	status = nn_state_compare(state, &now, &other_build, err);
	if (status == 0)
		status = nn_state_load(state, &k->tensors, k->worker->counters, err);
	if (status == 0)
		tell_length(k, state);
	nn_state_free(state);
	if (status < 0)
		return -1;
	if (other_build)
		nn_tell_warning(
			k->telling,
			"%s: another build of nntools wrote this state; the bytes may differ",
			k->state_path);
	k->saved_step = k->worker->counters->step;
	nn_tell_saved(k->telling, k->state_path, k->saved_step);
	*resumed = true;
	return 0;
}

/* Parameters, slots, best parameters and counters of rank 0 to all. *resumed is rank 0's. */
static int share(struct nn_keeping *k, bool *resumed, struct nn_error *err)
{
	struct nn_comm *comm = k->worker->layout->comm;
	char yes = *resumed;

	if (nn_layout_ranks(k->worker->layout) == 1)
		return 0;
	if (nn_comm_broadcast(comm, 0, &yes, 1, err) < 0)
		return -1;
	*resumed = yes;
	if (!yes)
		return 0;
	for (int set = 0; set < NN_STATE_SETS; set++)
		if (k->tensors.set[set] &&
		    nn_worker_share_set(k->worker, k->tensors.set[set], err) < 0)
			return -1;
	if (k->tensors.carried && nn_carried_share(k, err) < 0)
		return -1;
	return nn_comm_broadcast(comm, 0, k->worker->counters, sizeof *k->worker->counters, err);
}

int nn_checkpoint_resume(struct nn_keeping *k, bool *resumed, struct nn_error *err)
{
	*resumed = false;
	if (!k->options->resume)
		return 0;
	if ((nn_layout_first(k->worker->layout) && read_state(k, resumed, err) < 0) ||
	    share(k, resumed, err) < 0)
		return -1;
	if (!*resumed)
		return 0;
	nn_params_copy(k->worker->task->program, k->worker->task->device->dtype, k->worker->keeps,
		       k->worker->params, k->tensors.set[NN_SET_MODEL]);
	if (k->best)
		nn_params_copy(k->worker->task->program, k->worker->task->device->dtype,
			       k->worker->keeps, k->best, k->tensors.set[NN_SET_BEST]);
	take_slots(k);
	nn_carried_load(k);
	for (int set = 0; set < NN_STATE_SETS && !nn_layout_first(k->worker->layout); set++) {
		nn_free(k->tensors.set[set]); /* rank 0 alone writes states */
		k->tensors.set[set] = NULL;
	}
	return 0;
}
