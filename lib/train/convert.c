/* From a model file to a model file: what was in it is what comes out. */
#include <sys/stat.h>

#include "base/memory.h"
#include "base/option.h"
#include "model/onnx.h"
#include "train/convert.h"

bool nn_train_converts(const struct nn_train_setup *s)
{
	struct stat status;

	return !s->data_path && nn_opt_given(s->list, "steps") && s->train->recipe.steps == 0 &&
	       s->train->model && stat(s->train->model, &status) == 0 && S_ISREG(status.st_mode);
}

static int write_file(struct nn_output *output, const char *path, const struct nn_model_file *file,
		      enum nn_dtype dtype, const void *const *params, struct nn_error *err)
{
	const struct nn_onnx_model model = {
		file->net,        nn_dtype_computed(dtype), params,
		file->input_json, file->target_json,        file->train_json
	};

	return nn_onnx_named(path)
		       ? nn_onnx_model_write(output, path, &model, err)
		       : nn_model_file_write(output, file->net, dtype, params, file->input_json,
					     file->target_json, file->train_json, err);
}

static int convert(const struct nn_train_setup *s, const struct nn_model_file *file,
		   struct nn_error *err)
{
	enum nn_dtype dtype = nn_opt_given(s->list, "precision") ? s->std->precision : file->stored,
		      computed = nn_dtype_computed(dtype);
	void **params = nn_params_new(nn_net_program(file->net), computed, err);
	struct nn_output *output = NULL;
	int status = params ? nn_model_file_params(file, computed, params, err) : -1;

	if (status == 0)
		status = nn_output_open(&output, s->std->output, true, err);
	if (status == 0)
		status = write_file(output, s->std->output, file, dtype,
				    (const void *const *)params, err);
	if (output)
		status = nn_output_close(output, status, err);
	nn_free(params);
	return status;
}

int nn_train_convert(const struct nn_train_setup *s, struct nn_error *err)
{
	struct nn_model_file *file;
	struct nn_net *net;
	int status;

	if (nn_net_open(&net, &file, s->train->model, err) < 0)
		return -1;
	status = file ? convert(s, file, err)
		      : nn_fail(err, NN_EUSAGE,
				"%s: is a text; without DATA, --steps=0 writes a model again",
				s->train->model);
	nn_net_free(net);
	nn_model_file_free(file);
	return status;
}
