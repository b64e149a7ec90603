/* The cells of both sides: gates in PyTorch's order, and where ONNX has them. */
#ifndef NN_ONNX_CELL_H
#define NN_ONNX_CELL_H

#include <stdbool.h>
#include <stddef.h>

#include "op/op.h"

struct nn_onnx_cell {
	const char *op, *layer;
	enum nn_recurrent_cell kind;
	size_t n_gates;
	unsigned char theirs[4]; /* block of gate k there */
	const char *usual[3];    /* activations of a direction */
	size_t n_usual;
	bool after_product; /* it has linear_before_reset, which is ours */
};

/* NULL: none. */
const struct nn_onnx_cell *nn_onnx_cell_named(const char *op);
const struct nn_onnx_cell *nn_onnx_cell_of(enum nn_recurrent_cell kind);

#endif
