/*
 * Formats of data files. A format is the file that reads it and its line in file/formats.def;
 * nothing else knows its name. Its rows come from a table, from arrays or from named arrays: each
 * of these is a reader.
 */
#ifndef NN_DATA_FORMAT_H
#define NN_DATA_FORMAT_H

#include "file/npy.h"
#include "file/safetensors.h"

struct nn_dataset;
struct nn_want;
struct nn_rows;
struct nn_rows_out;
struct nn_reader;

struct nn_format {
	const char *kind; /* as nn_sniff says */
	const char *name; /* in messages */
	const struct nn_reader *reader;
	/* arrays: the header of the one that comes next. 1, 0 at the end, -1; values follow it */
	int (*header)(struct nn_input *input, struct nn_npy_header *header, struct nn_error *err);
	bool several;  /* arrays may follow each other */
	bool pictures; /* u8 values are pictures, and two dimensions are one channel of them */
	/* named arrays: all of them, or the first rows of each */
	int (*tensors)(struct nn_st **st, struct nn_input *input, struct nn_st_part *part,
		       struct nn_error *err);
};

/* The format of what comes; NULL, also where nothing comes, with an error that names it. */
const struct nn_format *nn_format_of(struct nn_input *input, struct nn_error *err);

/* What is read of a file into a dataset. */
struct nn_reading {
	const struct nn_format *format;
	const struct nn_want *want; /* NULL: as the schema says */
	bool inputs, targets;
};

struct nn_reader {
	/* All rows of a file, for training. */
	int (*read)(struct nn_dataset *dataset, struct nn_input *input,
		    const struct nn_reading *reading, struct nn_error *err);
	/*
	 * Rows as they come, for prediction. next: as nn_rows_next; ready: 1, 0 where it would
	 * wait, -1.
	 */
	int (*open)(struct nn_rows *rows, bool targets, struct nn_error *err);
	int (*next)(struct nn_rows *rows, struct nn_rows_out *out, struct nn_error *err);
	int (*ready)(struct nn_rows *rows, struct nn_error *err);
	int64_t (*total)(const struct nn_rows *rows); /* -1: not known */
	bool arrays; /* whoever gives these may want an array for an answer */
};
extern const struct nn_reader nn_table_reader, nn_array_reader, nn_tensor_reader;

#endif
