/* From a model file to a model file: what was in it is what comes out, smaller where asked for. */
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/option.h"
#include "model/fold.h"
#include "model/onnx.h"
#include "train/convert.h"

bool nn_train_converts(const struct nn_train_setup *s)
{
	struct stat status;

	return !s->data_path && nn_opt_given(s->list, "steps") && s->train->recipe.steps == 0 &&
	       s->train->model && stat(s->train->model, &status) == 0 && S_ISREG(status.st_mode);
}

/* Standard options mean the same for every tool. */
static bool is_taken(const struct nn_opt_table *table, const struct nn_opt *row)
{
	static const char *const taken[] = { "model", "steps", "fold-batchnorm", "explain", NULL };
	const char *const *name = taken;

	while (*name && strcmp(*name, row->name) != 0)
		name++;
	return table->rows == nn_std_opts || *name;
}

int nn_train_convert_check(const struct nn_train_setup *s, struct nn_error *err)
{
	if (!nn_train_converts(s) || nn_opt_given(s->list, "explain"))
		return 0;
	for (const struct nn_opt_table *t = s->list->tables; t->rows; t++)
		for (const struct nn_opt *row = t->rows; row->name; row++)
			if (nn_opt_given(s->list, row->name) && !is_taken(t, row))
				return nn_fail(err, NN_EUSAGE,
					       "--%s: needs DATA; without, -m MODEL --steps=0 "
					       "writes a finished model again",
					       row->name);
	return 0;
}

/* What is written. */
struct finished {
	const struct nn_net *net;
	enum nn_dtype dtype; /* in the file */
	void **params;       /* of nn_dtype_computed(dtype) */
};

static int write_file(struct nn_output *output, const char *path, const struct finished *f,
		      const struct nn_model_file *file, struct nn_error *err)
{
	const void *const *params = (const void *const *)f->params;
	const struct nn_onnx_model model = {
		f->net,           nn_dtype_computed(f->dtype), params,
		file->input_json, file->target_json,           file->train_json
	};

	return nn_onnx_named(path)
		       ? nn_onnx_model_write(output, path, &model, err)
		       : nn_model_file_write(output, f->net, f->dtype, params, file->input_json,
					     file->target_json, file->train_json, err);
}

static int write_model(const struct nn_train_setup *s, const struct finished *f,
		       const struct nn_model_file *file, struct nn_error *err)
{
	struct nn_output *output = NULL;
	int status = nn_output_open(&output, s->std->output, true, err);

	if (status == 0)
		status = write_file(output, s->std->output, f, file, err);
	return output ? nn_output_close(output, status, err) : status;
}

/* The same without batchnorm, where the line before can do what it does. */
static int write_folded(const struct nn_train_setup *s, const struct finished *f,
			const struct nn_model_file *file, struct nn_error *err)
{
	struct finished folded = { .dtype = f->dtype };
	struct nn_net *net;
	int status = nn_net_fold(&net, &folded.params, f->net, nn_dtype_computed(f->dtype),
				 f->params, err);

	if (status < 0)
		return nn_fail_at(err, "--fold-batchnorm: %s", s->train->model);
	folded.net = net;
	status = write_model(s, &folded, file, err);
	nn_free(folded.params);
	nn_net_free(net);
	return status;
}

static int convert(const struct nn_train_setup *s, const struct nn_model_file *file,
		   struct nn_error *err)
{
	struct finished f = { file->net, file->stored, NULL };
	int status;

	if (nn_opt_given(s->list, "precision"))
		f.dtype = nn_std_dtype(s->std);
	f.params = nn_params_new(nn_net_program(f.net), nn_dtype_computed(f.dtype), err);
	status = f.params ? nn_model_file_params(file, nn_dtype_computed(f.dtype), f.params, err)
			  : -1;
	if (status == 0)
		status = (s->train->fold_batchnorm ? write_folded : write_model)(s, &f, file, err);
	nn_free(f.params);
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
