/*
 * Weights made elsewhere, in the forms that -m TEXT takes.
 *
 * Of .npy and .npz weights NAME.kernel is accepted for dense layers alone, and not behind a
 * flatten of pictures, whose rows Keras orders otherwise.
 */
#ifndef NN_MODEL_WEIGHTS_H
#define NN_MODEL_WEIGHTS_H

#include "file/safetensors.h"
#include "op/program.h"

/* WEIGHTS: a directory of *.npy named as tensors, NAME=FILE,NAME=FILE, else a safetensors file. */
int nn_weights_read(struct nn_st **st, const char *operand, struct nn_error *err);
/* The .npy files that operand names, where it is a directory or a list. */
int nn_weights_each(const char *operand, int (*visit)(void *arg, const char *path), void *arg);
/*
 * `NAME.kernel` [in,out] of dense layers (Keras) become `NAME.weight` [out,in]. Of .npy files only.
 */
int nn_weights_take_kernels(struct nn_st *st, const char *place, struct nn_error *err);
/* Refuse what such a kernel cannot say: the order of rows behind an image that is flattened. */
int nn_weights_check_kernels(const struct nn_st *st, const struct nn_program *program,
			     const char *place, struct nn_error *err);

#endif
