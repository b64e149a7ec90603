/*
 * Where a block of CSV can be cut, so that its parts are read one beside the other: at ends of
 * records.
 */
#ifndef NN_DATA_CUT_H
#define NN_DATA_CUT_H

#include <stddef.h>
#include <stdint.h>

/* Whole records, and what came before them in the block. */
struct nn_part {
	size_t at, n;   /* bytes */
	uint64_t lines; /* newlines before it */
	size_t records; /* newlines before it that end a record, a blank line too */
};

/*
 * Cut text[n], which begins with a record, at the first end of a record after every `step` bytes,
 * into at most `most` parts (the last takes all that is left). 64 bytes after the end may be read.
 * *whole: the bytes of whole records. total: what the part after the last would begin with. Returns
 * the number of parts.
 */
size_t nn_csv_cut(const char *text, size_t n, char separator, size_t step, struct nn_part *parts,
		  size_t most, struct nn_part *total);

#endif
