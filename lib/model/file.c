/* The model file: a safetensors file whose metadata say what its tensors mean. */
#include <stdio.h>
#include <string.h>
#include "base/memory.h"
#include "base/number.h"
#include "model/net.h"
#include "model/stored.h"
#include "model/weights.h"

/* ---- what kind of file it is ---- */

/* The major number of nn.version is at most ours; state files are refused. */
static int check_kind(const struct nn_st *st, const char *path, bool text, struct nn_error *err)
{
	const char *version = nn_st_meta(st, "nn.version");
	uint64_t major = 0, ours = 0;
	char quoted[NN_QUOTED];

	nn_parse_u64(NN_MODEL_VERSION, strlen(NN_MODEL_VERSION), &ours);
	if (nn_st_meta(st, NN_META_STATE))
		return nn_fail(err, NN_EFORMAT, "%s: is the state of a training run, not a model",
			       path);
	if (version) {
		nn_quote(quoted, version, strlen(version));
		if (!nn_parse_u64(version, strcspn(version, "."), &major))
			return nn_fail(err, NN_EFORMAT, "%s: nn.version '%s' is not a version",
				       path, quoted);
		if (major > ours)
			return nn_fail(err, NN_EFORMAT,
				       "%s: nn.version '%s' is newer than this program knows (%s)",
				       path, quoted, NN_MODEL_VERSION);
	}
	if (text)
		return 0;
	if (!nn_st_meta(st, "nn.model"))
		return nn_fail(err, NN_EFORMAT,
			       "%s: has tensors but no nn.model in its metadata; "
			       "-m TEXT says what they mean",
			       path);
	if (!version)
		return nn_fail(err, NN_EFORMAT,
			       "%s: has nn.model but no nn.version in its metadata", path);
	return 0;
}

/* ---- tensors ---- */

static bool is_suffix(const char *name, const char *suffix, size_t *prefix)
{
	size_t n = strlen(name), m = strlen(suffix);

	*prefix = n - m;
	return n > m && strcmp(name + n - m, suffix) == 0;
}

/* PyTorch's batch norm counts its batches: accepted where such a line is, and not used. */
static bool is_counter(const struct nn_st *st, const struct nn_st_tensor *tensor)
{
	char mean[NN_NAME_LENGTH * 8 + 16];
	size_t prefix;

	if (!is_suffix(tensor->name, ".num_batches_tracked", &prefix) || prefix + 14 > sizeof mean)
		return false;
	snprintf(mean, sizeof mean, "%.*s.running_mean", (int)prefix, tensor->name);
	return nn_st_find(st, mean) != NULL;
}

static int check_tensor(const struct nn_st_tensor *tensor, const struct nn_program_param *param,
			const char *path, struct nn_error *err)
{
	char a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT];

	if (!tensor)
		return nn_fail(err, NN_EFORMAT, "%s: tensor '%s' (%s) is missing", path,
			       param->name, nn_shape_text(b, &param->desc.shape));
	if (!nn_dtype_float(tensor->dtype))
		return nn_fail(err, NN_EFORMAT,
			       "%s: tensor '%s' is %s, wanted f32, f64, f16 or bf16%s", path,
			       param->name, nn_dtype_name(tensor->dtype),
			       tensor->dtype == NN_I8 ? ", or its scales beside it" : "");
	if (!nn_shape_equal(&tensor->shape, &param->desc.shape))
		return nn_fail(err, NN_EFORMAT, "%s: tensor '%s' is %s, the model wants %s", path,
			       param->name, nn_shape_text(a, &tensor->shape),
			       nn_shape_text(b, &param->desc.shape));
	return 0;
}

/* Every parameter has its tensor and every tensor its parameter. */
static int check_tensors(struct nn_model_file *file, const char *path, struct nn_error *err)
{
	const struct nn_st *st = file->st;
	const struct nn_program *program = nn_net_program(file->net);
	bool *known = nn_alloc(st->n_tensors, sizeof *known, err);
	int failed = known ? 0 : -1;

	for (int i = 0; failed == 0 && i < program->n_params; i++) {
		const struct nn_st_tensor *tensor = nn_st_find(st, program->params[i].name);

		failed = check_tensor(tensor, &program->params[i], path, err);
		if (failed == 0) {
			known[tensor - st->tensors] = true;
			if (tensor->dtype == NN_F64)
				file->dtype = NN_F64;
		}
	}
	for (size_t i = 0; failed == 0 && i < st->n_tensors; i++) {
		char quoted[NN_QUOTED];

		if (!known[i] && !is_counter(st, &st->tensors[i]))
			failed = nn_fail(
				err, NN_EFORMAT, "%s: the model has no tensor '%s'", path,
				nn_quote(quoted, st->tensors[i].name, strlen(st->tensors[i].name)));
	}
	nn_free(known);
	return failed;
}

/* ---- reading ---- */

static int read_net(struct nn_model_file *file, const char *path, struct nn_error *err)
{
	const char *model = nn_st_meta(file->st, "nn.model");
	struct nn_text place = { 0 };
	int failed;

	nn_text_addf(&place, "%s:nn.model", path);
	if (place.failed)
		return nn_fail(err, NN_ENOMEM, "out of memory");
	failed = nn_net_parse(&file->net, place.data, model, strlen(model), false, err) ||
		 nn_net_resolve(file->net, NULL, NULL, err);
	nn_text_free(&place);
	return failed ? -1 : 0;
}

/* What types the file has, and its tensors in those of computation. */
static int take_stored(struct nn_model_file *file, const char *path, struct nn_error *err)
{
	const struct nn_program *program = nn_net_program(file->net);

	if (program)
		file->stored = nn_stored_dtype(file->st, program);
	return nn_stored_widen(&file->st, path, err);
}

int nn_model_file_take(struct nn_model_file **result, struct nn_st *st, const char *path,
		       struct nn_net *net, const struct nn_weights_as *as, struct nn_error *err)
{
	struct nn_model_file *file = nn_alloc(1, sizeof *file, err);

	*result = NULL;
	if (!file) {
		nn_net_free(net);
		nn_st_free(st);
		return -1;
	}
	file->st = st;
	file->net = net;
	file->dtype = NN_F32;
	if (check_kind(st, path, net != NULL, err) || (!net && read_net(file, path, err)) ||
	    take_stored(file, path, err) ||
	    (net && nn_weights_match(&file->st, net, as, path, err)) ||
	    check_tensors(file, path, err)) {
		nn_model_file_free(file);
		return -1;
	}
	st = file->st;
	file->input_json = nn_st_meta(st, "nn.input");
	file->target_json = nn_st_meta(st, "nn.target");
	file->train_json = nn_st_meta(st, "nn.train");
	*result = file;
	return 0;
}

void nn_model_file_drop(struct nn_model_file *file)
{
	nn_st_drop(file->st);
}

void nn_model_file_free(struct nn_model_file *file)
{
	if (!file)
		return;
	nn_net_free(file->net);
	nn_st_free(file->st);
	nn_free(file);
}

int nn_model_file_params(const struct nn_model_file *file, enum nn_dtype dtype, void *const *params,
			 struct nn_error *err)
{
	const struct nn_program *program = nn_net_program(file->net);

	for (int i = 0; i < program->n_params; i++)
		if (params[i] &&
		    nn_st_some(file->st, nn_st_find(file->st, program->params[i].name), dtype, 0,
			       nn_shape_count(&program->params[i].desc.shape), params[i], err))
			return -1;
	return 0;
}

const void *nn_model_file_some(const struct nn_model_file *file, enum nn_dtype dtype, int param,
			       size_t first, size_t n, void *room, struct nn_error *err)
{
	const struct nn_st_tensor *t =
		nn_st_find(file->st, nn_net_program(file->net)->params[param].name);

	if (t->data && t->dtype == dtype)
		return (const char *)t->data + first * nn_dtype_size(dtype);
	if (!room || nn_st_some(file->st, t, dtype, first, n, room, err) < 0)
		return NULL;
	return room;
}

/* ---- writing ---- */

int nn_model_file_write(struct nn_output *output, const struct nn_net *net, enum nn_dtype dtype,
			const void *const *params, const char *input_json, const char *target_json,
			const char *train_json, struct nn_error *err)
{
	const struct nn_program *program = nn_net_program(net);
	struct nn_st_meta meta[6] = {
		{ "format", "pt" },
		{ "nn.version", NN_MODEL_VERSION },
		{ "nn.model", nn_net_text(net) },
	};
	size_t n_meta = 3;
	struct nn_st *st;
	int failed;

	if (nn_stored_tensors(&st, program, dtype, params, err))
		return -1;
	if (input_json)
		meta[n_meta++] = (struct nn_st_meta){ "nn.input", input_json };
	if (target_json)
		meta[n_meta++] = (struct nn_st_meta){ "nn.target", target_json };
	if (train_json)
		meta[n_meta++] = (struct nn_st_meta){ "nn.train", train_json };
	failed = nn_st_write(output, st->tensors, st->n_tensors, meta, n_meta, err);
	nn_st_free(st);
	return failed;
}
