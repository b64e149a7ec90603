/*
 * What the module nn-onnx offers: an ONNX file as the tensors and metadata of a model file, and a
 * model as an ONNX file.
 */
#ifndef NN_MODEL_ONNX_H
#define NN_MODEL_ONNX_H

#include "model/model.h"

/* As nn_model_file_write takes it; JSON may be NULL. */
struct nn_onnx_model {
	const struct nn_net *net;
	enum nn_dtype dtype;
	const void *const *params; /* NULL: only what does not depend on them */
	const char *input_json, *target_json, *train_json;
};

struct nn_onnx {
	/*
	 * Tensors with nn.model and what else a model file has. beside: input is a file, whose
	 * folder may have external data. later: as of struct nn_st_part.
	 */
	int (*read)(struct nn_st **st, struct nn_input *input, bool beside, bool later,
		    struct nn_error *err);
	/* output NULL: can it be written? */
	int (*write)(struct nn_output *output, const struct nn_onnx_model *model,
		     struct nn_error *err);
	/* Files beside the input that hold its tensors (nn_file_each). */
	int (*each_file)(struct nn_input *input, int (*visit)(void *arg, const char *path),
			 void *arg);
};

/* Does the name end in .onnx, so that a model is written as such? */
bool nn_onnx_named(const char *path);
/* Through the module; NN_ENODEV where it is not installed. path: for messages. */
int nn_onnx_model_read(struct nn_st **st, struct nn_input *input, bool later, struct nn_error *err);
int nn_onnx_each_file(struct nn_input *input, int (*visit)(void *arg, const char *path), void *arg);
int nn_onnx_model_write(struct nn_output *output, const char *path,
			const struct nn_onnx_model *model, struct nn_error *err);

#endif
