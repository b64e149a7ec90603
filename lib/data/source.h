/*
 * A source of rows: what a format gives once it was read. Rows lie in memory today (a dataset); a
 * mapped file, a decoder or a shard is another table of operations.
 */
#ifndef NN_DATA_SOURCE_H
#define NN_DATA_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Rows are asked for by their numbers, in any order; threads may call at once. Whatever fails (-1)
 * names the file and the row.
 */
struct nn_source_ops {
	/*
	 * Values of an input or of a target for rows[n], as nn_dataset_fill_input and _target give
	 * them.
	 */
	int (*fill_input)(const void *data, size_t input, const uint64_t *rows, size_t n,
			  bool channels_last, void *values, struct nn_error *err);
	int (*fill_target)(const void *data, size_t target, const uint64_t *rows, size_t n,
			   void *values, struct nn_error *err);
	/* --weight of rows[n], not negative; NULL: each weighs 1 */
	int (*fill_weights)(const void *data, const uint64_t *rows, size_t n, double *weights,
			    struct nn_error *err);
	/* rows[n] will be wanted soon; NULL: nothing to do */
	void (*fetch)(const void *data, const uint64_t *rows, size_t n);
	/* How many positions each of rows[n] has; NULL: rows are all of one length. */
	int (*lengths)(const void *data, const uint64_t *rows, size_t n, uint32_t *lengths,
		       struct nn_error *err);
};

struct nn_source {
	const struct nn_source_ops *ops;
	const void *data; /* borrowed */
	uint64_t rows;    /* UINT64_MAX: not known */
};

#endif
