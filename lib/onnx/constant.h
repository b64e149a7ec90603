/* Tensors that a graph holds or that follow from them: weights, sizes, scales. */
#ifndef NN_ONNX_CONSTANT_H
#define NN_ONNX_CONSTANT_H

#include <stdint.h>

#include "base/shape.h"
#include "onnx/message.h"

/* In a list of sizes: the number of rows, which nobody knows yet. */
#define NN_ONNX_ROWS INT64_MIN

struct nn_onnx_constant {
	enum nn_dtype dtype;
	struct nn_shape shape;
	size_t count;
	const void *data;      /* little endian, maybe not aligned: nn_onnx_data has it filled */
	struct nn_onnx_raw *raw; /* what it is borrowed from, which may wait; NULL */
	struct nn_onnx_skeleton *skeleton; /* that raw is of */
	struct nn_block owned; /* where data is, unless it is borrowed from the file */
	struct nn_onnx_constant *next;
};

/* Element types as the format numbers them; -1: none of ours. */
int nn_onnx_dtype(int64_t data_type);
int nn_onnx_data_type(enum nn_dtype dtype);

/*
 * The constant of a tensor; raw: of an initializer. Its dimensions must be those of its bytes.
 * Errors say what is wrong, not where.
 */
int nn_onnx_constant_read(struct nn_onnx_constant *c, struct nn_onnx_file *file,
			  const Onnx__Tensor *tensor, struct nn_onnx_raw *raw,
			  struct nn_error *err);
/* Its elements, read now if they have waited. */
const void *nn_onnx_data(const struct nn_onnx_constant *c);
/* Element i, of any type. */
double nn_onnx_real(const struct nn_onnx_constant *c, size_t i);
int64_t nn_onnx_whole(const struct nn_onnx_constant *c, size_t i);
/* Does it hold whole numbers? */
bool nn_onnx_is_whole(const struct nn_onnx_constant *c);
/* Zeroed room for its own elements. */
int nn_onnx_constant_room(struct nn_onnx_constant *c, enum nn_dtype dtype,
			  const struct nn_shape *shape, struct nn_error *err);
void nn_onnx_put_whole(struct nn_onnx_constant *c, size_t i, int64_t value); /* of I64 */
/* Its elements with two dimensions exchanged, in room of its own. */
int nn_onnx_transpose(struct nn_onnx_constant *to, const struct nn_onnx_constant *from,
		      struct nn_error *err);
void nn_onnx_constant_fini(struct nn_onnx_constant *c);

#endif
