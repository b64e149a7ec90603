/* Opening what is named: the operand of -m, a file of either kind or text; a model file. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/limit.h"
#include "base/memory.h"
#include "file/sniff.h"
#include "model/net.h"
#include "model/onnx.h"
#include "model/weights.h"

/* All that is left of the input into text. */
static int read_text(struct nn_input *input, struct nn_text *text, struct nn_error *err)
{
	const unsigned char *bytes;
	char said[NN_LIMIT_TEXT];
	size_t got;

	do {
		if (nn_input_some(input, &bytes, &got, err))
			return -1;
		nn_text_add_bytes(text, (const char *)bytes, got);
		nn_input_take(input, got);
		if (text->length > nn_limit(NN_LIMIT_MODEL_TEXT))
			return nn_fail(err, NN_EFORMAT, "%s: a model text of more than %s",
				       nn_input_name(input),
				       nn_limit_said(NN_LIMIT_MODEL_TEXT, 0, said));
	} while (got > 0);
	return text->failed ? nn_fail(err, NN_ENOMEM, "out of memory for a model text") : 0;
}

/* Is what comes next text? Nine bytes tell it from a safetensors header, a length and a brace. */
static int is_text(struct nn_input *input, bool *text, struct nn_error *err)
{
	const unsigned char *bytes;
	enum nn_format_id format;
	size_t got;

	if (nn_input_sniff(input, &format, err) || nn_input_peek(input, &bytes, 9, &got, err))
		return -1;
	*text = got == 0 || (format == NN_FORMAT_text && !memchr(bytes, 0, got) &&
			     nn_utf8_prefix((const char *)bytes, got) + 4 > got);
	return 0;
}

static int open_text(struct nn_net **net, const char *path, struct nn_input *input,
		     struct nn_error *err)
{
	struct nn_text text = { 0 };
	int failed = read_text(input, &text, err);

	if (failed == 0)
		failed = nn_net_parse(net, path, text.data ? text.data : "", text.length, false,
				      err);
	nn_text_free(&text);
	return failed;
}

/* Tensors of a model file or an ONNX file; what is neither is named. */
static int read_model(struct nn_st **st, struct nn_input *input, struct nn_error *err)
{
	enum nn_format_id format;

	if (nn_input_sniff(input, &format, err))
		return -1;
	return format == NN_FORMAT_onnx ? nn_onnx_model_read(st, input, false, err)
					: nn_st_read_model(st, input, err);
}

/* Files are looked at once, so that pipes can be opened too. */
static int open_file(struct nn_net **net, struct nn_model_file **file, const char *path,
		     struct nn_error *err)
{
	struct nn_input *input;
	struct nn_st *st;
	bool text;
	int failed = -1;

	if (nn_input_open(&input, path, err))
		return -1;
	nn_input_plain(input);
	if (is_text(input, &text, err) == 0) {
		if (text)
			failed = open_text(net, path, input, err);
		else if (read_model(&st, input, err) == 0)
			failed = nn_model_file_take(file, st, path, NULL, NULL, err);
	}
	nn_input_close(input);
	return failed;
}

int nn_net_open(struct nn_net **net, struct nn_model_file **file, const char *operand,
		struct nn_error *err)
{
	struct stat status;
	const char *meant;
	char quoted[NN_QUOTED];

	*net = NULL;
	*file = NULL;
	if (stat(operand, &status) == 0)
		return open_file(net, file, operand, err);
	if (errno != ENOENT && errno != ENAMETOOLONG && errno != ENOTDIR)
		return nn_fail_errno(err, NN_EFORMAT, "%s", operand);
	if (strpbrk(operand, " \t\n") || nn_is_layer(operand, strlen(operand)))
		return nn_net_parse(net, "-m", operand, strlen(operand), true, err);
	if (*operand && operand[strspn(operand, "0123456789,x")] == '\0')
		return nn_fail(err, NN_EUSAGE,
			       "%s: no such file; sizes stand behind layers, as in 'dense 16, "
			       "relu, dense ?'",
			       nn_quote(quoted, operand, strlen(operand)));
	meant = strpbrk(operand, "./") ? NULL : nn_layer_meant(operand, strlen(operand));
	return nn_fail(err, NN_EUSAGE, "%s: no such file, and not the name of a layer%s%s%s",
		       *operand ? nn_quote(quoted, operand, strlen(operand)) : "\"\"",
		       meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

int nn_net_check(const char *operand, struct nn_error *err)
{
	struct nn_model_file *file;
	struct nn_net *net;
	int status;

	if (access(operand, F_OK) == 0)
		return 0;
	status = nn_net_open(&net, &file, operand, err);
	nn_net_free(net);
	nn_model_file_free(file);
	return status;
}

/* The net of a -m operand: text, a file with text, or the net of another model file. */
static int net_beside(struct nn_net **net, const char *operand, struct nn_error *err)
{
	struct nn_model_file *other;

	if (nn_net_open(net, &other, operand, err))
		return -1;
	if (other) {
		*net = other->net;
		other->net = NULL;
		nn_model_file_free(other);
	}
	return 0;
}

/* Large values stay in the file until they are asked for. */
static int read_path(struct nn_st **st, const char *path, struct nn_error *err)
{
	struct nn_st_part part = { .later = true };
	enum nn_format_id format;
	struct nn_input *input;
	int failed;

	if (nn_input_open(&input, path, err))
		return -1;
	nn_input_plain(input);
	failed = nn_input_sniff(input, &format, err);
	if (failed == 0)
		failed = format == NN_FORMAT_onnx ? nn_onnx_model_read(st, input, true, err)
						  : nn_st_read_model_part(st, input, &part, err);
	nn_input_close(input);
	return failed;
}

struct tensor_choice {
	const struct nn_params_choice *params;
	const char *path;
};

/* Which tensors hold the parameters that are wanted. */
static int choose_tensors(void *arg, const struct nn_st *st, bool *wanted, struct nn_error *err)
{
	const struct tensor_choice *choice = arg;
	const char *model = nn_st_meta(st, "nn.model");
	const struct nn_program *program;
	const struct nn_st_tensor *t, *scales;
	struct nn_net *net = NULL;
	bool *params = NULL;
	int status = -1;

	if (!model) /* which is found out again, and said */
		return 0;
	if (nn_net_parse(&net, "nn.model", model, strlen(model), false, err) < 0 ||
	    nn_net_resolve(net, NULL, NULL, err) < 0) {
		nn_fail_at(err, "%s", choice->path);
	} else {
		program = nn_net_program(net);
		params = nn_alloc((size_t)program->n_params + 1, sizeof *params, err);
		status = params ? choice->params->choose(choice->params->arg, program, params, err)
				: -1;
		if (status < 0)
			nn_fail_at(err, "%s", choice->path);
		for (int p = 0; p < program->n_params && status == 0; p++) {
			t = params[p] ? nn_st_find(st, program->params[p].name) : NULL;
			scales = t ? nn_st_scales(st->tensors, st->n_tensors,
						  (size_t)(t - st->tensors))
				   : NULL;
			if (t)
				wanted[t - st->tensors] = true;
			if (scales)
				wanted[scales - st->tensors] = true;
		}
	}
	nn_free(params);
	nn_net_free(net);
	return status;
}

int nn_model_file_read_some(struct nn_model_file **file, const char *path,
			    const struct nn_params_choice *choice, struct nn_error *err)
{
	struct tensor_choice tensors = { choice, path };
	struct nn_st_part part = { .choose = choose_tensors, .arg = &tensors };
	enum nn_format_id format;
	struct nn_input *input;
	struct nn_st *st;
	int status;

	*file = NULL;
	if (nn_input_open(&input, path, err) < 0)
		return -1;
	nn_input_plain(input);
	status = nn_input_sniff(input, &format, err);
	if (status == 0)
		status = format == NN_FORMAT_onnx ? nn_onnx_model_read(&st, input, true, err)
						  : nn_st_read_model_part(&st, input, &part, err);
	nn_input_close(input);
	return status < 0 ? -1 : nn_model_file_take(file, st, path, NULL, NULL, err);
}

int nn_model_file_read(struct nn_model_file **file, const char *path,
		       const struct nn_weights_as *as, struct nn_error *err)
{
	struct nn_net *net = NULL;
	struct nn_st *st;

	*file = NULL;
	if (as ? nn_weights_read(&st, path, err) : read_path(&st, path, err))
		return -1;
	if (as && net_beside(&net, as->text, err)) {
		nn_st_free(st);
		return -1;
	}
	return nn_model_file_take(file, st, path, net, as, err);
}
