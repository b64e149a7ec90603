/* The text of a table, a block after the other, each cut into parts of whole records. */
#ifndef NN_DATA_TABLE_TEXT_H
#define NN_DATA_TABLE_TEXT_H

#include "data/table/cut.h"
#include "file/input.h"

#define NN_TEXT_PARTS 256

/* Where it comes from, and how much at once. */
struct nn_text_source {
	struct nn_input *input;
	char separator;
	size_t block, part, most; /* bytes wanted of all, and of a part; parts at most */
};

/* Text with whole records, and where the file goes on after them. */
struct nn_table_text {
	struct nn_block bytes;
	size_t n; /* bytes in it */
	struct nn_part parts[NN_TEXT_PARTS];
	size_t n_parts;
	struct nn_part total; /* bytes, lines and records of all parts */
	bool last;            /* nothing comes after it */
	int status;           /* -1: what comes after it cannot be read, and why */
	struct nn_error err;
};

/*
 * What follows `from`, which is empty at first. Errors are for later: those of `to`, once it was
 * taken.
 */
void nn_table_text_next(const struct nn_text_source *source, const struct nn_table_text *from,
			struct nn_table_text *to);

#endif
