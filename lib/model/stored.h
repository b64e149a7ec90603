/* The types in which files hold the values of a model, which are computed as f32 or f64. */
#ifndef NN_MODEL_STORED_H
#define NN_MODEL_STORED_H

#include "file/safetensors.h"
#include "op/program.h"

/*
 * Parameters as tensors of a file, in program order, names borrowed from program. params:
 * canonical, of nn_dtype_computed(dtype), borrowed where they stay as they are. NN_EFAIL: a value
 * is beyond the range of dtype. Freed with nn_st_free.
 */
int nn_stored_tensors(struct nn_st **st, const struct nn_program *program, enum nn_dtype dtype,
		      const void *const *params, struct nn_error *err);
/* Replace *st by one in which i8 tensors with scales beside them are f32; place: of messages. */
int nn_stored_widen(struct nn_st **st, const char *place, struct nn_error *err);
/* The dtype that nn_stored_tensors was asked for; f32, or f64 with one such, where types differ. */
enum nn_dtype nn_stored_dtype(const struct nn_st *st, const struct nn_program *program);

#endif
