/*
 * The inside of rows for prediction: one struct, a table or arrays behind it. They are not a
 * source: they come in order, how many is not known, a pipe may not have sent the next one, and a
 * bad one may be left out. Where a format reads its rows whole they are taken from its source.
 */
#ifndef NN_DATA_ROWS_ROWS_H
#define NN_DATA_ROWS_ROWS_H

#include "data/dataset.h"
#include "data/table/keep.h"

struct nn_rows {
	struct nn_input *input;
	const struct nn_format *format; /* NULL: no bytes at all */
	const struct nn_rows_ops *ops;
	const struct nn_schema *schema;
	struct nn_coding *coding;
	enum nn_dtype dtype;
	struct nn_rows_options options; /* strings are copies */
	char *target, *weight, *keep;
	bool *channels_last;

	/* a table */
	struct nn_table table;
	struct nn_column_plan plan;
	struct nn_keep kept; /* --keep */
	void *values;        /* of one record */
	double *numbers;     /* its targets */

	struct nn_rows_pictures *pictures; /* NULL: it is none of these */

	/* arrays that come one after another, or one whole in memory */
	struct nn_array array;    /* whole: Fortran order */
	struct nn_dataset *whole; /* what is read whole */
	size_t at, rows;          /* in the current array */
	size_t bad_at;            /* in the rows of `whole` that were bad when they were read */
	struct nn_rows_steps *steps; /* lines of rows of different length; NULL: it is none */
	struct nn_rows_stream {
		struct nn_npy_header header;
		bool inside;          /* an array has begun and not ended */
		unsigned char *piece; /* rows as they lie in the file */
		void *real;           /* the same as the type of batches */
		size_t piece_rows;
	} stream;

	/* targets of a file of their own */
	struct nn_dataset *scored;
	size_t scored_at;

	/* what went wrong: rows so far are handed out before an error is */
	bool ended, failed;
	struct nn_error error;
	struct nn_rows_bad {
		uint64_t n;
		struct nn_block texts; /* of the block being read: NN errors' texts */
		size_t n_texts;
	} bad;
	char notice[400 + 4 * NN_QUOTED];
};

/* Where the rows of one call go. */
struct nn_rows_out {
	size_t max, n;
	void *const *inputs;
	void *const *targets;
	struct nn_rows_beside *beside; /* NULL: nothing else is wanted */
	const char **bad;
	bool array_end;
};

/*
 * whole.c: of a format without rows of its own; and a row of `whole`, with its targets where they
 * are not in a file of their own.
 */
extern const struct nn_rows_ops nn_rows_whole;
int nn_rows_put_whole(struct nn_rows *rows, struct nn_rows_out *out, uint64_t row,
		      struct nn_error *err);
/* steps.c: JSON lines of rows of different length, without their targets. */
extern const struct nn_rows_ops nn_rows_steps;
void nn_rows_steps_free(struct nn_rows_steps *steps); /* NULL allowed */
/* picture/rows-picture.c: of formats of pictures. */
void nn_rows_pictures_free(struct nn_rows_pictures *pictures); /* NULL allowed */
/* out.c: targets of the row from the file of targets; -1 when it has no more. */
int nn_rows_put_scored(struct nn_rows *rows, struct nn_rows_out *out, struct nn_error *err);
/*
 * A bad row, *err says why: 1 it is left out, 2 it keeps its place (zeros, the reason in bad), -1
 * it ends everything.
 */
int nn_rows_take_bad(struct nn_rows *rows, struct nn_rows_out *out, struct nn_error *err);
/* The reasons' places, once all rows are there and texts no longer move. */
void nn_rows_place_bad(struct nn_rows *rows, struct nn_rows_out *out);

#endif
