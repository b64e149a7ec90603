/* Data as a network wants them: what its lines and a start model say, and the files that are opened
 * with it. */
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "file/json/json.h"
#include "model/model.h"
#include "train/job.h"
#include "train/cached.h"
#include "train/prepare.h"

/* ---- what the network says of the data ---- */

struct want {
	struct nn_want want;
	struct nn_want_input *inputs;
	struct nn_want_target *targets;
	struct nn_schema *schema;
};

static void want_free(struct want *w)
{
	nn_free(w->inputs);
	nn_free(w->targets);
	nn_schema_free(w->schema);
}

static bool has_fills(const struct nn_schema *schema)
{
	for (size_t i = 0; i < schema->n_inputs; i++)
		for (size_t c = 0; c < schema->inputs[i].n_columns; c++)
			if (schema->inputs[i].columns && schema->inputs[i].columns[c].fills)
				return true;
	return false;
}

/* What a start model has settled: its scales stay, and what it fills need not be asked for again.
 */
static int follow_start(const struct nn_train *t, const struct nn_schema *schema,
			struct nn_error *err)
{
	char given[40] = "";

	if (nn_opt_given(t->setup.list, "normalize")) {
		nn_opt_text(t->setup.list, "normalize", given, sizeof given);
		return nn_fail(err, NN_EUSAGE,
			       "--normalize=%s: %s has scales of its own, which its weights were "
			       "trained with",
			       given, t->options->model);
	}
	if (t->setup.data->classes)
		return nn_fail(err, NN_EUSAGE,
			       "--classes=%s: %s has classes of its own, which its weights were "
			       "trained with",
			       t->setup.data->classes, t->options->model);
	if (!nn_opt_given(t->setup.list, "missing") && has_fills(schema))
		t->setup.data->missing = NN_MISSING_MEAN;
	return 0;
}

/* The bytes that samples may take in memory which can stay in their files, for this rank. */
static size_t input_memory(const struct nn_train *t)
{
	uint64_t here = nn_memory_available() / (t->layout.on_host > 1 ? t->layout.on_host : 1),
		 all = t->options->memory && t->options->memory < here ? t->options->memory : here;

	return t->options->input_memory ? (size_t)t->options->input_memory : (size_t)(all / 2 + 1);
}

static int want_init(struct want *w, const struct nn_train *t, struct nn_error *err)
{
	size_t n_in = nn_net_n_inputs(t->task.net), n_out = nn_net_n_outputs(t->task.net);
	enum nn_loss_kind loss = t->options->recipe.loss;
	const char *classes = t->setup.data->classes;
	size_t n;

	*w = (struct want){ 0 };
	w->inputs = nn_alloc(n_in, sizeof *w->inputs, err);
	w->targets = nn_alloc(n_out, sizeof *w->targets, err);
	if (!w->inputs || !w->targets)
		return -1;
	for (size_t i = 0; i < n_in; i++) {
		const struct nn_net_input *in = nn_net_input(t->task.net, i);

		w->inputs[i] = (struct nn_want_input){
			in->name,    in->shaped,    in->shape,      in->vector,
			in->columns, in->n_columns, in->categories, in->hash,
			in->index,   in->crosses,   in->n_crosses,  in->hash ? 0 : in->least,
			in->lengths,
		};
	}
	for (size_t i = 0; i < n_out; i++) {
		const struct nn_net_output *out = nn_net_output(t->task.net, i);

		w->targets[i] = (struct nn_want_target){
			.name = out->name,
			.columns = out->target  ? out->target
				   : n_out == 1 ? t->setup.data->target
						: NULL,
			.classes = loss == NN_LOSS_CROSS_ENTROPY ||
				   nn_classes_part(classes, n_out, out->name, &n),
			.numbers = loss > NN_LOSS_CROSS_ENTROPY,
			.plain = loss == NN_LOSS_BCE,
			.size = out->size,
			.ignored = t->options->ignore,
			.steps = out->steps,
		};
	}
	w->want = (struct nn_want){
		w->inputs, n_in,         w->targets,       n_out,          t->task.device->dtype,
		NULL,      t->task.pool, t->source.sample, input_memory(t), input_memory(t),
		(size_t)t->options->recipe.replay
	};
	if (!t->source.start || (!t->source.start->input_json && !t->source.start->target_json))
		return 0;
	if (nn_schema_parse(&w->schema, t->source.start->input_json, t->source.start->target_json,
			    err) < 0)
		return nn_fail_at(err, "%s", t->options->model);
	w->want.schema = w->schema;
	return follow_start(t, w->schema, err);
}

/* TARGETS is looked for before DATA are read: what they lack would hide that it is not there. */
static int find_targets(const struct nn_train *t, struct nn_error *err)
{
	const char *path = t->setup.targets_path;

	if (!path || !*path || nn_is_stdin(path) || !nn_layout_first(&t->layout) ||
	    access(path, F_OK) == 0)
		return 0;
	nn_fail_errno(err, NN_EFAIL, "%s: cannot open", path);
	if (strpbrk(path, "./") || nn_opt_given(t->setup.list, "target"))
		return -1;
	return nn_fail(err, NN_EFAIL, "%s; a column of DATA is named by --target=%s", err->text,
		       path);
}

static void add_names(struct nn_text *text, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		nn_text_add_json(text, names[i], strlen(names[i]));
	nn_text_addf(text, " %zu;", n);
}

static void say_what_is_read(const struct nn_train *t, struct nn_text *text)
{
	const struct nn_opt_list *list = t->setup.list;
	const struct nn_opt *row;
	char value[4096];

	nn_text_addf(text, "%d %d;", (int)t->task.device->dtype, (int)t->options->recipe.loss);
	nn_text_addf(text, "%s;", t->options->ignore ? t->options->ignore : "");
	nn_text_addf(text, "%s;", t->source.start ? t->options->model : "");
	for (size_t i = 0; (row = nn_opt_of_topic(list, "Data", i)); i++)
		nn_text_addf(text, "%s;",
			     nn_opt_text(list, row->name, value, sizeof value) ? value : "");
	for (size_t i = 0; i < nn_net_n_inputs(t->task.net); i++) {
		const struct nn_net_input *in = nn_net_input(t->task.net, i);
		char shape[NN_SHAPE_TEXT] = "";

		if (in->shaped)
			nn_shape_text(shape, &in->shape);
		nn_text_addf(text, "%s %s %d %d %d %d %zu %zu;", in->name ? in->name : "", shape,
			     in->lengths, in->vector, in->categories, in->index, in->hash,
			     in->least);
		add_names(text, in->columns, in->n_columns);
		add_names(text, in->crosses, in->n_crosses);
	}
	for (size_t i = 0; i < nn_net_n_outputs(t->task.net); i++) {
		const struct nn_net_output *out = nn_net_output(t->task.net, i);

		nn_text_addf(text, "%s %s %zu;", out->name ? out->name : "",
			     out->target ? out->target : "", out->size);
	}
}

/* ---- held-out files ---- */

/* FILE[,TARGETS]: an existing file wins, else the first comma parts two. *file is the caller's. */
static int find_held_out(const struct nn_train *t, char **file, const char **targets,
			 struct nn_error *err)
{
	const char *valid = t->source.held_out_path, *comma = strchr(valid, ',');

	if (!comma || access(valid, F_OK) == 0)
		comma = NULL;
	*targets = comma ? comma + 1 : NULL;
	*file = nn_strndup(valid, comma ? (size_t)(comma - valid) : strlen(valid), err);
	return *file ? 0 : -1;
}

static int read_data(struct nn_train *t, bool held_out, const struct nn_want *want,
		     struct nn_error *err)
{
	struct nn_cache_sources s = { t->setup.data_path, t->setup.targets_path, NULL, NULL };
	char *file = NULL;
	int status = held_out ? find_held_out(t, &file, &s.held_out_targets, err) : 0;

	s.held_out = file;
	if (status == 0)
		status = (!t->options->cache ? nn_cached_read_files
			  : t->source.sample ? nn_cached_plan
					     : nn_cached_read)(t, &s, want, err);
	nn_free(file);
	return status;
}

/* Rows weigh by the column that the start model remembers, unless another was given. */
static int take_weight(struct nn_train *t, struct nn_error *err)
{
	const char *text = t->source.start ? t->source.start->train_json : NULL, *name;
	struct nn_json *train;

	if (!text || nn_opt_given(t->setup.list, "weight"))
		return 0;
	if (!(train = nn_json_parse(text, strlen(text), err)))
		return nn_fail_at(err, "%s: nn.train", t->options->model);
	name = nn_json_string(nn_json_get(train, "weight"), NULL);
	t->setup.data->weight_known = name != NULL;
	t->setup.data->weight = name ? nn_keep(name, err) : NULL;
	nn_json_free(train);
	return name && !t->setup.data->weight ? -1 : 0;
}

int nn_train_open_data(struct nn_train *t, double fraction, struct nn_error *err)
{
	struct want w;
	int status;

	if (take_weight(t, err) < 0)
		return -1;
	say_what_is_read(t, &t->source.said);
	t->source.borrowed = t->setup.read && !t->source.said.failed &&
			     strcmp(t->source.said.data, t->setup.read->said) == 0;
	if (t->source.borrowed) {
		t->task.dataset = t->setup.read->dataset;
		t->task.held_out = t->setup.read->held_out;
		t->task.schema = nn_dataset_schema(t->task.dataset);
		return 0;
	}
	if (t->setup.read && nn_is_stdin(t->setup.data_path))
		return nn_fail(err, NN_EUSAGE,
			       "these options ask for the data in another way, and stdin is read "
			       "once; give a file");
	if (find_targets(t, err) < 0)
		return -1;
	status = want_init(&w, t, err);
	if (status == 0)
		status = read_data(t, t->options->valid && fraction == 0, &w.want, err);
	want_free(&w);
	if (status == 0)
		t->task.schema = nn_dataset_schema(t->task.dataset);
	return status;
}
