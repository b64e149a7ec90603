/*
 * Checkpoints: the state is written whole beside the old one, so that a kill at any moment leaves
 * one that loads.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "model/model.h"
#include "train/state/checkpoint.h"
#include "parallel/ranks.h"
#include "train/state/lock.h"
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

static int open_sets(struct nn_train *t, struct nn_error *err)
{
	struct nn_state_tensors *s = &t->kept.tensors;
	size_t slots = nn_optimizer_slots(nn_step_optimizer(t->worker.step));
	bool keeps = t->kept.state_path || (t->options->resume && !nn_layout_first(&t->layout));

	s->program = t->task.program;
	s->dtype = t->task.device->dtype;
	if (t->options->patience &&
	    !(t->kept.best = nn_params_some(t->task.program, s->dtype, t->worker.keeps, err)))
		return -1;
	if (!keeps)
		return 0;
	for (size_t set = 0; set < NN_STATE_SETS; set++) {
		bool kept = set == NN_SET_BEST ? t->kept.best != NULL : set < NN_SET_SLOT0 + slots;

		if (kept && !(s->set[set] = nn_params_some(t->task.program, s->dtype,
							   t->worker.keeps, err)))
			return -1;
	}
	return nn_save_open(t, err);
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
	struct nn_output *probe;
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return nn_fail(err, NN_EFAIL, "%s: is not a regular file, which a state needs",
			       path);
	if (nn_output_open(&probe, path, true, err) < 0)
		return -1;
	nn_output_abort(probe);
	return 0;
}

bool nn_checkpoint_wanted(const struct nn_train *t)
{
	return t->options->checkpoint || is_regular(t->std->output);
}

static size_t name_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strlen(slash ? slash + 1 : path);
}

/* A model may have the longest name there is; its state cannot. */
static int no_room(struct nn_train *t, struct nn_error *err)
{
	nn_free(t->kept.state_path);
	t->kept.state_path = NULL;
	if (t->options->resume)
		return nn_fail(err, NN_EUSAGE,
			       "--resume: the name of -o is too long for a state beside it; "
			       "--checkpoint=FILE names one");
	nn_train_warn(
		t, "the name of -o is too long for a state beside it; --checkpoint=FILE keeps one");
	return 0;
}

int nn_checkpoint_lock(struct nn_train *t, struct nn_error *err)
{
	const char *output = t->std->output;
	bool beside = !t->options->checkpoint && is_regular(output);

	if (!t->options->checkpoint && !beside) {
		if (t->options->checkpoint_every)
			nn_train_warn(t, "--checkpoint-every: no state is written without -o FILE "
					 "or --checkpoint=FILE");
		return 0;
	}
	t->kept.state_path =
		beside ? nn_checkpoint_beside(output, err) : nn_strdup(t->options->checkpoint, err);
	if (t->kept.state_path && beside && name_length(t->kept.state_path) > NAME_MAX)
		return no_room(t, err);
	if (!t->kept.state_path || nn_lock_take(&t->kept.lock, t->kept.state_path, err) < 0)
		return -1;
	if (!beside && check_place(t->kept.state_path, err) < 0)
		return -1;
	t->kept.replaces = access(t->kept.state_path, F_OK) == 0;
	nn_output_sweep(t->kept.state_path);
	return 0;
}

void nn_train_sweep(const struct nn_train_setup *s)
{
	const char *const outputs[] = { s->std->output, s->train->plot, nn_spool_file(s->train) };
	char *state = s->train->checkpoint         ? nn_strdup(s->train->checkpoint, NULL)
		      : is_regular(s->std->output) ? nn_checkpoint_beside(s->std->output, NULL)
						   : NULL;
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

int nn_checkpoint_open(struct nn_train *t, struct nn_error *err)
{
	if (!(t->kept.options_json = nn_opt_json(t->setup.list, err)))
		return -1;
	if (nn_parse_every(t->options->checkpoint_every, &t->kept.save_steps, &t->kept.save_s,
			   err) < 0)
		return -1;
	return open_sets(t, err);
}

void nn_checkpoint_free(struct nn_train *t)
{
	nn_save_close(t);
	for (int set = 0; set < NN_STATE_SETS; set++)
		nn_free(t->kept.tensors.set[set]);
	nn_free(t->kept.best);
	nn_free(t->kept.options_json);
	t->kept.tensors = (struct nn_state_tensors){ 0 };
	t->kept.best = NULL;
	t->kept.options_json = NULL;
}

/* ---- resuming ---- */

static void take_slots(struct nn_train *t)
{
	struct nn_optimizer *optimizer = nn_step_optimizer(t->worker.step);

	for (size_t k = 0; k < nn_optimizer_slots(optimizer); k++)
		nn_optimizer_load(optimizer, k,
				  (const void *const *)t->kept.tensors.set[NN_SET_SLOT0 + k]);
}

/* A rate that depends on the length of the training goes by the new one. */
static void tell_length(struct nn_train *t, const struct nn_state *state)
{
	uint64_t epochs = nn_state_count(state, "epochs"), steps = nn_state_count(state, "steps"),
		 was = UINT64_MAX, is = t->task.planned, step = t->counters.step;

	if (t->schedule.kind == NN_RATE_CONSTANT || t->schedule.kind == NN_RATE_PLATEAU)
		return;
	if (epochs && !nn_mul(epochs, t->task.steps_per_epoch, &was))
		was = UINT64_MAX;
	if (steps && steps < was)
		was = steps;
	if (was != is && step < is)
		nn_train_warn(t,
			      "--schedule=%s was planned for %" PRIu64
			      " steps, now it is for %" PRIu64 ": from step %" PRIu64
			      " on the rate is that of the new length",
			      t->options->recipe.schedule, was, is, step + 1);
}

/* What rank 0 does for all. */
static int read_state(struct nn_train *t, bool *resumed, struct nn_error *err)
{
	struct nn_state_facts now = nn_save_facts(t);
	struct nn_state *state = NULL;
	bool other_build;
	int status;

	if (!t->kept.replaces) {
		nn_train_note(t, "%s: there is no state yet; training starts from the beginning",
			      t->kept.state_path);
		return 0;
	}
	if (nn_state_read(&state, t->kept.state_path, err) < 0)
		return -1;
	status = nn_state_compare(state, &now, &other_build, err);
	if (status == 0)
		status = nn_state_load(state, &t->kept.tensors, &t->counters, err);
	if (status == 0)
		tell_length(t, state);
	nn_state_free(state);
	if (status < 0)
		return -1;
	if (other_build)
		nn_train_warn(t,
			      "%s: another build of nntools wrote this state; the bytes may differ",
			      t->kept.state_path);
	t->kept.saved_step = t->counters.step;
	nn_train_tell_saved(t, t->kept.saved_step);
	t->kept.replaces = false;
	*resumed = true;
	return 0;
}

/* Parameters, slots, best parameters and counters of rank 0 to all. *resumed is rank 0's. */
static int share(struct nn_train *t, bool *resumed, struct nn_error *err)
{
	struct nn_comm *comm = t->layout.comm;
	char yes = *resumed;

	if (nn_layout_ranks(&t->layout) == 1)
		return 0;
	if (nn_comm_broadcast(comm, 0, &yes, 1, err) < 0)
		return -1;
	*resumed = yes;
	if (!yes)
		return 0;
	for (int set = 0; set < NN_STATE_SETS; set++)
		if (t->kept.tensors.set[set] &&
		    nn_worker_share_set(&t->worker, t->kept.tensors.set[set], err) < 0)
			return -1;
	return nn_comm_broadcast(comm, 0, &t->counters, sizeof t->counters, err);
}

int nn_checkpoint_resume(struct nn_train *t, bool *resumed, struct nn_error *err)
{
	*resumed = false;
	if (!t->options->resume)
		return 0;
	if ((nn_layout_first(&t->layout) && read_state(t, resumed, err) < 0) ||
	    share(t, resumed, err) < 0)
		return -1;
	if (!*resumed)
		return 0;
	nn_params_copy(t->task.program, t->task.device->dtype, t->worker.keeps, t->worker.params,
		       t->kept.tensors.set[NN_SET_MODEL]);
	if (t->kept.best)
		nn_params_copy(t->task.program, t->task.device->dtype, t->worker.keeps,
			       t->kept.best, t->kept.tensors.set[NN_SET_BEST]);
	take_slots(t);
	for (int set = 0; set < NN_STATE_SETS && !nn_layout_first(&t->layout); set++) {
		nn_free(t->kept.tensors.set[set]); /* rank 0 alone writes states */
		t->kept.tensors.set[set] = NULL;
	}
	return 0;
}
