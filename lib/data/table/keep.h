/*
 * Columns of a table that travel to the output as they stand: the fields of a record one after the
 * other, each a letter, its text and a NUL. The letter says what it was: 's' a text, 'j' a number
 * or another value of JSON.
 */
#ifndef NN_DATA_KEEP_H
#define NN_DATA_KEEP_H

#include "base/text.h"
#include "data/table/table.h"

struct nn_keep {
	size_t *columns, n;
	char **names; /* [n] of the header, or as they were asked for */
};

/*
 * "COLUMN,...": names, or numbers from 1 where there is no header. table NULL: members of lines
 * that no table holds, whose columns mean nothing.
 */
int nn_keep_init(struct nn_keep *keep, const struct nn_table *table, const char *list,
		 struct nn_error *err);
/* Add the members of such a line; of NULL empty texts. */
struct nn_json;
void nn_keep_members(const struct nn_keep *keep, const struct nn_json *object,
		     struct nn_text *text);
void nn_keep_fini(struct nn_keep *keep);
/*
 * Add the fields of the record that nn_table_next has just read; what a bad record does not have is
 * an empty text.
 */
void nn_keep_add(const struct nn_keep *keep, struct nn_table *table, struct nn_text *text);

#endif
