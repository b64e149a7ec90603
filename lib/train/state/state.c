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

	w->tensors = nn_alloc((size_t)program->n_params * NN_STATE_SETS, sizeof *w->tensors, err);
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
	if (nn_st_read(&s->st, path, err) < 0 || verify(s, err) < 0) {
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

static const char *shown(const struct nn_json *value)
{
	const char *text = nn_json_string(value, NULL);

	return text ? text : "";
}

/*
 * How near a difference is to what the user did: 0 was typed now, 1 is a default or was typed then,
 * 2 follows from other options, the model or the data.
 */
static int origin_of(const struct nn_opt_list *list, const char *name)
{
	static const char *const derived[] = { "leaves", "loss", "lr", "metric", "weight-decay" };

	if (nn_opt_given(list, name))
		return 0;
	for (size_t i = 0; i < sizeof derived / sizeof *derived; i++)
		if (strcmp(derived[i], name) == 0)
			return 2;
	return 1;
}

/* Options of one origin by name; one that only one of both knows counts as empty. */
static int compare_options(const struct nn_state *state, const struct nn_opt_list *list, int origin,
			   const struct nn_json *then, const struct nn_json *now,
			   struct nn_error *err)
{
	for (size_t i = 0; i < nn_json_size(now); i++) {
		const struct nn_json *value;
		const char *name = nn_json_key(now, i, &value);
		const char *was = shown(nn_json_get(then, name)), *is = shown(value);
		char quoted[NN_QUOTED], quoted_was[NN_QUOTED];

		if (strcmp(was, is) == 0 || nn_train_may_change(name) ||
		    origin_of(list, name) != origin)
			continue;
		return nn_fail(err, NN_EUSAGE, "--%s=%s: %s was made with --%s=%s", name,
			       nn_quote(quoted, is, strlen(is)), state->path, name,
			       nn_quote(quoted_was, was, strlen(was)));
	}
	return 0;
}

static size_t line_length(const char *text)
{
	return strcspn(text, "\n");
}

/* The first line in which two canonical texts differ. */
static int compare_models(const struct nn_state *state, const char *then, const char *now,
			  struct nn_error *err)
{
	char was[NN_QUOTED], is[NN_QUOTED];
	int line = 1;

	for (;; line++) {
		size_t a = line_length(then), b = line_length(now);

		if (a != b || memcmp(then, now, a) != 0)
			return nn_fail(
				err, NN_EUSAGE,
				"-m: line %d of the model is \"%s\", %s was made with \"%s\"", line,
				nn_quote(is, now, b), state->path, nn_quote(was, then, a));
		if (then[a] == '\0' || now[b] == '\0')
			return 0;
		then += a + 1;
		now += b + 1;
	}
}

int nn_state_compare(const struct nn_state *state, const struct nn_state_facts *facts,
		     bool *other_build, struct nn_error *err)
{
	const char *options = nn_st_meta(state->st, "nn.options");
	const char *model = nn_st_meta(state->st, "nn.model");
	struct nn_json *then = NULL, *now = NULL;
	int status = -1;

	*other_build = !same(state, "nn.build", BUILD);
	if (!options || !model)
		return nn_fail(err, NN_EFORMAT, "%s: there is no nn.options or nn.model in it",
			       state->path);
	if (compare_models(state, model, facts->model, err) < 0)
		return -1;
	then = nn_json_parse(options, strlen(options), err);
	now = then ? nn_json_parse(facts->options, strlen(facts->options), err) : NULL;
	if (then && now)
		status = 0;
	for (int origin = 0; status == 0 && origin < 3; origin++)
		status = compare_options(state, facts->list, origin, then, now, err);
	nn_json_free(then);
	nn_json_free(now);
	if (status < 0)
		return -1;
	if (!same(state, "nn.data", facts->data) || !same(state, "nn.valid", facts->valid))
		return nn_fail(err, NN_EFAIL, "%s: the %s are not those it was trained on",
			       state->path,
			       same(state, "nn.data", facts->data) ? "held-out data" : "data");
	return 0;
}

uint64_t nn_state_count(const struct nn_state *state, const char *option)
{
	const char *options = nn_st_meta(state->st, "nn.options"), *text;
	struct nn_json *json = nn_json_parse(options, strlen(options), NULL);
	uint64_t n = 0;

	text = shown(nn_json_get(json, option));
	if (!nn_parse_u64(text, strlen(text), &n))
		n = 0;
	nn_json_free(json);
	return n;
}

static int load_set(const struct nn_state *state, const struct nn_state_tensors *t, int set,
		    struct nn_error *err)
{
	struct nn_text name = { 0 };
	int status = 0;

	for (int p = 0; p < t->program->n_params && status == 0; p++) {
		const struct nn_program_param *param = &t->program->params[p];
		const struct nn_st_tensor *tensor;

		if (!in_set(param, set) || !t->set[set][p])
			continue;
		nn_text_clear(&name);
		nn_text_add(&name, prefix[set]);
		nn_text_add(&name, param->name);
		tensor = name.data ? nn_st_find(state->st, name.data) : NULL;
		if (!tensor || tensor->dtype != t->dtype ||
		    !nn_shape_equal(&tensor->shape, &param->desc.shape))
			status = nn_fail(err, NN_EFORMAT,
					 "%s: tensor %s is missing or has another shape or type",
					 state->path, name.data ? name.data : "");
		else
			status = nn_st_get(tensor, t->dtype, t->set[set][p], err);
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
	return 0;
}
