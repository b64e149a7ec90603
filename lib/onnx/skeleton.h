/*
 * The wire format of protobuf, as far as it has to be known before a message is unpacked: how much
 * there is of what. Weights go from the file to where they stay, each aligned, and nowhere else.
 */
#ifndef NN_ONNX_SKELETON_H
#define NN_ONNX_SKELETON_H

#include "base/text.h"
#include "file/bytes.h"
#include "file/input.h"

/* raw_data of initializer i; data NULL: it has none. */
struct nn_onnx_raw {
	const unsigned char *data;
	size_t n;
	size_t at; /* among the weights */
	bool found;
};

struct nn_onnx_skeleton {
	struct nn_text bytes;    /* the model without raw_data of its initializers */
	struct nn_onnx_raw *raw; /* borrowed from the weights; [n_raw] */
	size_t n_raw, raw_room;
	struct nn_block weights;
	size_t used; /* bytes of the weights */
};

/* All that is left of the input. Errors begin with its name. Free it on failure too. */
int nn_onnx_skeleton(struct nn_onnx_skeleton *skeleton, struct nn_input *input,
		     struct nn_error *err);
void nn_onnx_skeleton_free(struct nn_onnx_skeleton *skeleton);

#endif
