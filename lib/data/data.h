/* Files and pipes into samples, samples into batches. */
#ifndef NN_DATA_DATA_H
#define NN_DATA_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/option.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/shape.h"
#include "data/schema/schema.h"
#include "data/source.h"

enum nn_missing { NN_MISSING_ERROR, NN_MISSING_MEAN, NN_MISSING_DROP };
enum nn_header { NN_HEADER_AUTO, NN_HEADER_YES, NN_HEADER_NO };
/* what becomes of a row that cannot be read: the run fails, or goes on without it, or with a mark
 */
enum nn_on_error { NN_ON_ERROR_FAIL, NN_ON_ERROR_SKIP, NN_ON_ERROR_MARK };

/* Options of the data room: rows in data/options.c, values here (tools.md says what they mean). */
struct nn_data_options {
	const char *target;    /* COLUMN,... NULL: not given */
	const char *weight;    /* COLUMN, member or array with what each row weighs; NULL: 1 */
	bool weight_known;     /* it is a start model's: data that lack it have a notice */
	const char *normalize; /* auto none standard minmax FACTOR; NULL: auto */
	enum nn_header header;
	enum nn_missing missing;
	const char *separator; /* NULL: told from the first line */
	bool zero_based;       /* indices of LIBSVM count from 0 */
	uint64_t window;       /* characters of a row of text; 0: DATA are no text */
	const char *classes;   /* how many, or a file with a label a line; NULL: those that occur */
};
extern const char *const nn_header_choices[]; /* in order of enum nn_header; NULL at the end */
/* --target, --weight, --header, --separator, --window, --normalize, --missing */
extern const struct nn_opt nn_data_opts[];
/* The value of --separator: one character, or a word for one; '\0': NULL was given. */
char nn_separator_of(const char *value);
int nn_separator_check(const char *value, struct nn_error *err);

/* What the model says of an input or a target before the data are read; sizes may be unknown. */
struct nn_want_input {
	const char *name; /* NULL: the only one */
	bool shaped;      /* there is an input line with a shape */
	struct nn_shape shape;
	bool vector; /* first layer is dense and no input line: samples are vectors */
	const char *const *columns; /* columns=..., NULL: all but the targets */
	size_t n_columns;
	/* an embedding takes it: values are numbers of categories, columns as the following say */
	bool categories;
	size_t hash; /* number of buckets they are hashed to; 0: their values are listed */
	bool index;  /* they hold the numbers themselves, as arrays always do */
	/*
	 * lists of columns hashed together, after the others; with columns NULL there are no others
	 */
	const char *const *crosses;
	size_t n_crosses;
	size_t rows; /* numbers are to be below this; 0: not known */
	/* rows are of different length, of shape the first dimension the longest; 0: as they are */
	bool lengths;
};
/*
 * The list of --classes (NULL: none) for an output, *n bytes of it: the value as a whole where the
 * model has one output, else its part of "OUTPUT=FILE|N,..."; NULL: none.
 */
const char *nn_classes_part(const char *value, size_t n_outputs, const char *output, size_t *n);

struct nn_want_target {
	const char *name; /* of the output line, NULL: the only one */
	/*
	 * target= of the line or --target, NULL: not given (then --target, where there is one
	 * target)
	 */
	const char *columns;
	/*
	 * the loss says which; both false: the data decide (tools.md), ambiguous CSV integers are
	 * status 2
	 */
	bool classes, numbers;
	/* numbers stay as they are, whatever --normalize says (bce: targets are 0..1) */
	bool plain;
	bool any;            /* whoever asks takes what could be classes or numbers as numbers */
	size_t size;         /* of the output line; 0: `?` */
	const char *ignored; /* --ignore: a label that needs no unit of the output; NULL: none */
	bool steps;          /* the output is as long as its row, of different length */
};
struct nn_want {
	const struct nn_want_input *inputs;
	size_t n_inputs;
	const struct nn_want_target *targets;
	size_t n_targets;
	enum nn_dtype dtype; /* f32 or f64: what batches are made of */
	/* a start model's: categories, labels, scales are taken from it; NULL: measured */
	const struct nn_schema *schema;
	/*
	 * reads; borrowed until the dataset is freed, idle whenever one is opened; NULL: the
	 * caller's thread
	 */
	struct nn_pool *pool;
	size_t sample; /* bytes of each file to read, about, for a plan; 0: all */
	/*
	 * bytes that pictures may take, and arrays of one input; 0: as many as they do. Those that take
	 * more stay in files, where they are read, and decoded again, whenever they are wanted.
	 */
	size_t memory, array_memory;
	/*
	 * rows to read of data that are a stream, from which nn_ring reads on; 0: all. Formats that
	 * are read as a whole are refused.
	 */
	size_t first;
};

/*
 * What a model and the options beside it have to be for a text (--window); code: NN_EUSAGE where
 * the command line alone tells, NN_EFORMAT where the file had to be read.
 */
struct nn_text_use {
	const char *file;       /* names it */
	bool apart;             /* targets come from a file of their own */
	size_t inputs, targets; /* of the model */
	bool numbers;           /* the loss wants them */
	bool embedded;          /* an embedding takes the input */
	const char *target;     /* --target, or NULL */
};
int nn_text_check(const struct nn_text_use *use, enum nn_code code, struct nn_error *err);

/* All samples in memory, in their file's type (u8 stays u8), with what was learned about them. */
struct nn_dataset;

/*
 * Read DATA and TARGETS (NULL: the targets are in DATA; "-" is stdin, spooled in memory as
 * samples). The schema's labels and categories are complete; means and deviations are set by
 * nn_dataset_measure over the training rows only. Zero rows are allowed. Whether the width of
 * a target fits the output is the caller's to check (nn_dataset_target_size).
 */
int nn_dataset_open(struct nn_dataset **dataset, const char *data, const char *targets,
		    const struct nn_data_options *options, const struct nn_want *want,
		    struct nn_error *err);
/*
 * As above for held-out data, with the schema of the training data, which must outlive it. Labels
 * of both are joined (before measuring): the training data's n_labels may grow and its classes be
 * renumbered, so ask for `?` afterwards.
 */
int nn_dataset_open_like(struct nn_dataset **dataset, const char *data, const char *targets,
			 struct nn_dataset *training, struct nn_error *err);
/*
 * Without files: values that seed decides, the same for every type and number of rows. Pictures
 * (C,H,W) are bytes that count 0..1, other inputs and numbers are 0..1, those of categories are
 * below their number, classes are below `classes`.
 */
struct nn_made_target {
	size_t size, classes; /* values of a row; 0: numbers */
};
struct nn_made {
	size_t rows;
	const struct nn_shape *inputs; /* [n_inputs] */
	const size_t *categories;      /* [n_inputs] 0: none */
	size_t n_inputs;
	const struct nn_made_target *targets; /* [n_targets] */
	size_t n_targets;
	enum nn_dtype dtype;
	uint64_t seed;
};
int nn_dataset_make(struct nn_dataset **dataset, const struct nn_made *made, struct nn_error *err);
void nn_dataset_free(struct nn_dataset *dataset);
size_t nn_dataset_rows(const struct nn_dataset *dataset);
/* What its rows weigh by; NULL: each weighs 1. */
const char *nn_dataset_weight(const struct nn_dataset *dataset);
struct nn_schema *nn_dataset_schema(
	struct nn_dataset *dataset); /* owned by the dataset, shared with open_like ones */
/*
 * Rows that the files have in all where only a sample of them was read; NaN: not known. *about:
 * guessed by the sizes of files.
 */
double nn_dataset_total(const struct nn_dataset *dataset, bool *about);
/*
 * Bytes that `rows` samples like these and their targets take in memory, where numbers are of type
 * `real`: of those that stay in their files, batches that are read ahead (batch 0: none are).
 */
size_t nn_dataset_bytes(const struct nn_dataset *dataset, size_t rows, size_t batch,
			enum nn_dtype real);
/* As nn_want had it, of data that can stay in their files; else 0. */
size_t nn_dataset_memory(const struct nn_dataset *dataset);
/*
 * Mean and deviation (f64, two passes) over rows[n] as --normalize says, what fills missing values
 * too; then fill works.
 */
int nn_dataset_measure(struct nn_dataset *dataset, const uint64_t *rows, size_t n,
		       struct nn_error *err);
/* sha256 (hex) over length, shape, names, first and last MiB of each file: for logs and resume. */
const char *nn_dataset_hash(const struct nn_dataset *dataset);
/*
 * Were the files changed since they were opened? -1 with "FILE: changed while training". Their
 * removal does no harm.
 */
int nn_dataset_unchanged(const struct nn_dataset *dataset, struct nn_error *err);
/*
 * One-line notices to be given once: values of text columns that training never had; NULL after the
 * last.
 */
const char *nn_dataset_notice(const struct nn_dataset *dataset, size_t i);
/*
 * How the columns of a table were read, as a line of text: "7 columns: 5 numbers, 2 texts (Sex 2,
 * Embarked 4); target Survived: 2 classes". Nothing where it is not from a table, or the model
 * knew.
 */
void nn_dataset_columns(const struct nn_dataset *dataset, struct nn_text *text);
/* Is the row left out, because a value of it is missing (--missing=drop)? It keeps its number. */
bool nn_dataset_left_out(const struct nn_dataset *dataset, size_t row);

/*
 * Fill input tensor `input` for rows[n]: real values (want.dtype) [n][size]. channels_last: a
 * sample C,H,W is written H,W,C. Converted, scaled, one-hot; threads may call at once.
 */
void nn_dataset_fill_input(const struct nn_dataset *dataset, size_t input, const uint64_t *rows,
			   size_t n, bool channels_last, void *values);
/* Do the input's values lie there as bytes, as those of pictures do? */
bool nn_dataset_is_bytes(const struct nn_dataset *dataset, size_t input);
/*
 * Targets: classes int32 [n][positions] (NN_CLASS_IGNORED of an ignored label), or numbers
 * [n][columns] in standardized units, or class probabilities.
 */
/*
 * The output that a target is compared with, to be said before nn_dataset_measure: pictures of numbers are given
 * with channels last, and what has positions is not standardized.
 */
void nn_dataset_set_output(struct nn_dataset *dataset, size_t target, const struct nn_shape *output);
bool nn_dataset_target_classes(const struct nn_dataset *dataset, size_t target);
size_t nn_dataset_target_size(const struct nn_dataset *dataset, size_t target); /* values per row */
/* Are they one for each step of rows of different length, those behind it ignored? */
bool nn_dataset_target_steps(const struct nn_dataset *dataset, size_t target);
void nn_dataset_fill_target(const struct nn_dataset *dataset, size_t target, const uint64_t *rows,
			    size_t n, void *values);

/* Its rows as a source, for loaders (loader.h); fills them as the calls above where they lie in
 * memory. */
struct nn_source nn_dataset_source(const struct nn_dataset *dataset);

/* A number below n, all equally likely, as nn_shuffle draws them; index says which. */
uint64_t nn_draw_below(uint64_t seed, enum nn_stream stream, uint64_t index, uint64_t n);

/*
 * Row order of an epoch: order[i] is a permutation of rows[0..n-1]. window 0: no shuffle,
 * UINT64_MAX: whole, else inside consecutive windows of that many rows. Fisher-Yates: in a window
 * that begins at s and has m rows, for k = m-1 down to 1, swap k with j = floor(u (k+1) / 2^64). u
 * is the first of the 64-bit numbers x1 2^32 + x0, x3 2^32 + x2 of the Philox blocks 0, 1, ... with
 * (seed, index epoch 2^40 + s + k, NN_STREAM_SHUFFLE) for which u (k+1) mod 2^64 >= 2^64 mod (k+1):
 * every j is equally likely (Lemire, ACM TOMACS 29, 2019).
 */
void nn_shuffle(uint64_t seed, uint64_t epoch, const uint64_t *rows, uint64_t *order, size_t n,
		uint64_t window);
/*
 * Split by training.md: held[i] = true for held-out rows, never for those left out; stratified by
 * the first target that is one class per row. A row's value is x1 2^32 + x0 of Philox block 0 with
 * (split_seed, its number, NN_STREAM_SPLIT); the fraction is the decimal number that was typed
 * (0.29 of 100 rows are 29).
 */
int nn_split(const struct nn_dataset *dataset, double fraction, uint64_t split_seed, bool *held,
	     struct nn_error *err);

/*
 * The fold of each row, 1 to folds, 0 for those left out: its place in the order of nn_split within
 * its class, modulo folds (at most 2^31), + 1.
 */
int nn_fold(const struct nn_dataset *dataset, uint64_t folds, uint64_t split_seed, uint32_t *fold,
	    struct nn_error *err);

/* Rows as they come, for prediction: the schema is the model's. */
struct nn_rows;
struct nn_rows_options {
	enum nn_header header;
	bool zero_based; /* LIBSVM counts from 0; the model may know */
	char separator;  /* of a table; 0: as the model says, or told from the first line */
	enum nn_on_error on_error;
	const char *target; /* column holding the target, for --score */
	bool want_target;
	const char *weight;        /* column with what rows weigh, where there is one; NULL: none */
	const char *keep;          /* COLUMN,... whose text goes with each row; NULL: none */
	const bool *channels_last; /* per input: a sample C,H,W is given H,W,C; NULL: none is */
	/*
	 * columns are standardized as nn_dataset_fill_input does; false: numbers as they stand in
	 * the data, for the caller's doors (categories are one-hot and pictures scaled in any case)
	 */
	bool scaled;
	/* other rows of the same data that will be opened; and of these the first, which outlives
	 * them and whose path is theirs */
	size_t n_again;
	const struct nn_rows *again;
	/* an input of the same data, which was told of one more (nn_input_tee) and outlives them; NULL */
	const struct nn_input *stream;
	/* [n_bytes] the data themselves, which stay until it is closed; NULL: they are in a file */
	const void *bytes;
	size_t n_bytes;
};
/* The shape of samples in a file of arrays, by its header; false: not such a file, or a pipe. */
bool nn_data_sample(const char *path, struct nn_shape *sample);

/*
 * Inputs are filled in dtype. A schema without inputs (nn.input was not in the file) cannot
 * say shapes: fill inputs[0].shape before. schema is borrowed and must outlive the rows.
 */
int nn_rows_open(struct nn_rows **rows, const char *data, const char *targets,
		 const struct nn_schema *schema, const struct nn_rows_options *options,
		 enum nn_dtype dtype, struct nn_error *err);
void nn_rows_close(struct nn_rows *rows);
bool nn_rows_none(const struct nn_rows *rows);      /* no bytes at all */
char nn_rows_separator(const struct nn_rows *rows); /* ',' or a TAB of a table, else '\0' */
bool nn_rows_lines(const struct nn_rows *rows);     /* they are JSON lines */
/* Rows of arrays, but for pictures: an array suits those who give them. */
bool nn_rows_suit_arrays(const struct nn_rows *rows);
bool nn_rows_header(const struct nn_rows *rows);   /* the CSV/TSV input had one */
int64_t nn_rows_total(const struct nn_rows *rows); /* of the (first) array; -1: unknown */
/* Rows come through a pipe: what comes next may wait for what was answered. */
bool nn_rows_is_pipe(const struct nn_rows *rows);
/* True when the next call would have to wait for the other end of a pipe. */
bool nn_rows_would_block(struct nn_rows *rows);
/*
 * Up to max rows: at least one unless at the end (*n = 0); rows that lie ready are taken together,
 * but it never waits for a second one. inputs[i]: [max][size]; targets (may be NULL): targets[t] as
 * fill_target; bad[max] (may be NULL unless on_error=mark): NULL, or why the row could not be read
 * (an error's text, valid until the next call; its values are 0, its classes -1). Labels never seen
 * in training: NN_CLASS_UNKNOWN, counted. An .npy stream of several arrays: *array_end is set when
 * the block ends an array (*n may then be 0 for an array without rows, with *array_end set).
 */
int nn_rows_next(struct nn_rows *rows, size_t max, void *const *inputs, void *const *targets,
		 const char **bad, size_t *n, bool *array_end, struct nn_error *err);
/* As above; beside (may be NULL): what else is wanted of each row. */
struct nn_rows_beside {
	double *weights;      /* [max]; NULL: not wanted */
	struct nn_text *kept; /* fields are added as data/table/keep.h says; NULL: not wanted */
	uint32_t *lengths;    /* [max] steps of each, where the model takes them; NULL: not wanted */
};
int nn_rows_next_beside(struct nn_rows *rows, size_t max, void *const *inputs, void *const *targets,
			struct nn_rows_beside *beside, const char **bad, size_t *n, bool *array_end,
			struct nn_error *err);
/* Names of the columns that are kept; NULL after the last. */
const char *nn_rows_kept(const struct nn_rows *rows, size_t i);
bool nn_rows_weighs(const struct nn_rows *rows); /* the column of weights was found */
/*
 * With want_target: are the targets int32 classes (else real numbers or class probabilities)?
 * values per row?
 */
void nn_rows_set_output(struct nn_rows *rows, size_t target, const struct nn_shape *output);
bool nn_rows_target_classes(const struct nn_rows *rows, size_t target);
size_t nn_rows_target_size(const struct nn_rows *rows, size_t target);
/* The first label that the schema does not have, as text; "" where there was none. */
const char *nn_rows_unseen_label(const struct nn_rows *rows);
uint64_t nn_rows_bad(const struct nn_rows *rows); /* rows left out or marked so far */
/*
 * One-line notices to be given once at the end: unseen categories, unseen labels; NULL after the
 * last.
 */
const char *nn_rows_notice(const struct nn_rows *rows, size_t i);

#endif
