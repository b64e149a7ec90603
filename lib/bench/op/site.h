/*
 * Where ops are tried and timed: attributes, shapes, rows. One list for the tests of the kernels
 * and for nn-bench, whose operands are sites too.
 */
#ifndef NN_BENCH_OP_SITE_H
#define NN_BENCH_OP_SITE_H

#include "op/op.h"

struct nn_op_site {
	const char *name; /* NULL: a size of common networks, which nn-bench times */
	enum nn_op_id op;
	const void *attrs;
	const struct nn_shape *in;
	int n_in;
	size_t rows;
	size_t n_leaves; /* 0: as the device cuts the rows */
};

/* Each op has at least one site of each kind. */
extern const struct nn_op_site nn_op_sites[];
extern const size_t nn_op_n_sites;

/* The op of "OP" or "OP:SHAPE"; NN_N_OPS: no op has that name. */
enum nn_op_id nn_op_site_op(const char *operand);

/* A site with what it points to. It does not move. */
struct nn_op_operand {
	struct nn_op_site site;
	union nn_op_attrs attrs;
	struct nn_shape in[2];
};

/*
 * The site of "OP:SHAPE", what SHAPE leaves open as in the op's first site that is timed. NN_EUSAGE
 * with what is wrong and what was wanted.
 */
int nn_op_operand_parse(struct nn_op_operand *o, const char *operand, struct nn_error *err);

#endif
