/* The loops of reduce.c: one per operation and type, for the widest vectors there are. */
#ifndef NN_COMM_LOOPS_H
#define NN_COMM_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/shape.h"

/* result[i] = left[i] with right[i]; true when one did not fit. The arrays are one or do not overlap. */
typedef bool nn_combine(const void *left, const void *right, void *result, size_t n);

enum { NN_LOOP_SUM, NN_LOOP_MIN, NN_LOOP_MAX, NN_LOOP_PROD, NN_N_LOOPS };

struct nn_loops {
	nn_combine *combine[NN_N_LOOPS];
	/* values[i] /= divisor (not for 1), NaN made the quiet one; how many are NaN */
	size_t (*end)(void *values, size_t divisor, size_t n);
};

/* Of a type of partial results: all but f16, bf16, bool. */
const struct nn_loops *nn_loops(enum nn_dtype dtype);

/* f16 or bf16 to f32, exact; back to nearest even, NaN to the quiet one. The arrays do not overlap. */
void nn_widen(enum nn_dtype half, const void *values, void *wide, size_t n);
void nn_narrow(enum nn_dtype half, const void *wide, void *values, size_t n);

#endif
