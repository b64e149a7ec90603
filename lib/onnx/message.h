/* An ONNX file read whole: its message, and its weights. */
#ifndef NN_ONNX_MESSAGE_H
#define NN_ONNX_MESSAGE_H

#include "file/input.h"
#include "onnx/onnx.pb-c.h"
#include "onnx/skeleton.h"

struct nn_onnx_file {
	const char *path; /* for messages, and where external data are */
	bool beside;      /* it lies in a folder: external data may lie there too */
	bool later;       /* large weights wait in it */
	Onnx__Model *model;
	struct nn_onnx_skeleton skeleton;
	size_t spent, budget; /* bytes that unpacking took and may take */
};

/* All errors begin with the path. Free it on failure too. */
int nn_onnx_file_read(struct nn_onnx_file *file, struct nn_input *input, struct nn_error *err);
void nn_onnx_file_free(struct nn_onnx_file *file);

#endif
