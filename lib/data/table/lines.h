/* JSON lines: an object a line, whose members are the fields of a record, by their names. */
#ifndef NN_DATA_LINES_H
#define NN_DATA_LINES_H

#include "data/table/table.h"
#include "file/json/json.h"

/*
 * Where the columns of a table are the members of its first lines (1, or as many as a sample has),
 * in the order of their names, those of later lines after those of earlier ones.
 */
int nn_lines_open(struct nn_table *table, size_t lines, struct nn_error *err);
/*
 * Bytes of the next `lines` lines, which are held; of all that are left where there are fewer; of
 * as many as lie within `most` bytes.
 */
int nn_lines_hold(struct nn_input *input, size_t lines, size_t most, size_t *n,
		  struct nn_error *err);
#define NN_SAMPLE_BYTES ((size_t)64 << 20)
/*
 * The next line that is not blank, nor a comment where csv has these: as nn_csv_next, but what is
 * in it is not looked at.
 */
int nn_lines_next(struct nn_csv *csv, struct nn_record *record, struct nn_error *err);
int nn_lines_ready(struct nn_csv *csv, struct nn_error *err);
/* The object of a line, to be freed; NULL: it is bad. */
struct nn_json *nn_lines_parse(const struct nn_table *table, const struct nn_record *record);
/* Its members into their places; -1: the line is bad. */
int nn_lines_read(struct nn_table *table, const struct nn_record *record, void *values,
		  double *targets, struct nn_error *err);
/*
 * Of a line whose error is told later: add how many members are numbers and texts, [width] each.
 */
void nn_lines_count(const struct nn_table *table, const struct nn_record *record, size_t *numbers,
		    size_t *words);

#endif
