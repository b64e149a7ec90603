/* An array whose dimensions or bytes have the other order, into rows, in little memory. */
#ifndef NN_FILE_TURN_H
#define NN_FILE_TURN_H

#include "file/npy.h"

/* Where it lies, and where its rows go; -1 ends it. */
struct nn_turn {
	/* n bytes, from byte `at` of the array on */
	int (*read)(void *arg, uint64_t at, void *bytes, size_t n, struct nn_error *err);
	/* n values of rows, in this machine's order, from value number `first` on */
	int (*put)(void *arg, const void *values, size_t first, size_t n, struct nn_error *err);
	void *arg;
};

/* memory: bytes of rows at once; at least a row. */
int nn_turn_rows(const struct nn_npy_header *header, size_t memory, const struct nn_turn *turn,
		 struct nn_error *err);

#endif
