/*
 * The loops of reduce.c: one per operation and type, for the widest vectors there are.
 *
 * Sums are made on host memory, by loops of this room for all types of numbers; arrays of a device
 * are staged there. Whole numbers are divided by products with a reciprocal, exactly.
 */
#ifndef NN_COMM_LOOPS_H
#define NN_COMM_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/shape.h"

/*
 * result[i] = left[i] with right[i]; true when one did not fit. The arrays are one or do not
 * overlap.
 */
typedef bool nn_combine(const void *left, const void *right, void *result, size_t n);

enum { NN_LOOP_SUM, NN_LOOP_MIN, NN_LOOP_MAX, NN_LOOP_PROD, NN_N_LOOPS };

struct nn_loops {
	nn_combine *combine[NN_N_LOOPS];
	/*
	 * values[i] = partial[i] / divisor, NaN made the quiet one; how many are NaN. The arrays
	 * are one or do not overlap.
	 */
	size_t (*end)(const void *partial, void *values, size_t divisor, size_t n);
};

/* Of a type of partial results: all but f16, bf16, bool. */
const struct nn_loops *nn_loops(enum nn_dtype dtype);

#endif
