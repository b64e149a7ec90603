/*
 * Formats of data files. A format is the file that reads it, where nn_format_ID is defined, and its
 * line in file/formats.def; nothing else knows its name.
 */
#ifndef NN_DATA_FORMAT_H
#define NN_DATA_FORMAT_H

#include "file/npy.h"
#include "file/safetensors.h"
#include "file/sniff.h"

struct nn_dataset;
struct nn_want;
struct nn_rows;
struct nn_rows_out;

/* What is read of a file into a dataset. */
struct nn_reading {
	const struct nn_format *format;
	const struct nn_want *want; /* NULL: as the schema says */
	bool inputs, targets;
};

/* Rows as they come, for prediction. */
struct nn_rows_ops {
	int (*open)(struct nn_rows *rows, bool targets, struct nn_error *err);
	int (*next)(struct nn_rows *rows, struct nn_rows_out *out,
		    struct nn_error *err);                        /* as nn_rows_next */
	int (*ready)(struct nn_rows *rows, struct nn_error *err); /* 1, 0 where it would wait, -1 */
	int64_t (*total)(const struct nn_rows *rows);             /* -1: not known */
};

struct nn_format {
	enum nn_format_id id;
	const char *name; /* in messages */
	/* Of a text: does it begin as one of these? NULL: formats.def says it */
	int (*fits)(struct nn_input *input, struct nn_error *err);
	/* All rows of a file, for training. */
	int (*read)(struct nn_dataset *dataset, struct nn_input *input,
		    const struct nn_reading *reading, struct nn_error *err);
	const struct nn_rows_ops *rows; /* NULL: all are read, then given one after another */
	bool table;                     /* of fields, as CSV; lines: of JSON lines */
	bool lines;
	bool arrays; /* whoever gives these may want an array for an answer */
	/* arrays: the header of the one that comes next. 1, 0 at the end, -1; values follow it */
	int (*header)(struct nn_input *input, struct nn_npy_header *header, struct nn_error *err);
	bool several;  /* arrays may follow each other */
	bool pictures; /* u8 values are pictures, and two dimensions are one channel of them */
	bool named;    /* rows have names, which go with answers */
	/* named arrays: all of them, or the first rows of each */
	int (*tensors)(struct nn_st **st, struct nn_input *input, struct nn_st_part *part,
		       struct nn_error *err);
};
#define FORMAT(id, magics) extern const struct nn_format nn_format_##id;
#include "file/formats.def"
#undef FORMAT
/* Any text, of which nothing tells that its characters are wanted but --window and the model. */
extern const struct nn_format nn_format_characters;

/* The format of what comes; NULL, also where nothing comes, with an error that names it. */
const struct nn_format *nn_format_of(struct nn_input *input, struct nn_error *err);

#endif
