/*
 * Element by element over arrays of host memory: sums and their like along one binary tree, whoever
 * adds.
 *
 * Whole numbers are exact, so only a final result that does not fit is an error; bool is refused.
 */
#ifndef NN_COMM_REDUCE_H
#define NN_COMM_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/pool.h"
#include "base/shape.h"

/*
 * n leaves are combined along the binary tree whose first split is the largest power of two below
 * n: ((0 1)(2 3))(4 5). Whoever combines two neighbouring subtrees, on whatever rank, gets the same
 * bytes:
 *
 *   mean       the sum, then one division (of whole numbers: the exact sum, rounded toward zero)
 *   f16, bf16  partial results are f32, rounded once at the end
 *   min, max   the second of two equal values (-0 and 0)
 *   NaN        wins in every op; in the result it is the quiet NaN of the type with sign 0
 *   integers   the exact result, or an error where it does not fit into the type: partial results
 *              may
 */
enum nn_reduce_op { NN_REDUCE_MEAN, NN_REDUCE_SUM, NN_REDUCE_MIN, NN_REDUCE_MAX, NN_REDUCE_PROD };
extern const char *const nn_reduce_ops[]; /* "mean", ...; NULL at the end */

struct nn_reduce {
	enum nn_dtype dtype; /* all but bool */
	enum nn_reduce_op op;
	size_t n; /* leaves in all: what a mean divides by */
};

struct nn_reduce_found {
	size_t nan;      /* values of the result that are NaN */
	size_t overflow; /* index of the first value that does not fit; SIZE_MAX: none */
};

/*
 * out[count] from n leaves of count values each; out may be one of them. Whole numbers are exact;
 * where one does not fit, out holds nothing of use. The pool's threads share the values.
 */
void nn_reduce_leaves(const struct nn_reduce *reduce, const void *const *leaves, size_t count,
		      void *out, struct nn_pool *pool, struct nn_reduce_found *found);

/*
 * The same step by step, for ranks that exchange partial results. Type of those: f32 for f16 and
 * bf16, else the dtype itself.
 */
enum nn_dtype nn_reduce_partial(enum nn_dtype dtype);
/* A leaf as partial result; the arrays may be one where the types agree. */
void nn_reduce_begin(const struct nn_reduce *reduce, const void *leaf, void *partial, size_t count);
/*
 * result = left with right, result may be one of them. True when a whole number did not fit: then
 * the whole has to be computed by nn_reduce_leaves from all leaves (in the end it may fit).
 */
bool nn_reduce_combine(const struct nn_reduce *reduce, const void *left, const void *right,
		       void *result, size_t count);
/*
 * The partial result of all leaves to the result's type, divided for a mean; returns the values
 * that are NaN. May be one array.
 */
size_t nn_reduce_end(const struct nn_reduce *reduce, const void *partial, void *out, size_t count);

/* Values that are NaN. */
size_t nn_reduce_nan(enum nn_dtype dtype, const void *values, size_t count);

#endif
