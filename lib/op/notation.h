/*
 * An op at a site as people write it: rows, the shape of a row, attributes:
 * "64x1x28x28,32,3x3,pad=1".
 */
#ifndef NN_OP_NOTATION_H
#define NN_OP_NOTATION_H

#include "base/text.h"
#include "op/op.h"

/* The op whose name is name[0..n); NN_N_OPS: none. */
enum nn_op_id nn_op_named(const char *name, size_t n);
/* "ROWSxIN[,...]" as nn_op_form says; attrs have what is not written. False: it is not so. */
bool nn_op_read(enum nn_op_id op, const char *text, size_t *rows, struct nn_shape *in, void *attrs);
const char *nn_op_form(enum nn_op_id op);
/* The same text again, and what fusion put behind the op. */
void nn_op_write(enum nn_op_id op, const void *attrs, const struct nn_shape *in, size_t rows,
		 struct nn_text *text);

/* ---- for rows of the table ---- */

struct nn_op_reader {
	const char *at;
	bool wrong; /* once it is, what was read means nothing */
};

size_t nn_op_read_size(struct nn_op_reader *r);
void nn_op_read_pair(struct nn_op_reader *r, size_t pair[2]);
/* KEY=N, or KEY=0 where zero is allowed, for both sides; false: something else is there. */
bool nn_op_read_key(struct nn_op_reader *r, const char *key, bool zero, size_t value[2]);
/* ,KxK[,stride=S][,pad=P]; a stride that is `usual` is not written. */
void nn_op_write_window(struct nn_text *text, const size_t kernel[2], const size_t stride[2],
			const size_t pad[2], size_t usual);

#endif
