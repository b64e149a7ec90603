/*
 * The reduction core on arrays in memory beside memcpy on the same arrays: bytes read and written
 * per second.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/median.h"
#include "base/memory.h"
#include "comm/reduce.h"

#define BYTES ((size_t)128 << 20)
#define RUNS 9

int main(void)
{
	static const enum nn_dtype types[] = { NN_F32, NN_F64, NN_BF16, NN_F16,
					       NN_I8,  NN_I32, NN_I64 };
	void *leaf[5];
	const void *leaves[4];

	for (int i = 0; i < 5; i++) {
		leaf[i] = nn_alloc(BYTES, 1, NULL);
		if (!leaf[i])
			return 1;
		memset(leaf[i], 0, BYTES);
		if (i < 4)
			leaves[i] = leaf[i];
	}
	printf("type op   files GB/s  memcpy share\n");
	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (int op = 0; op < 2; op++)
			for (size_t n = 2; n <= 4; n += 2) {
				const struct nn_reduce r = { types[t], (enum nn_reduce_op)op, n };
				double copy[RUNS], reduce[RUNS], copy_rate, reduce_rate, start;
				struct nn_reduce_found found;

				for (int i = 0; i < RUNS; i++) {
					start = nn_now_s();
					memcpy(leaf[4], leaf[0], BYTES);
					copy[i] = 2e-9 * (double)BYTES / (nn_now_s() - start);
					start = nn_now_s();
					nn_reduce_leaves(&r, leaves,
							 BYTES / nn_dtype_size(types[t]), leaf[4],
							 NULL, &found);
					reduce[i] = 1e-9 * (double)((n + 1) * BYTES) /
						    (nn_now_s() - start);
				}
				reduce_rate = nn_median(reduce, RUNS);
				copy_rate = nn_median(copy, RUNS);
				printf("%-4s %-4s %5zu %5.1f %6.1f %.2f\n", nn_dtype_name(types[t]),
				       nn_reduce_ops[op], n, reduce_rate, copy_rate,
				       reduce_rate / copy_rate);
			}
	return 0;
}
