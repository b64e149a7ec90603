/*
 * How Keras holds parameters: kernels [in,out] and [kh,kw,in,out], and behind a flattened picture
 * channels last.
 */
#ifndef NN_MODEL_KERAS_H
#define NN_MODEL_KERAS_H

#include "model/model.h"

/* The order of a vector's elements: of a picture that was flattened, or as it is (channels 0). */
struct nn_keras_order {
	size_t channels, positions;
	bool mixed; /* pictures that were flattened and joined, or brought to another shape */
};

/* [n_values] of the program; nn_free. */
struct nn_keras_order *nn_keras_orders(const struct nn_program *program, struct nn_error *err);

/*
 * The shape that parameter p has in a file of Keras; depthwise: of a DepthwiseConv2D,
 * [kh,kw,in,multiplier] in place of [kh,kw,1,out].
 */
struct nn_shape nn_keras_shape(const struct nn_program *program, int p, bool depthwise);
/* Can it be a DepthwiseConv2D's? */
bool nn_keras_depthwise(const struct nn_program *program, int p);
/* Does Keras hold it otherwise than we do? Of another shape, or in another order. */
bool nn_keras_turns(const struct nn_program *program, int p, const struct nn_keras_order *orders);
/* tensor, as Keras holds it, to our shape and order: its data are then the block's. */
int nn_keras_turn(const struct nn_program *program, int p, const struct nn_keras_order *orders,
		  struct nn_st_tensor *tensor, struct nn_block *block, struct nn_error *err);

/*
 * keras-cells.c: cells of recurrent layers under PyTorch's words, in place of those that *st has.
 * place: the file's name.
 */
struct nn_net;
int nn_keras_cells(struct nn_st **st, const struct nn_net *net, const char *place,
		   struct nn_error *err);

#endif
