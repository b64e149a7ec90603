/* Weights made elsewhere: what WEIGHTS may be, and which of its tensors is which parameter. */
#ifndef NN_MODEL_WEIGHTS_H
#define NN_MODEL_WEIGHTS_H

#include "model/model.h"

/*
 * WEIGHTS: a directory of *.npy named as tensors, NAME=FILE,NAME=FILE, else a safetensors, .npz or
 * .npy file.
 */
int nn_weights_read(struct nn_st **st, const char *operand, struct nn_error *err);
/*
 * Of nn_opt.each_file, for a model file, too: the .npy files of a directory or a list, the external
 * data of an ONNX file.
 */
int nn_weights_each_file(const char *operand, int (*visit)(void *arg, const char *path), void *arg);

/*
 * Resolve net by the tensors of *st (and as->sample) and replace *st by its parameters, named and
 * laid out as ours. Tensors go by name, else by shape where they fit one way only. place: of
 * messages.
 */
int nn_weights_match(struct nn_st **st, struct nn_net *net, const struct nn_weights_as *as,
		     const char *place, struct nn_error *err);

/*
 * The same for a net whose shapes are known, which stays as it is. left NULL: all parameters are
 * wanted; else those that go by name, and the names of all others are added to it.
 */
int nn_weights_take(struct nn_st **st, const struct nn_net *net, const struct nn_weights_as *as,
		    const char *place, struct nn_text *left, struct nn_error *err);

#endif
