/*
 * Tables: the columns of a CSV or TSV file given a meaning, and their records as rows of numbers.
 */
#ifndef NN_DATA_TABLE_H
#define NN_DATA_TABLE_H

#include "base/pool.h"
#include "base/shape.h"
#include "data/table/csv.h"
#include "data/table/words.h"

enum nn_table_cell {
	NN_CELL_SKIP, /* nobody asked for it */
	NN_CELL_OPEN, /* number or text: the sample decides, else the first field that has a value
		       */
	NN_CELL_NUMBER,
	NN_CELL_WORD,  /* text, as the number of its word */
	NN_CELL_LABEL, /* an integer, as the number of its word */
};

struct nn_table_column {
	char *name; /* NULL without a header */
	bool twice; /* another column has the same name */
	enum nn_table_cell cell;
	bool target;
	bool weight; /* a target that is 0 or more, and no input */
	size_t slot; /* in the row's values, or in its targets */
	struct nn_words
		*words; /* borrowed; NN_CELL_OPEN: used when the column turns out to be text */
	bool grow;      /* words may be added */
	size_t limit;   /* of words, 0: none */
	bool missing;   /* a number or label that is not there is nan; false: an error */
	/* words that others may not see yet, numbered after `words`; NULL: there are none such */
	struct nn_words *fresh;
	int32_t first_fresh; /* fresh word 0 has this number */
	size_t run;          /* columns of numbers from this one on whose slots follow each other */
	uint64_t unseen;     /* categories that were not there */
	uint64_t unseen_line; /* of the last of them: where its record begins */
	uint64_t empty_line; /* NN_CELL_OPEN: line of the first field without a value */
	uint64_t point_line; /* targets: line of the first number with a point or exponent */
	uint64_t word_line;  /* of the first word that was added and is not "" */
	bool closed; /* labels of --classes: another one is an error */
	bool listed; /* NN_CELL_WORD: categories of an embedding; a number with a point is none */
	size_t rows; /* NN_CELL_NUMBER: a whole number below this; 0: any number */
	bool hashed; /* its fields are hashed, too */
	uint64_t hash_start, hash; /* of its name; of the field of this record */
};

/* A value of a row that fields are hashed to. */
struct nn_table_hash {
	size_t *columns, n;
	size_t slot, buckets;
};

/* What is known of a table before it is opened. */
struct nn_table_form {
	int header;     /* enum nn_header */
	char separator; /* 0: told from the first record */
	/* JSON lines: how many are looked at for the names of columns; 0: it is CSV */
	size_t lines;
};

struct nn_table {
	struct nn_csv csv;
	enum nn_dtype dtype; /* of values: f32 or f64 */
	bool header, empty;  /* empty: not one record */
	bool lines;          /* JSON lines: fields have names and no place */
	size_t svm;          /* LIBSVM: how many indices there are; 0: it is not */
	unsigned svm_least;  /* the first of them */
	bool guessed;        /* nobody said whether there is a header */
	/* what helps where a number or a target is missing, and where one is text; or NULL */
	struct {
		const char *number, *target, *label;
	} hints;
	bool runs_known; /* `run` of the columns holds */
	/* a column counted, met a new word or its first point since this was set to false */
	bool touched;
	struct nn_table_column *columns;
	size_t width;           /* fields of a record */
	struct nn_words *names; /* of the header, and the column of each */
	size_t *column_of;
	size_t n_values, n_targets;   /* slots given out */
	struct nn_table_hash *hashes; /* shared by all who read parts */
	size_t n_hashes;
	size_t first_rows; /* rows after which nn_table_read ends; 0: it reads all */
	size_t most; /* bytes after which nn_table_read ends, about; 0: it reads all */
	double more; /* rows that the file has for each that was read, about; NaN: not known */
	struct nn_unseen labels; /* of targets that do not grow */
	struct nn_record first;  /* without a header: the record that told the width */
	struct nn_record record; /* the one that nn_table_next gave; text NULL: it had none */
	bool first_waits;
};

/* Read the first record; all columns are NN_CELL_SKIP. */
int nn_table_open(struct nn_table *table, struct nn_input *input, const struct nn_table_form *form,
		  enum nn_dtype dtype, struct nn_error *err);
void nn_table_close(struct nn_table *table);
/*
 * The column called name[n]; without a header the column of that number, from 1. *column = width
 * when there is none. -1: the name occurs twice.
 */
int nn_table_find(const struct nn_table *table, const char *name, size_t n, size_t *column,
		  struct nn_error *err);
/* "a, b, c, ..., z", or "1 to 65" without a header, for messages. */
void nn_table_names(const struct nn_table *table, char *text, size_t size);
/* The column in messages: its name, quoted, or its number. */
const char *nn_table_column_name(const struct nn_table *table, size_t column,
				 char buffer[NN_QUOTED]);
/*
 * sample.c: open columns become numbers or words, as most of the fields that have a value are in
 * the first 1,000 rows (as far as they lie within 64 MiB); in doubt numbers. Columns without any
 * value there stay open. The rows are left to be read.
 */
int nn_table_sample(struct nn_table *table, struct nn_error *err);
/*
 * The next record: values[n_values] in dtype, targets[n_targets] (words by number, -1 unseen). 1:
 * it is there, 0: end, -1: reading cannot go on, 2: this record is bad and *err says why.
 */
int nn_table_next(struct nn_table *table, void *values, double *targets, struct nn_error *err);
/* field.c: a field of a record into its place; as nn_table_next, 0 or an error of this record. */
int nn_table_put_field(struct nn_table *table, const struct nn_record *record, size_t column,
		       const struct nn_field *field, void *values, double *targets,
		       struct nn_error *err);
/*
 * All records that are left, as rows of values and targets (which grow), *rows of them; what
 * nn_table_next calls bad is an error, and of several the first in the file. The text is read in
 * blocks of some bytes (`block`, 0: a size that suits the caches), whose parts are taken by the
 * threads of the pool. Rows, words and errors do not depend on blocks and threads.
 */
int nn_table_read(struct nn_table *table, struct nn_pool *pool, size_t block,
		  struct nn_block *values, struct nn_block *targets, size_t *rows,
		  struct nn_error *err);
/*
 * Hash columns (numbers of columns, in order) to a value from 0 to buckets-1, in a slot of its own.
 * What becomes of a field is defined to the bit in nn-data(5).
 */
int nn_table_add_hash(struct nn_table *table, const size_t *columns, size_t n, size_t buckets,
		      size_t *slot, struct nn_error *err);
/*
 * hash.c: of a column's name, or its number from 1 where it has none, from which nn_fnv1a goes on
 * with a field; what columns make.
 */
uint64_t nn_hash_name(const char *name, size_t number);
/* Hashes of fields one after the other, from 0 on; and the number below `buckets` they make. */
uint64_t nn_hash_join(uint64_t hash, uint64_t field);
size_t nn_hash_bucket(uint64_t hash, size_t buckets);
void nn_table_put_hashes(const struct nn_table *table, void *values);
/*
 * Is a field meant as a number? Also what no number can be: not finite, or with blanks around it.
 */
bool nn_meant_as_number(const char *text, size_t n);
/*
 * What to say after a column of this name was not found: "; did you mean NAME?", or "; its columns:
 * ...". Returns text.
 */
#define NN_TABLE_INSTEAD (NN_QUOTED + 32)
const char *nn_table_instead(const struct nn_table *table, const char *name, size_t n,
			     char text[NN_TABLE_INSTEAD]);
/*
 * "WHAT=NAME: FILE has no such column" and the like; the schema's name for a column: its name, or
 * its number.
 */
int nn_table_no_column(const struct nn_table *table, const char *what, const struct nn_field *name,
		       struct nn_error *err);
int nn_table_name_column(const struct nn_table *table, size_t column, char **name, size_t *position,
			 struct nn_error *err);
int nn_table_ready(struct nn_table *table, struct nn_error *err);

#endif
