/* Where a record of CSV ends: quotes followed from one byte to the next, or 64 bytes at a time. */
#ifndef NN_DATA_WALK_H
#define NN_DATA_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/mask.h"

/*
 * Walks a record with quotes: where it is, so that more bytes can be added without starting again.
 */
struct nn_walk {
	size_t at;
	bool inside; /* quotes */
	bool fresh,
		closed; /* after a separator (true at the beginning); after a quote that closed */
	bool lone_cr;   /* outside quotes */
	uint64_t newlines; /* inside quotes */
	unsigned found;    /* nn_csv_scan of the record */
};

/*
 * Go on to the newline that ends the record; true when it is there (at walk->at). separator 0: not
 * known yet, each that can be told is one.
 */
bool nn_walk_on(struct nn_walk *walk, const char *text, size_t n, char separator);
/*
 * From a record's beginning in one go, NN_SCAN bits too; false, and nothing is known, when it does
 * not end in text[n] or has quotes that mean themselves. 64 bytes after the text may be read.
 */
bool nn_walk_fast(struct nn_walk *walk, const char *text, size_t n, char separator);
/*
 * The bytes of the record at text up to its newline, n when that is not there; newlines: within
 * quotes.
 */
size_t nn_walk_record(const char *text, size_t n, char separator, uint64_t *newlines);

/*
 * Quotes over windows of 64 bytes, whose bits say which bytes are what. Begins as { 0, 1 } with a
 * record.
 */
struct nn_quotes {
	uint64_t inside;   /* all bits: the window before ended within quotes */
	uint64_t may_open; /* bit 0: after the byte before the window a field may begin */
};

static inline uint64_t nn_window_bits(size_t left)
{
	return left >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
}

/*
 * The bytes within quotes, the opening one too, the closing one not. Every quote opens or closes;
 * false when one that would open stands inside a field that has not begun with one, where it means
 * itself.
 */
static inline bool nn_quotes_window(struct nn_quotes *q, uint64_t quotes, uint64_t separators,
				    uint64_t newlines, uint64_t *within)
{
	uint64_t before = quotes | separators | newlines;

	*within = nn_mask_odd(quotes) ^ q->inside;
	if (quotes & *within & ~(before << 1 | q->may_open))
		return false;
	q->inside = (uint64_t)0 - (*within >> 63);
	q->may_open = before >> 63;
	return true;
}

#endif
