/* ONNX files go through a module, which is opened when one is read or written. */
#include <string.h>
#include <sys/stat.h>

#include "base/module.h"
#include "model/onnx.h"

static const struct nn_onnx *open_module(const char *path, struct nn_error *err)
{
	const struct nn_onnx *onnx = nn_module_open("onnx", err);

	if (!onnx)
		nn_fail_at(err, "%s: ONNX needs protobuf-c", path);
	return onnx;
}

bool nn_onnx_named(const char *path)
{
	size_t n = path ? strlen(path) : 0;

	return n >= 5 && strcmp(path + n - 5, ".onnx") == 0;
}

int nn_onnx_model_read(struct nn_st **st, struct nn_input *input, bool later, struct nn_error *err)
{
	const char *path = nn_input_name(input);
	const struct nn_onnx *onnx = open_module(path, err);
	struct stat status;
	bool beside = stat(path, &status) == 0 && S_ISREG(status.st_mode);

	return onnx ? onnx->read(st, input, beside, later, err) : -1;
}

int nn_onnx_each_file(struct nn_input *input, int (*visit)(void *arg, const char *path), void *arg)
{
	const struct nn_onnx *onnx = nn_module_open("onnx", NULL);

	return onnx ? onnx->each_file(input, visit, arg) : 0;
}

int nn_onnx_model_write(struct nn_output *output, const char *path,
			const struct nn_onnx_model *model, struct nn_error *err)
{
	const struct nn_onnx *onnx = open_module(path, err);

	if (!onnx)
		return -1;
	return onnx->write(output, model, err) < 0 ? nn_fail_at(err, "%s", path) : 0;
}
