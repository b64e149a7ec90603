/*
 * A source of rows: what a format gives once it was read. Rows lie in memory (a dataset), or they
 * are made whenever they are wanted, in stages (pictures that are decoded again in each epoch).
 */
#ifndef NN_DATA_SOURCE_H
#define NN_DATA_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "file/bytes.h"

/* Rows on their way through stages. */
struct nn_stage_rows {
	const uint64_t *rows; /* [n] their numbers */
	size_t n;
	unsigned char *to; /* [n][row_bytes] what the last stage leaves */
	/* what a stage leaves for the next one */
	struct nn_block bytes;
	size_t *ends; /* [2 n] */
};

struct nn_stage {
	const char *name;
	/* for a disk or a network: more threads than there are processors help */
	bool waits;
	int (*run)(const void *data, struct nn_stage_rows *rows, struct nn_error *err);
};

/* How rows are made that do not lie in memory, and what batches are filled with once they are. */
struct nn_source_stages {
	size_t n;
	struct nn_stage stage[4];
	/* of a row when it is done, and of what a stage hands to the next in the mean */
	void (*sizes)(const void *data, size_t *row_bytes, size_t *handed_bytes);
	/* As fill_input and fill_target below, of rows[n] that lie at `made`, row_bytes each. */
	int (*fill_input)(const void *data, size_t input, const uint64_t *rows,
			  const unsigned char *made, size_t n, bool channels_last, void *values,
			  struct nn_error *err);
	int (*fill_target)(const void *data, size_t target, const uint64_t *rows,
			   const unsigned char *made, size_t n, void *values, struct nn_error *err);
};

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
	/* How rows are made; NULL: they lie in memory. The calls above make them on the spot. */
	const struct nn_source_stages *stages;
};

struct nn_source {
	const struct nn_source_ops *ops;
	const void *data; /* borrowed */
	uint64_t rows;    /* UINT64_MAX: not known */
};

#endif
