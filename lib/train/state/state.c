/*
 * States: tensors of the model, the optimizer and the best model so far, counters and facts, under
 * a checksum.
 */
#include "config.h"
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"
#include "base/sha256.h"
#include "train/options.h"
#include "train/state/state.h"

#define CHECKSUM "nn.checksum"
#define FINISHED "nn.finished"
#define CARRIED "carried"
#define BUILD "nntools " PACKAGE_VERSION ", " __VERSION__

static const char *const prefix[NN_STATE_SETS] = {
	[NN_SET_MODEL] = "model.",
	[NN_SET_SLOT0] = "slot0.",
	[NN_SET_SLOT1] = "slot1.",
	[NN_SET_BEST] = "best.",
};

static bool in_set(const struct nn_program_param *param, int set)
{
	return param->desc.role != NN_BUFFER || set == NN_SET_MODEL || set == NN_SET_BEST;
}

/* ---- checksum ---- */

static void add_string(struct nn_sha256 *sha, const char *text)
{
	nn_sha256_add(sha, text, strlen(text) + 1);
}

static void add_tensor(struct nn_sha256 *sha, const struct nn_st_tensor *t)
{
	char shape[NN_SHAPE_TEXT];

	add_string(sha, t->name);
	add_string(sha, nn_dtype_name(t->dtype));
	add_string(sha, nn_shape_text(shape, &t->shape));
	nn_sha256_add(sha, t->data, nn_shape_count(&t->shape) * nn_dtype_size(t->dtype));
}

/*
 * Over tensors sorted by name and metadata sorted by key, as nn_st_read gives them; the checksum
 * itself left out.
 */
static void checksum(const struct nn_st_tensor *tensors, size_t n_tensors,
		     const struct nn_st_meta *meta, size_t n_meta, char hex[NN_SHA256_HEX])
{
	struct nn_sha256 sha;

	nn_sha256_init(&sha);
	for (size_t i = 0; i < n_tensors; i++)
		add_tensor(&sha, &tensors[i]);
	for (size_t i = 0; i < n_meta; i++)
		if (strcmp(meta[i].key, CHECKSUM) != 0) {
			add_string(&sha, meta[i].key);
			add_string(&sha, meta[i].value);
		}
	nn_sha256_hex(&sha, hex);
}

/* ---- writing ---- */

struct writer {
	struct nn_st_tensor *tensors;
	size_t n_tensors;
	struct nn_text names; /* all names, each with its NUL */
	struct nn_text counters;
	struct nn_st_meta meta[9];
	size_t n_meta;
	char hex[NN_SHA256_HEX];
	uint64_t bytes;
};

/* names first hold offsets: the text may move while it grows */
static int list_tensors(struct writer *w, const struct nn_state_tensors *t, struct nn_error *err)
{
	const struct nn_program *program = t->program;
	size_t n = 0;

	w->tensors = nn_alloc((size_t)program->n_params * NN_STATE_SETS + 1, sizeof *w->tensors, err);
	if (!w->tensors)
		return -1;
	for (int set = 0; set < NN_STATE_SETS; set++)
		for (int p = 0; t->set[set] && p < program->n_params; p++) {
			const struct nn_program_param *param = &program->params[p];

			if (!in_set(param, set) || !t->set[set][p])
				continue;
			nn_text_add(&w->names, prefix[set]);
			nn_text_add_bytes(&w->names, param->name, strlen(param->name) + 1);
			w->tensors[w->n_tensors++] = (struct nn_st_tensor){
				.dtype = t->dtype,
				.shape = param->desc.shape,
				.data = t->set[set][p],
			};
			w->bytes +=
				nn_shape_count(&param->desc.shape) * nn_dtype_size(t->dtype) + 100;
		}
	if (w->names.failed)
		return nn_fail(err, NN_ENOMEM, "cannot allocate the names of a state");
	for (size_t i = 0; i < w->n_tensors; i++, n += strlen(w->names.data + n) + 1)
		w->tensors[i].name = w->names.data + n;
	if (t->carried) {
		w->tensors[w->n_tensors++] = (struct nn_st_tensor){
			.name = CARRIED,
			.dtype = t->dtype,
			.shape = t->carried_shape,
			.data = t->carried,
		};
		w->bytes += nn_shape_count(&t->carried_shape) * nn_dtype_size(t->dtype) + 100;
	}
	nn_st_sort(w->tensors, w->n_tensors);
	return 0;
}

static void add_meta(struct writer *w, const char *key, const char *value)
{
	if (!value)
		return;
	w->meta[w->n_meta++] = (struct nn_st_meta){ key, value };
	w->bytes += strlen(key) + strlen(value) + 8;
}

/* keys in sorted order: the checksum runs over them as a reader sees them */
static int list_meta(struct writer *w, const struct nn_state_facts *facts,
		     const struct nn_counters *counters, struct nn_error *err)
{
	nn_counters_json(counters, &w->counters);
	if (w->counters.failed)
		return nn_fail(err, NN_ENOMEM, "cannot allocate the counters of a state");
	add_meta(w, "nn.build", BUILD);
	add_meta(w, "nn.data", facts->data);
	add_meta(w, FINISHED, facts->finished ? "yes" : NULL);
	add_meta(w, "nn.model", facts->model);
	add_meta(w, "nn.options", facts->options);
	add_meta(w, NN_META_STATE, w->counters.data);
	add_meta(w, "nn.valid", facts->valid);
	add_meta(w, "nn.version", NN_MODEL_VERSION);
	checksum(w->tensors, w->n_tensors, w->meta, w->n_meta, w->hex);
	add_meta(w, CHECKSUM, w->hex);
	return 0;
}

int nn_state_write(const char *path, const char *model, const struct nn_state_tensors *tensors,
		   const struct nn_state_facts *facts, const struct nn_counters *counters,
		   uint64_t *bytes, struct nn_error *err)
{
	struct writer w = { 0 };
	struct nn_output *output = NULL;
	int status = -1;

	if (list_tensors(&w, tensors, err) < 0 || list_meta(&w, facts, counters, err) < 0)
		goto end;
	if (nn_output_open_beside(&output, path, model, false, err) < 0)
		goto end;
	status = nn_st_write(output, w.tensors, w.n_tensors, w.meta, w.n_meta, err);
	if (status == 0)
		status = nn_output_commit(output, err);
	else
		nn_output_abort(output);
end:
	*bytes = w.bytes;
	nn_free(w.tensors);
	nn_text_free(&w.names);
	nn_text_free(&w.counters);
	return status;
}

/* ---- reading ---- */

struct nn_state {
	struct nn_st *st;
	const char *path;
};

void nn_state_free(struct nn_state *state)
{
	if (!state)
		return;
	nn_st_free(state->st);
	nn_free(state);
}

static int verify(const struct nn_state *state, struct nn_error *err)
{
	const struct nn_st *st = state->st;
	const char *sum = nn_st_meta(st, CHECKSUM);
	char hex[NN_SHA256_HEX];

	if (!nn_st_meta(st, NN_META_STATE))
		return nn_fail(err, NN_EFORMAT, "%s: %s, expected the state of a training",
			       state->path,
			       nn_st_meta(st, "nn.model") ? "this is a model"
							  : "there is no " NN_META_STATE " in it");
	checksum(st->tensors, st->n_tensors, st->meta, st->n_meta, hex);
	if (!sum || strcmp(sum, hex) != 0)
		return nn_fail(err, NN_EFORMAT,
			       "%s: the checksum does not fit the contents: the state is damaged",
			       state->path);
	return 0;
}

int nn_state_read(struct nn_state **state, const char *path, struct nn_error *err)
{
	struct nn_state *s = nn_alloc(1, sizeof *s, err);

	if (!s)
		return -1;
	s->path = path;
	if (nn_st_read_state(&s->st, path, err) < 0 || verify(s, err) < 0) {
		nn_state_free(s);
		return -1;
	}
	*state = s;
	return 0;
}

static bool same(const struct nn_state *state, const char *key, const char *now)
{
	const char *then = nn_st_meta(state->st, key);

	return then && now ? strcmp(then, now) == 0 : then == now;
}

int nn_state_finished(const char *path, bool *finished, struct nn_error *err)
{
	struct nn_state *state;

	if (nn_state_read(&state, path, err) < 0)
		return -1;
	*finished = nn_st_meta(state->st, FINISHED) != NULL;
	nn_state_free(state);
	return 0;
}

int nn_state_compare(const struct nn_state *state, const struct nn_state_facts *facts,
		     bool *other_build, struct nn_error *err)
{
	const char *options = nn_st_meta(state->st, "nn.options");
	struct nn_facts_made made = {
		.path = state->path,
		.model = nn_st_meta(state->st, "nn.model"),
		.data = nn_st_meta(state->st, "nn.data"),
		.valid = nn_st_meta(state->st, "nn.valid"),
	};
	struct nn_json *then;
	int status;

	*other_build = !same(state, "nn.build", BUILD);
	if (!options || !made.model)
		return nn_fail(err, NN_EFORMAT, "%s: there is no nn.options or nn.model in it",
			       state->path);
	then = nn_json_parse(options, strlen(options), err);
	made.options = then;
	status = then ? nn_facts_compare(&made, facts, nn_train_may_change, err) : -1;
	nn_json_free(then);
	return status;
}

uint64_t nn_state_count(const struct nn_state *state, const char *option)
{
	const char *options = nn_st_meta(state->st, "nn.options"), *text;
	struct nn_json *json = nn_json_parse(options, strlen(options), NULL);
	uint64_t n = 0;

	text = nn_json_string(nn_json_get(json, option), NULL);
	if (!text || !nn_parse_u64(text, strlen(text), &n))
		n = 0;
	nn_json_free(json);
	return n;
}

static int load_tensor(const struct nn_state *state, const char *name, enum nn_dtype dtype,
		       const struct nn_shape *shape, void *to, struct nn_error *err)
{
	const struct nn_st_tensor *tensor = nn_st_find(state->st, name);

	if (!tensor || tensor->dtype != dtype || !nn_shape_equal(&tensor->shape, shape))
		return nn_fail(err, NN_EFORMAT,
			       "%s: tensor %s is missing or has another shape or type", state->path,
			       name);
	return nn_st_get(tensor, dtype, to, err);
}

static int load_set(const struct nn_state *state, const struct nn_state_tensors *t, int set,
		    struct nn_error *err)
{
	struct nn_text name = { 0 };
	int status = 0;

	for (int p = 0; p < t->program->n_params && status == 0; p++) {
		const struct nn_program_param *param = &t->program->params[p];

		if (!in_set(param, set) || !t->set[set][p])
			continue;
		nn_text_clear(&name);
		nn_text_add(&name, prefix[set]);
		nn_text_add(&name, param->name);
		status = load_tensor(state, name.data ? name.data : "", t->dtype,
				     &param->desc.shape, t->set[set][p], err);
	}
	nn_text_free(&name);
	return status;
}

int nn_state_load(const struct nn_state *state, const struct nn_state_tensors *tensors,
		  struct nn_counters *counters, struct nn_error *err)
{
	const char *text = nn_st_meta(state->st, NN_META_STATE);
	struct nn_json *json = nn_json_parse(text, strlen(text), err);
	int status = json ? nn_counters_parse(counters, json, err) : -1;

	nn_json_free(json);
	if (status < 0)
		return nn_fail_at(err, "%s", state->path);
	for (int set = 0; set < NN_STATE_SETS; set++)
		if (tensors->set[set] && load_set(state, tensors, set, err) < 0)
			return -1;
	return tensors->carried ? load_tensor(state, CARRIED, tensors->dtype,
					      &tensors->carried_shape, tensors->carried, err)
				: 0;
}
