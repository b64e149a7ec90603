/* What the module consists of. */
#ifndef NN_ONNX_MODULE_H
#define NN_ONNX_MODULE_H

#include "model/onnx.h"

/* See struct nn_onnx. */
int nn_onnx_read(struct nn_st **st, struct nn_input *input, bool beside, bool later,
		 struct nn_error *err);
int nn_onnx_write(struct nn_output *output, const struct nn_onnx_model *model,
		  struct nn_error *err);
int nn_onnx_each_external(struct nn_input *input, int (*visit)(void *arg, const char *path),
			  void *arg);

#endif
