/*
 * Rows of different length: an input whose first dimension is `?`. Its steps lie one after another,
 * row by row, and so do targets that are one for each step; nothing is padded before a batch is
 * filled.
 */
#ifndef NN_DATA_SEQUENCE_H
#define NN_DATA_SEQUENCE_H

#include "data/dataset.h"

struct nn_sequences {
	size_t input;         /* whose rows they are */
	struct nn_block ends; /* size_t [rows]: steps up to the end of each */
	size_t padded;  /* arrays: steps of a row as they lay in the file; 0: one after another */
	size_t longest; /* of the rows that were read */
	size_t before;  /* rows before these, which are counted in errors */
};

static inline size_t nn_sequence_begin(const struct nn_sequences *s, size_t row)
{
	return row ? ((const size_t *)(const void *)s->ends.data)[row - 1] : 0;
}
static inline size_t nn_sequence_length(const struct nn_sequences *s, size_t row)
{
	return nn_sequence_begin(s, row + 1) - nn_sequence_begin(s, row);
}

/* ---- between the files of this folder ---- */

/* Where and what of all that is wrong: "FILE", its row counted from 1. */
int nn_sequences_new(struct nn_dataset *ds, struct nn_error *err);
/* One more row of so many steps; place names it. One that is bad is passed over where that is
 * asked. */
int nn_sequences_add(struct nn_dataset *ds, const char *place, size_t length, struct nn_error *err);
/* All steps are there: `values` [steps][values of a step]. */
int nn_sequences_close(struct nn_dataset *ds, const char *file, struct nn_error *err);
/*
 * Values of the input lie in its array: they are numbers of categories where an embedding takes
 * them, else columns to be scaled or filled.
 */
int nn_sequences_take_input(struct nn_dataset *ds, const char *place,
			    const struct nn_want_input *want, struct nn_error *err);
/* Values of a step. */
size_t nn_sequences_step(const struct nn_dataset *ds);

/* arrays.c, lines.c */
int nn_sequences_read_tensors(struct nn_dataset *ds, struct nn_input *input,
			      const struct nn_reading *reading, struct nn_error *err);
int nn_sequences_read_array(struct nn_dataset *ds, struct nn_input *input,
			    const struct nn_reading *reading, struct nn_error *err);
int nn_sequences_read_lines(struct nn_dataset *ds, struct nn_input *input,
			    const struct nn_reading *reading, struct nn_error *err);
/* The next line as the only row, its values as they are: as nn_line_reader_next. */
struct nn_line_reader;
int nn_sequences_read_line(struct nn_dataset *ds, struct nn_line_reader *reader,
			   struct nn_error *err);
/* Targets alone, of rows that were read: a list for each of them. */
int nn_sequences_read_target_lines(struct nn_dataset *ds, struct nn_input *input,
				   const struct nn_reading *reading, struct nn_error *err);

#endif
