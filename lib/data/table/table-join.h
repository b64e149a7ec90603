/* Columns of a part of a table, read beside others, joined with those of the table. */
#ifndef NN_DATA_TABLE_JOIN_H
#define NN_DATA_TABLE_JOIN_H

#include "data/table/table.h"

/* The rows of a part, where they lie. */
struct nn_table_rows {
	enum nn_dtype dtype;
	const struct nn_block *values, *targets;
	size_t row_bytes, target_bytes;
	size_t first, n;
};

/* Has a column room for the fresh words that it does not know by now? */
bool nn_words_fit(const struct nn_table_column *to, const struct nn_words *fresh);
/*
 * Words that the part met first get their numbers, in its rows too; with 0 rows what it found is
 * forgotten.
 */
int nn_table_join(struct nn_table *table, struct nn_table *view, const struct nn_table_rows *rows,
		  struct nn_error *err);

#endif
