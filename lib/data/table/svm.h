/* LIBSVM: a line a row, "label index:value ..." with rising indices; values not said are 0. */
#ifndef NN_DATA_SVM_H
#define NN_DATA_SVM_H

#include "data/table/table.h"

#define NN_SVM_MOST ((size_t)1000000) /* indices; as many as a table may have columns */

/*
 * Is the first line that has more than a number in it a label and index:value, or two of these, as
 * far as it lies ready? -1: error.
 */
int nn_svm_fits(struct nn_input *input, struct nn_error *err);
/*
 * A table of it: rows of `width` values, and a column for the label (NN_CELL_SKIP); least: the
 * first index, 0 or 1.
 */
int nn_svm_open(struct nn_table *table, struct nn_input *input, size_t width, unsigned least,
		enum nn_dtype dtype, struct nn_error *err);
/*
 * How wide the rows that come are: the largest index, counted from the least; how many there are.
 * Errors are those of reading them. All of the text is held.
 */
int nn_svm_measure(struct nn_input *input, unsigned least, size_t *width, size_t *rows,
		   struct nn_error *err);
/* A line into its places; -1: it is bad. */
int nn_svm_read(struct nn_table *table, const struct nn_record *record, void *values,
		double *targets, struct nn_error *err);

#endif
