/* The values a training begins with: -m FILE's, --init's, or drawn from the seed. */
#include <string.h>

#include "model/weights.h"
#include "train/init.h"
#include "train/tell/telling.h"

/* The tensors by name, type and bytes, as nn.train keeps them. */
static void hash_weights(struct nn_train *t)
{
	const struct nn_st *st = t->source.init;
	struct nn_sha256 sha;

	nn_sha256_init(&sha);
	for (size_t i = 0; i < st->n_tensors; i++) {
		const struct nn_st_tensor *tensor = &st->tensors[i];
		const char *type = nn_dtype_name(tensor->dtype);

		nn_sha256_add(&sha, tensor->name, strlen(tensor->name) + 1);
		nn_sha256_add(&sha, type, strlen(type) + 1);
		nn_sha256_add(&sha, tensor->data,
			      nn_shape_count(&tensor->shape) * nn_dtype_size(tensor->dtype));
	}
	nn_sha256_hex(&sha, t->source.init_sha256);
}

static int read_weights(struct nn_train *t, struct nn_text *left, struct nn_error *err)
{
	const struct nn_train_options *o = t->options;
	const struct nn_weights_as as = { .text = o->model, .layout = o->layout };

	if (nn_weights_read(&t->source.init, o->init, err) < 0)
		return -1;
	return nn_weights_take(&t->source.init, t->task.net, &as, o->init,
			       o->init_partial ? left : NULL, err);
}

int nn_init_check(const struct nn_train *t, struct nn_error *err)
{
	const struct nn_train_options *o = t->options;

	if (o->init_partial && !o->init)
		return nn_fail(err, NN_EUSAGE, "--init-partial: needs --init");
	if (o->init && t->source.start)
		return nn_fail(err, NN_EUSAGE,
			       "--init=%s: -m %s has weights of its own, expected a text of the "
			       "model language",
			       o->init, o->model);
	return 0;
}

int nn_init_open(struct nn_train *t, struct nn_error *err)
{
	const struct nn_train_options *o = t->options;
	struct nn_text left = { 0 };
	int status;

	if (!o->init)
		return 0;
	status = read_weights(t, &left, err);
	if (status == 0) {
		hash_weights(t);
		if (left.length > 0)
			nn_tell_note(&t->told, "%s: left as initialized: %s", o->init, left.data);
	}
	nn_text_free(&left);
	return status;
}

/* The canonical line of that name, or -1. */
static int find_line(const struct nn_net *net, const char *name, size_t n)
{
	for (int i = 0; i < nn_net_n_lines(net); i++) {
		struct nn_net_line line = nn_net_line(net, i);

		if (strlen(line.name) == n && memcmp(line.name, name, n) == 0)
			return i;
	}
	return -1;
}

/* Not a layer that could be frozen: those that could are named. */
static int fail_layer(const struct nn_train *t, const char *name, size_t n, struct nn_error *err)
{
	const struct nn_program *program = t->task.program;
	struct nn_text list = { 0 };
	char quoted[NN_QUOTED];

	for (int p = 0, last = -1; p < program->n_params; p++) {
		if (program->params[p].line != last && list.length < 200)
			nn_text_addf(&list, "%s%s", last >= 0 ? ", " : "",
				     nn_net_line(t->task.net, program->params[p].line).name);
		last = program->params[p].line;
	}
	nn_fail(err, NN_EUSAGE, "--freeze=%s: expected layers with weights: %s",
		nn_quote(quoted, name, n), list.data ? list.data : "there are none");
	nn_text_free(&list);
	return -1;
}

int nn_init_freeze(struct nn_train *t, struct nn_error *err)
{
	const char *at = t->options->freeze;

	for (; at; at++) {
		size_t n = strcspn(at, ",");
		int line = find_line(t->task.net, at, n);

		if (line < 0 || nn_net_freeze(t->task.net, line) == 0)
			return fail_layer(t, at, n, err);
		at += n;
		if (!*at)
			break;
	}
	if (at && nn_program_parameters(t->task.program, true) == 0)
		return nn_fail(err, NN_EUSAGE, "--freeze=%s: leaves nothing to train",
			       t->options->freeze);
	return 0;
}

void nn_init_close(struct nn_train *t)
{
	nn_st_free(t->source.init);
	t->source.init = NULL;
}

int nn_init_values(const struct nn_train *t, void *const *params, struct nn_error *err)
{
	const struct nn_program *program = t->task.program;
	enum nn_dtype dtype = t->task.device->dtype;

	if (t->source.start)
		return nn_model_file_params(t->source.start, dtype, params, err);
	if (nn_net_init(t->task.net, t->std->seed, dtype, params, err) < 0)
		return -1;
	for (int p = 0; t->source.init && p < program->n_params; p++) {
		const struct nn_st_tensor *tensor =
			nn_st_find(t->source.init, program->params[p].name);

		if (tensor && params[p] && nn_st_get(tensor, dtype, params[p], err) < 0)
			return -1;
	}
	return 0;
}
