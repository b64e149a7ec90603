/* The inside of a dataset: sources of rows, targets, and the steps that nn_dataset_open takes. */
#ifndef NN_DATA_DATASET_H
#define NN_DATA_DATASET_H

#include "base/sha256.h"
#include "data/array/array.h"
#include "data/coding.h"
#include "data/table/columns.h"
#include "data/data.h"
#include "data/table/column-plan.h"

enum nn_normalize {
	NN_NORMALIZE_AUTO,
	NN_NORMALIZE_NONE,
	NN_NORMALIZE_STANDARD,
	NN_NORMALIZE_MINMAX,
	NN_NORMALIZE_FACTOR
};

struct nn_data_input {
	struct nn_row_block source;
	struct nn_array array; /* unless it comes from the table */
	/* rows that stay in a cache or an array (array/file-rows.h); NULL: they lie in memory */
	struct nn_file_rows *file;
};

struct nn_data_target {
	bool classes;
	size_t size;            /* values per row */
	/* size is of the longest row; values those of steps, as many for each (sequence/sequence.h)
	 */
	bool steps;
	struct nn_block values; /* classes: int32 number of the label; else real */
	struct nn_file_rows *file; /* the same values, where they stay in a file; or NULL */
	bool from_table;
	/* how labels are made: of the training data alone */
	bool plain;     /* never standardized */
	size_t wanted;  /* classes the output line has, 0: `?` */
	char *ignored;  /* --ignore, NULL: none */
	int32_t *place; /* number of a label -> class */
};

struct nn_data_file {
	char *path;
	struct nn_stamp stamp;
};

/* How many rows a file has in all, where only the first of them were read. */
struct nn_data_share {
	double rows;    /* for each that was read; 1: they are all; NaN: nobody can tell (a pipe) */
	uint64_t total; /* as an array's header says; 0: by the sizes of files, so about */
};

/* What the options say of reading it. */
struct nn_data_rules {
	char *target;               /* --target */
	char *weight;               /* --weight, NULL: none */
	bool weight_known;          /* of a start model: the file may lack it */
	struct nn_table_form table; /* --header, --separator */
	int missing;                /* enum nn_missing */
	bool zero_based;            /* --zero-based */
	size_t window;              /* --window, 0: not given */
	enum nn_normalize normalize;
	double factor;
};

/* The files that it was read from. */
struct nn_data_files {
	struct nn_data_file file[2];
	size_t n;
	size_t sample;              /* bytes of each that were read; 0: all */
	struct nn_data_share share; /* of the first file */
	size_t read_rows;           /* of it */
	size_t first;               /* rows to read of a stream; 0: all */
	struct nn_input *stream;    /* that it is, for who reads on; NULL: none is */
	struct nn_text stems; /* of pictures: each with a NUL; empty: data are none */
	/* bytes that rows may take which can stay in their files; 0: they cannot, or as many as they do */
	size_t memory;
	bool decoded; /* rows are made of files: as many of them lie in memory until they take more */
	struct {
		size_t pictures, arrays; /* as nn_want has it */
	} may_take;
	struct nn_picture_store *pictures; /* that take more: they stay in their files; or NULL */
};

/* Rows that cannot be used, in order, while those around them can (bad-rows.c). */
struct nn_bad_rows {
	struct nn_block rows; /* struct nn_bad_row [n] */
	size_t n;
};
struct nn_bad_row {
	size_t row; /* its number; of one that was left out that of the row behind it */
	bool there; /* it has a place among the rows, whose values mean nothing */
	char *why;
};
void nn_bad_rows_clear(struct nn_bad_rows *bad);
void nn_bad_rows_free(struct nn_bad_rows *bad);
const struct nn_bad_row *nn_bad_row(const struct nn_bad_rows *bad, size_t i); /* NULL: no more */

struct nn_dataset {
	size_t rows;
	struct nn_data_rules rules;
	struct nn_data_files files;
	enum nn_dtype dtype;
	struct nn_pool *pool;        /* borrowed; NULL: the caller's thread */
	struct nn_dataset *training; /* whose schema is shared; NULL: its own */
	struct nn_schema *schema;
	struct nn_coding *coding;
	bool rows_known;
	bool fixed;    /* schema of a start model: nothing is learned */
	bool borrowed; /* schema and coding belong to somebody else */
	bool lenient;  /* labels that the schema does not have become class -1 and are counted */
	bool passes;   /* of rows of different length those that are bad are passed over */
	struct nn_bad_rows bad;
	struct nn_unseen unseen;
	struct nn_data_input *inputs;
	struct nn_data_target *targets;
	struct nn_column_plan plan,
		target_plan;   /* of the table with the inputs, of the one with the targets */
	struct nn_block table; /* real [rows][slots of the plan] */
	char *columns;         /* how those of the table were read; NULL: nothing was learned */
	/* of rows that a format does not put into memory; ops NULL: all lie here */
	struct nn_source source;
	struct nn_sequences *sequences; /* rows of an input are of different length; NULL: of none */
	double *weights;  /* [rows] --weight, NULL: all weigh 1 */
	bool *left_out;   /* [rows], NULL: none */
	struct nn_st *st; /* tensors that inputs point into */
	char hash[NN_SHA256_HEX];
	struct {
		char **text;
		size_t n;
	} notices;
};

/*
 * Columns of a target as read: double [rows][n_columns] of a table (words by number), or an array.
 */
struct nn_raw_target {
	bool from_table;
	const double *values;
	size_t stride;
	const struct nn_table_column *const *columns;
	size_t n_columns;
	struct nn_array array;
	/*
	 * Of an array without data, which stays in a file once it is converted: n values from
	 * number `first` on; it is asked for all of them in order.
	 */
	int (*read)(void *arg, size_t first, size_t n, void *to, struct nn_error *err);
	void *arg;
	size_t first; /* number of the first row that is read, for errors */
	size_t rows;
	const char *place;  /* FILE, for errors */
	const size_t *ends; /* rows are the steps of others, which end there (sequence/sequence.h);
			       NULL */
};

/*
 * picture/streamed.c, array/file-rows.c: the source of rows that stay where files.pictures or the
 * `file` of inputs and targets says (of none: that of memory), once all were read; and one of an
 * input, as it is there or decoded.
 */
void nn_dataset_stream(struct nn_dataset *ds);
void nn_dataset_stream_files(struct nn_dataset *ds);
int nn_dataset_picture_row(const struct nn_dataset *ds, uint64_t row, unsigned char *to,
			   struct nn_error *err);
int nn_dataset_file_row(const struct nn_dataset *ds, size_t input, uint64_t row, unsigned char *to,
			struct nn_error *err);
struct nn_file_rows;
void nn_file_rows_free(struct nn_file_rows *rows); /* NULL allowed */
/* streamed.c: has an input or a target rows in a file of arrays or a cache? */
bool nn_dataset_in_files(const struct nn_dataset *ds);
/* A row is bad, *err says why: 0 where that is noted in `bad` and reading goes on, else -1. */
int nn_dataset_pass(struct nn_dataset *ds, size_t row, bool there, struct nn_error *err);
/* Rows of an input, or of any, that do not lie in memory, and one of them as its file has it. */
static inline bool nn_dataset_input_streams(const struct nn_dataset *ds, size_t input)
{
	return ds->files.pictures || ds->inputs[input].file;
}
static inline bool nn_dataset_streams(const struct nn_dataset *ds)
{
	return ds->files.pictures || nn_dataset_in_files(ds);
}
static inline int nn_dataset_stream_row(const struct nn_dataset *ds, size_t input, uint64_t row,
					unsigned char *to, struct nn_error *err)
{
	return ds->files.pictures ? nn_dataset_picture_row(ds, row, to, err)
				  : nn_dataset_file_row(ds, input, row, to, err);
}
/* streamed.c: each of an input in turn, as row 0 of a block of one, until visit is -1. */
int nn_dataset_stream_each(const struct nn_dataset *ds, size_t input,
			   int (*visit)(void *arg, const struct nn_row_block *row, size_t number,
					struct nn_error *err),
			   void *arg, struct nn_error *err);

/*
 * streamed.c: where an input, or behind them a target, begins in a row that was made of those that
 * stream, side by side; and the bytes of such a row.
 */
size_t nn_dataset_made_at(const struct nn_dataset *ds, size_t part);
size_t nn_dataset_made_bytes(const struct nn_dataset *ds);
/*
 * What sources of such rows give for an input, of rows that lie at `made` and of those that are
 * fetched on the spot. And what every source over a dataset gives (dataset.c).
 */
int nn_dataset_fill_made(const void *data, size_t input, const uint64_t *rows,
			 const unsigned char *made, size_t n, bool channels_last, void *values,
			 struct nn_error *err);
int nn_dataset_fill_streamed(const void *data, size_t input, const uint64_t *rows, size_t n,
			     bool channels_last, void *values, struct nn_error *err);
int nn_dataset_source_target(const void *data, size_t target, const uint64_t *rows, size_t n,
			     void *values, struct nn_error *err);
/* streamed.c: the same of a target whose rows stay in a file. */
int nn_dataset_fill_target_file(const struct nn_dataset *ds, size_t target, const uint64_t *rows,
				size_t n, void *values, struct nn_error *err);
/* dataset.c: a row of a target as batches have it, of one as it is kept: as many bytes. */
void nn_dataset_code_target(const struct nn_dataset *ds, size_t target, const void *from, void *to);
int nn_dataset_source_weights(const void *data, const uint64_t *rows, size_t n, double *weights,
			      struct nn_error *err);

/*
 * For data that were read before: a dataset without rows, for a schema (taken) where no start model
 * has one, and its held-out data. What could not be made is freed by nn_dataset_free.
 */
int nn_dataset_new_of(struct nn_dataset **dataset, struct nn_schema *schema,
		      const struct nn_data_options *options, const struct nn_want *want,
		      struct nn_error *err);
int nn_dataset_new_like(struct nn_dataset **dataset, struct nn_dataset *training,
			struct nn_error *err);

/* sequence/sequence.c: NULL allowed; bytes of them in memory. */
struct nn_sequences;
void nn_sequences_free(struct nn_sequences *sequences);
size_t nn_sequences_bytes(const struct nn_dataset *ds);
void nn_sequences_source(struct nn_dataset *ds); /* once they were read */
/* A whole file by its format, for training as for prediction; or JSON lines of targets alone. */
int nn_sequences_read(struct nn_dataset *ds, struct nn_input *input,
		      const struct nn_reading *reading, struct nn_error *err);
/* The numbers of all steps of rows[n], as those of rows are: memory that nn_free takes. */
int nn_sequences_steps(const struct nn_dataset *ds, const uint64_t *rows, size_t n,
		       uint64_t **steps, size_t *n_steps, struct nn_error *err);
/* Values of a target of each step; and of any target in all rows. */
size_t nn_sequences_width(const struct nn_dataset *ds, const struct nn_data_target *target);
size_t nn_dataset_target_values(const struct nn_dataset *ds, const struct nn_data_target *target);
/*
 * Are n records of a table of targets those of the steps of all rows, one after another? And an
 * error where they are those of rows neither.
 */
bool nn_sequences_are_records(const struct nn_dataset *ds, size_t n);
int nn_sequences_check_records(const struct nn_dataset *ds, const char *file, size_t n,
			       struct nn_error *err);
/* The target's values, of size, are those of steps from now on. */
void nn_sequences_by_step(struct nn_dataset *ds, size_t target);
/* Has this array values for each step, so that they are its targets? */
bool nn_sequences_are_steps(const struct nn_dataset *ds, size_t target,
			    const struct nn_array *array);
/* Targets neither of the rows nor of their steps. */
int nn_sequences_refuse(const struct nn_dataset *ds, const struct nn_raw_target *raw,
			struct nn_error *err);
int nn_sequences_set_target(struct nn_dataset *ds, size_t target, const struct nn_want_target *want,
			    struct nn_raw_target *raw, struct nn_error *err);

/*
 * array/stay.c: does an array take more than it may? Then it stays in a file: that of the first
 * input, whose array has no data. And do n values of a target? Where they were not read
 * (nn_raw_target), they go to a file of their own.
 */
bool nn_dataset_array_stays(const struct nn_dataset *ds, const struct nn_input *input,
			    const struct nn_npy_header *header);
bool nn_dataset_target_stays(const struct nn_dataset *ds, size_t n);
int nn_dataset_leave_array(struct nn_dataset *ds, struct nn_input *input,
			   const struct nn_npy_header *header, bool pictures, bool nan_allowed,
			   struct nn_error *err);

/* The same of any input's tensor, not read: fd (borrowed) has its values from `at` on. */
int nn_dataset_leave_tensor(struct nn_dataset *ds, size_t input, const char *place,
			    const struct nn_st_tensor *tensor, int fd, uint64_t at,
			    bool nan_allowed, struct nn_error *err);

/* measure.c: the sums of columns of an input over rows[n], and how many values are there. */
int nn_dataset_sum_columns(const struct nn_dataset *ds, size_t input, const uint64_t *rows, size_t n,
			   double *sums, double *present, struct nn_error *err);

/* How formats read files: dataset-table.c, array/dataset.c. */
int nn_dataset_read_table(struct nn_dataset *ds, struct nn_input *input,
			  const struct nn_reading *reading, struct nn_error *err);
int nn_dataset_read_array(struct nn_dataset *ds, struct nn_input *input,
			  const struct nn_reading *reading, struct nn_error *err);
int nn_dataset_read_svm(struct nn_dataset *ds, struct nn_input *input,
			const struct nn_reading *reading, struct nn_error *err);
int nn_dataset_read_pictures(struct nn_dataset *ds, struct nn_input *input,
			     const struct nn_reading *reading, struct nn_error *err);
/* In training --missing says it, in prediction what the model knows to put in its place. */
bool nn_dataset_nan_allowed(const struct nn_dataset *ds, size_t input);
/*
 * Columns of the steps of an input of rows of different length, where --normalize measures them or
 * missing values are filled; learn: no model knows them.
 */
int nn_dataset_step_columns(struct nn_dataset *ds, size_t input, bool learn, struct nn_error *err);
/*
 * Parts of these: does the model ask for columns, of a file without any? An array becomes an input;
 * the targets of a table, read into rows of values, become those of the dataset.
 */
int nn_dataset_no_columns(const struct nn_dataset *ds, const char *file, const struct nn_want *want,
			  bool targets, struct nn_error *err);
int nn_dataset_set_input(struct nn_dataset *ds, size_t i, const char *place, bool pictures,
			 const struct nn_want_input *want, struct nn_error *err);
/* What the array of a target is called; and those among a file's, where alone: one needs no name.
 */
const char *nn_dataset_target_array(const struct nn_dataset *ds, size_t target);
int nn_dataset_tensor_targets(struct nn_dataset *ds, const struct nn_st *st, const char *file,
			      const struct nn_want *want, bool alone, struct nn_error *err);
int nn_dataset_set_targets(struct nn_dataset *ds, const struct nn_table *t,
			   const struct nn_want *want, const struct nn_block *values, size_t rows,
			   struct nn_error *err);
/*
 * dataset-category.c: columns of an input of categories before the rows are read, and how many
 * categories they have afterwards; the same for an array, whose values have to be such numbers.
 */
int nn_dataset_learn_categories(struct nn_dataset *ds, struct nn_table *table, size_t input,
				const struct nn_want_input *want, struct nn_error *err);
int nn_dataset_count_categories(struct nn_dataset *ds, const struct nn_table *table, size_t input,
				const struct nn_want_input *want, struct nn_error *err);
/* Rows in errors are counted from `before`. *count grows to the largest number + 1. */
int nn_dataset_check_categories(const struct nn_row_block *source, size_t rows, size_t values,
				size_t most, size_t before, const char *place, size_t *count,
				struct nn_error *err);
/* The first that is none, if there is one; and what is said of it. */
bool nn_dataset_find_bad_category(const struct nn_row_block *source, size_t rows, size_t values,
				  size_t most, size_t *count, size_t *row, size_t *value);
#define NN_PLACE 1000
int nn_dataset_bad_category(double found, size_t most, const char *place, struct nn_error *err);
int nn_dataset_two_uses(const struct nn_table *table, size_t column, struct nn_error *err);
/* Of so many rows those that are wanted of a stream. */
static inline size_t nn_dataset_first(const struct nn_dataset *ds, size_t rows)
{
	return ds->files.first && ds->files.first < rows ? ds->files.first : rows;
}
/* Of the file that is being read not all rows were. */
void nn_dataset_set_share(struct nn_dataset *ds, double rows, uint64_t total);
/* The first source says how many rows there are, the others must have as many. */
int nn_dataset_set_rows(struct nn_dataset *ds, const char *place, size_t rows,
			struct nn_error *err);
/*
 * For prediction, by a model's schema, which is borrowed. Labels are looked up, never added.
 */
struct nn_known {
	struct nn_schema *schema;
	struct nn_coding *coding;
	enum nn_dtype dtype;
	const char *target; /* --target */
	const char *weight; /* what its rows weigh, where the file has it; NULL: nobody asks */
	bool passes;        /* as struct nn_dataset has it */
	struct nn_table_form table;
};
/* The targets of a file of their own. */
int nn_dataset_open_targets(struct nn_dataset **dataset, const char *path,
			    const struct nn_known *known, struct nn_error *err);
/* Those of rows that were read whole, so that they may be for each of their steps. */
int nn_dataset_add_targets(struct nn_dataset *dataset, const char *path,
			   const struct nn_known *known, struct nn_error *err);
/* A dataset without rows, to be read a row at a time; NULL: an error. */
struct nn_dataset *nn_dataset_new_known(const struct nn_known *known, struct nn_error *err);
/* Inputs of an open file, and targets where they are asked for. */
int nn_dataset_open_whole(struct nn_dataset **dataset, struct nn_input *input,
			  const struct nn_format *format, bool targets,
			  const struct nn_known *known, struct nn_error *err);

/* target.c: classes or numbers? want NULL: as the schema says. */
int nn_dataset_set_target(struct nn_dataset *ds, size_t target, const struct nn_want_target *want,
			  const struct nn_raw_target *raw, struct nn_error *err);
/*
 * classes.c: is it a value of --classes? The labels that it lists, before any target is read; into
 * the hash.
 */
int nn_classes_check(const char *value, struct nn_error *err);
bool nn_classes_names_file(const char *value);
int nn_classes_each_file(const char *value, int (*visit)(void *arg, const char *path), void *arg);
int nn_dataset_list_classes(struct nn_dataset *ds, const char *value, const struct nn_want *want,
			    struct nn_error *err);
void nn_classes_hash(const struct nn_words *words, struct nn_sha256 *hash);

/* Does --classes list the labels of this target? Then the column has no others. */
bool nn_dataset_closed_labels(const struct nn_dataset *ds, size_t target,
			      struct nn_table_column *column);

/* labels.c: those of a text; labels in order and their classes, after words were added. */
int nn_dataset_label_bytes(struct nn_target_schema *schema, const struct nn_characters *characters,
			   struct nn_error *err);
int nn_dataset_order_labels(struct nn_dataset *ds, size_t target, struct nn_error *err);
/* label-kind.c: digits with a leading zero, as 00501 or 007, which as a label are text. */
bool nn_label_is_padded(const char *text, size_t n);
/*
 * label-kind.c: columns that were read as text because the loss wants classes: are the labels
 * integers, all of them?
 */
int nn_dataset_settle_labels(struct nn_dataset *ds, struct nn_table *table,
			     struct nn_block *targets, size_t rows, struct nn_error *err);
/* columns-text.c: keep how the columns of a table were read. */
int nn_dataset_tell_columns(struct nn_dataset *ds, const struct nn_table *table,
			    struct nn_error *err);
/* How a table is to be opened: as the options say, else as the schema does, where it is known. */
struct nn_table_form nn_dataset_form(const struct nn_table_form *given,
				     const struct nn_schema *schema, bool inputs);

/*
 * weights.c: of rows as a table gave them, target_values each, at a slot; or of the tensor that
 * --weight names, in a file whose rows are known (targets: those are in it, too); afterwards,
 * whether any counts. Is it a weight? NaN is one of a row that --missing=drop leaves out.
 */
bool nn_dataset_is_weight(const struct nn_dataset *ds, double weight);
int nn_dataset_weigh_by(struct nn_dataset *ds, const struct nn_st *st, const char *file,
			bool targets, struct nn_error *err);
int nn_dataset_take_weights(struct nn_dataset *ds, const struct nn_block *values,
			    size_t target_values, size_t slot, struct nn_error *err);
int nn_dataset_check_weights(struct nn_dataset *ds, struct nn_error *err);

/*
 * missing.c: after all was read, rows that --missing=drop leaves out; before training, what fills
 * the others.
 */
int nn_dataset_leave_out(struct nn_dataset *ds, struct nn_error *err);
int nn_dataset_measure_missing(struct nn_dataset *ds, const uint64_t *rows, size_t n,
			       struct nn_error *err);

/* The shape of samples of an input for what the model says; place: FILE. */
int nn_fit_shape(struct nn_shape *shape, const struct nn_want_input *want, const char *place,
		 struct nn_error *err);
int nn_dataset_notice_add(struct nn_dataset *ds, struct nn_error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
