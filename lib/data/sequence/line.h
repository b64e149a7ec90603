/*
 * A line of JSON lines whose rows are of different length: the steps of a row, and its targets; of
 * targets that are a file of their own these alone.
 */
#ifndef NN_DATA_SEQUENCE_LINE_H
#define NN_DATA_SEQUENCE_LINE_H

#include "base/limit.h"
#include "data/sequence/sequence.h"
#include "data/table/lines.h"
#include "file/json/pull.h"

/* Values of a target, of all rows that were read: one for each, or a list of them. */
struct nn_line_target {
	char *name;
	struct nn_words *words; /* they are text; NULL: numbers */
	bool known;             /* which of them they are was told, by labels or the first value */
	bool grow;              /* labels may be added */
	bool list;
	bool by_step;           /* every row had as many as steps */
	size_t width;           /* of the first row; SIZE_MAX: rows differ */
	size_t each;            /* its elements are lists of so many; 0: they are values */
	uint64_t point_line;    /* of the first number with a point or exponent */
	struct nn_block values; /* double [n]; text by the numbers of its words */
	size_t n, row;          /* those of the row that is being read */
	size_t elements;        /* of its list */
};

struct nn_line_reader {
	const struct nn_dataset *ds;
	const char *file, *input; /* the member with the steps; NULL: they were read */
	struct nn_csv csv;
	struct nn_block text; /* the line, to be written to */
	struct nn_pull_keys *keys;
	struct nn_line_target *targets, *before; /* before: as they were, of a line that is bad */
	size_t n_targets; /* that are read; 0: none */
	size_t rows;      /* that were read */
	struct nn_record
		record;   /* the line, as it stands in the file, until the next one is read */
	size_t length;    /* steps of the row */
	bool weighs;      /* rows have weights, as the first one says; its rows that were read: */
	struct nn_block weights; /* double [rows] */
	double weight;           /* of the row; -1: it has none */
	char depth_said[NN_LIMIT_TEXT];
};

int nn_line_reader_open(struct nn_line_reader *reader, struct nn_dataset *ds,
			struct nn_input *input, const struct nn_reading *reading,
			struct nn_error *err);
void nn_line_reader_close(struct nn_line_reader *reader);
/*
 * The next line that is not blank: its steps as the type of batches behind the `at` values that
 * are there, its targets behind those of the rows before. 1, 0 at the end, -1; 2: the line is bad,
 * *err says why, nothing of it was taken, and the next one can be had.
 */
int nn_line_reader_next(struct nn_line_reader *reader, struct nn_block *values, size_t at,
			struct nn_error *err);

#endif
