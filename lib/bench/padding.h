/*
 * The products of dense layers and convolutions, M rows by N outputs by K inputs, as they are and
 * padded.
 */
#ifndef NN_BENCH_PADDING_H
#define NN_BENCH_PADDING_H

#include "op/program.h"

struct nn_product {
	enum nn_op_id op;
	union nn_op_attrs attrs;
	struct nn_shape in; /* of a row */
	size_t rows, m, n, k;
};

/* false: the node is not a product, or a grouped one, whose groups are products themselves. */
bool nn_product_of(struct nn_product *product, const struct nn_program *program,
		   const struct nn_node *node, size_t rows);
/*
 * With rows, channels or values added until M, N and K are multiples, as few as that takes; a
 * window and the size of an image stay. false: they are multiples already.
 */
bool nn_product_pad(struct nn_product *padded, const struct nn_product *from, size_t multiple);

#endif
