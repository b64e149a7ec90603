/*
 * The wire format of protobuf, as far as it has to be known before a message is unpacked: how much
 * there is of what. Weights go from the file to where they stay, each aligned, and nowhere else;
 * large ones of a regular file wait there until they are looked at.
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
	bool found, waits; /* data is a place for it, not filled yet */
	uint64_t begin;    /* in the file, if it waits */
};

struct nn_onnx_skeleton {
	struct nn_text bytes;    /* the model without raw_data of its initializers */
	struct nn_onnx_raw *raw; /* borrowed from the weights; [n_raw] */
	size_t n_raw, raw_room;
	struct nn_block weights;
	size_t used; /* bytes of the weights */
	uint64_t size; /* of the file */
	int fd;      /* of what waits; -1: nothing does */
	bool failed; /* something that waited could not be read */
};

/* All that is left of the input; later: large weights may wait. Errors begin with its name. Free it on failure too. */
int nn_onnx_skeleton(struct nn_onnx_skeleton *skeleton, struct nn_input *input, bool later,
		     struct nn_error *err);
/* Fill the place of what waits; where that fails, it is zeros. */
void nn_onnx_skeleton_load(struct nn_onnx_skeleton *skeleton, struct nn_onnx_raw *raw);
void nn_onnx_skeleton_free(struct nn_onnx_skeleton *skeleton);

#endif
