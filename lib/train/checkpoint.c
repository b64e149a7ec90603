/* Checkpoints: the state is written whole beside the old one, so that a kill at any moment leaves
 * one that loads. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json-text.h"
#include "base/memory.h"
#include "train/checkpoint.h"
#include "train/ranks.h"
#include "train/save.h"
#include "train/spool.h"

/* ---- opening ---- */

/* m.safetensors -> m.state.safetensors */
static char *default_path(const char *output, struct nn_error *err)
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

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t count_options(const struct nn_opt_list *list, const char **names)
{
	size_t n = 0;

	for (const struct nn_opt_table *table = list->tables; table->rows; table++)
		for (const struct nn_opt *row = table->rows; row->name; row++) {
			if (row->type == NN_OPT_HELP || row->type == NN_OPT_VERSION ||
			    row->type == NN_OPT_CONFIG)
				continue;
			if (names)
				names[n] = row->name;
			n++;
		}
	return n;
}

char *nn_checkpoint_options(const struct nn_opt_list *list, struct nn_error *err)
{
	size_t n = count_options(list, NULL);
	const char **names = nn_alloc(n, sizeof *names, err);
	struct nn_text json = { 0 };
	char value[4096], *text = NULL;

	if (!names)
		return NULL;
	count_options(list, names);
	qsort(names, n, sizeof *names, by_name);
	nn_json_put(&json, "{");
	for (size_t i = 0; i < n; i++) {
		if (!nn_opt_text(list, names[i], value, sizeof value))
			value[0] = '\0';
		nn_json_add_string(&json, names[i], value);
	}
	nn_text_add(&json, "}");
	nn_free(names);
	if (json.failed)
		nn_fail(err, NN_ENOMEM, "cannot allocate the text of the options");
	else
		text = nn_strdup(json.data, err);
	nn_text_free(&json);
	return text;
}

static int open_sets(struct nn_train *t, struct nn_error *err)
{
	struct nn_state_tensors *s = &t->tensors;
	size_t slots = nn_optimizer_slots(nn_step_optimizer(t->step));
	bool keeps = t->state_path || (t->options->resume && !nn_train_first(t));

	s->program = t->program;
	s->dtype = t->device->dtype;
	if (t->options->patience &&
	    !(t->best = nn_params_some(t->program, s->dtype, t->keeps, err)))
		return -1;
	if (!keeps)
		return 0;
	for (size_t set = 0; set < NN_STATE_SETS; set++) {
		bool kept = set == NN_SET_BEST ? t->best != NULL : set < NN_SET_SLOT0 + slots;

		if (kept && !(s->set[set] = nn_params_some(t->program, s->dtype, t->keeps, err)))
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
		return nn_fail(err, NN_EFAIL, "%s: is no regular file, which a state needs", path);
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
	nn_free(t->state_path);
	t->state_path = NULL;
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
	t->state_path = beside ? default_path(output, err) : nn_strdup(t->options->checkpoint, err);
	if (t->state_path && beside && name_length(t->state_path) > NAME_MAX)
		return no_room(t, err);
	if (!t->state_path || nn_lock_take(&t->lock, t->state_path, err) < 0)
		return -1;
	if (!beside && check_place(t->state_path, err) < 0)
		return -1;
	t->replaces = access(t->state_path, F_OK) == 0;
	nn_output_sweep(t->state_path);
	return 0;
}

void nn_train_sweep(const struct nn_train_setup *s)
{
	const char *const outputs[] = { s->std->output, s->train->plot, nn_spool_file(s->train) };
	char *state = s->train->checkpoint         ? nn_strdup(s->train->checkpoint, NULL)
		      : is_regular(s->std->output) ? default_path(s->std->output, NULL)
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
	if (!(t->options_json = nn_checkpoint_options(t->setup.list, err)))
		return -1;
	if (nn_parse_every(t->options->checkpoint_every, &t->save_steps, &t->save_s, err) < 0)
		return -1;
	return open_sets(t, err);
}

void nn_checkpoint_free(struct nn_train *t)
{
	nn_save_close(t);
	for (int set = 0; set < NN_STATE_SETS; set++)
		nn_free(t->tensors.set[set]);
	nn_free(t->best);
	nn_free(t->options_json);
	t->tensors = (struct nn_state_tensors){ 0 };
	t->best = NULL;
	t->options_json = NULL;
}

/* ---- resuming ---- */

struct nn_state_facts nn_checkpoint_facts(const struct nn_train *t)
{
	return (struct nn_state_facts){
		.model = nn_net_text(t->net),
		.data = nn_dataset_hash(t->dataset),
		.valid = t->held_out ? nn_dataset_hash(t->held_out) : NULL,
		.options = t->options_json,
	};
}

static void take_slots(struct nn_train *t)
{
	struct nn_optimizer *optimizer = nn_step_optimizer(t->step);

	for (size_t k = 0; k < nn_optimizer_slots(optimizer); k++)
		nn_optimizer_load(optimizer, k,
				  (const void *const *)t->tensors.set[NN_SET_SLOT0 + k]);
}

/* What rank 0 does for all. */
static int read_state(struct nn_train *t, bool *resumed, struct nn_error *err)
{
	struct nn_state_facts now = nn_checkpoint_facts(t);
	struct nn_state *state = NULL;
	bool other_build;
	int status;

	if (!t->replaces) {
		nn_train_note(t, "%s: there is no state yet; training starts from the beginning",
			      t->state_path);
		return 0;
	}
	if (nn_state_read(&state, t->state_path, err) < 0)
		return -1;
	status = nn_state_compare(state, &now, &other_build, err);
	if (status == 0)
		status = nn_state_load(state, &t->tensors, &t->counters, err);
	nn_state_free(state);
	if (status < 0)
		return -1;
	if (other_build)
		nn_train_warn(t,
			      "%s: another build of nntools wrote this state; the bytes may differ",
			      t->state_path);
	t->saved_step = t->counters.step;
	nn_train_tell_saved(t, t->saved_step);
	t->replaces = false;
	*resumed = true;
	return 0;
}

int nn_checkpoint_resume(struct nn_train *t, bool *resumed, struct nn_error *err)
{
	*resumed = false;
	if (!t->options->resume)
		return 0;
	if ((nn_train_first(t) && read_state(t, resumed, err) < 0) ||
	    nn_train_share_state(t, resumed, err) < 0)
		return -1;
	if (!*resumed)
		return 0;
	nn_params_copy(t->program, t->device->dtype, t->keeps, t->params,
		       t->tensors.set[NN_SET_MODEL]);
	if (t->best)
		nn_params_copy(t->program, t->device->dtype, t->keeps, t->best,
			       t->tensors.set[NN_SET_BEST]);
	take_slots(t);
	for (int set = 0; set < NN_STATE_SETS && !nn_train_first(t); set++) {
		nn_free(t->tensors.set[set]); /* rank 0 alone writes states */
		t->tensors.set[set] = NULL;
	}
	return 0;
}
