/*
 * The wire format of protobuf, as far as it has to be known before a message is unpacked: how much
 * there is of what, and where the bytes of the weights lie, which stay where they are.
 */
#ifndef NN_ONNX_SKELETON_H
#define NN_ONNX_SKELETON_H

#include "base/text.h"
#include "base/error.h"

#define NN_ONNX_MOST ((size_t)1000000) /* nodes of a graph, tensors of a graph, and the like */

/* raw_data of initializer i; data NULL: it has none. */
struct nn_onnx_raw {
	const unsigned char *data;
	size_t n;
};

struct nn_onnx_skeleton {
	struct nn_text bytes;    /* the model without raw_data of its initializers */
	struct nn_onnx_raw *raw; /* borrowed from the file; [n_raw] */
	size_t n_raw;
};

/* Errors say what is wrong, not where. Free it on failure too. */
int nn_onnx_skeleton(struct nn_onnx_skeleton *skeleton, const unsigned char *bytes, size_t n,
		     struct nn_error *err);
void nn_onnx_skeleton_free(struct nn_onnx_skeleton *skeleton);

#endif
