/*
 * Where ops are measured: attributes, shapes, rows; as operands of nn-bench say them and as its
 * rows print them.
 */
#ifndef NN_BENCH_OP_SITE_H
#define NN_BENCH_OP_SITE_H

#include "base/text.h"
#include "op/op.h"

struct nn_bench_site {
	enum nn_op_id op;
	union {
		struct nn_dense dense;
		struct nn_conv2d conv2d;
		struct nn_pool2d pool2d;
		struct nn_batchnorm batchnorm;
		struct nn_layernorm layernorm;
		struct nn_dropout dropout;
		struct nn_embedding embedding;
		struct nn_activation_attrs activation;
		struct nn_softmax softmax;
		struct nn_concat concat;
		struct nn_reshape reshape;
		struct nn_permute permute;
	} attrs;
	struct nn_shape in[2];
	int n_in;
	size_t rows;
	bool want_dx;
};

/* Sites of all ops at sizes of common networks; each op has at least one. */
extern const struct nn_bench_site nn_bench_sites[];
extern const size_t nn_bench_n_sites;

/* The op of "OP" or "OP:SHAPE"; NN_N_OPS: no op has that name. */
enum nn_op_id nn_bench_op(const char *operand);
/* The site of "OP:SHAPE". NN_EUSAGE with what is wrong and what was wanted. */
int nn_bench_site_parse(struct nn_bench_site *site, const char *operand, struct nn_error *err);
/* SHAPE of a site, with what fusion put behind it. */
void nn_bench_site_text(enum nn_op_id op, const void *attrs, const struct nn_shape *in, size_t rows,
			struct nn_text *text);

#endif
