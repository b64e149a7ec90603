/* safetensors: named tensors and string metadata; read with every check of formats.md, written in the reference writer's order. */
#ifndef NN_FILE_SAFETENSORS_H
#define NN_FILE_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"
#include "base/output.h"
#include "base/shape.h"

struct nn_st_tensor {
	const char *name;
	enum nn_dtype dtype;
	struct nn_shape shape;
	const void *data;            /* little endian, 4-byte aligned at least when read */
};

struct nn_st_meta {
	const char *key, *value;
};

/* A file read whole; tensors sorted by name. Everything is owned by it until nn_st_free. */
struct nn_st {
	struct nn_st_tensor *tensors;
	size_t n_tensors;
	struct nn_st_meta *meta;
	size_t n_meta;
	void *owner;
};

int nn_st_read(struct nn_st **st, const char *path, struct nn_error *err);    /* also a pipe or FIFO, "-" */
void nn_st_free(struct nn_st *st);
const struct nn_st_tensor *nn_st_find(const struct nn_st *st, const char *name);
const char *nn_st_meta(const struct nn_st *st, const char *key);              /* NULL: not there */
/* Copy a float tensor, converted: exact for f16 bf16 f32 -> f64; rounded once to f32. Other dtypes: error naming the tensor. */
int nn_st_get(const struct nn_st_tensor *tensor, enum nn_dtype dtype, void *values, struct nn_error *err);

/* Dtype alignment descending, then name; header padded to 64; metadata keys sorted; the same bytes for the same content. */
int nn_st_write(struct nn_output *output, const struct nn_st_tensor *tensors, size_t n_tensors,
		const struct nn_st_meta *meta, size_t n_meta, struct nn_error *err);

#endif
