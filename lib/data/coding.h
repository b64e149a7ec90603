/*
 * A schema made ready for work: words of text columns, scales in the type of batches, and the loops
 * that apply them.
 */
#ifndef NN_DATA_CODING_H
#define NN_DATA_CODING_H

#include <stdint.h>
#include "data/schema/schema.h"
#include "base/real.h"
#include "data/table/words.h"

/* Text columns become one-hot up to this number of values. */
#define NN_MAX_CATEGORIES 32

struct nn_input_code {
	size_t size;                /* values per row */
	size_t channels, positions; /* of a shape CxHxW; else 1 and size */
	size_t n_columns;           /* 0: an array as it is */
	bool categories;            /* some column is text */
	size_t rows;             /* values are numbers of categories below this; 0: they are not */
	size_t *first;           /* with rows, per column: number of its first category */
	struct nn_words **words; /* per column, borrowed; NULL: a number */
	const int32_t **place; /* per column: number of a word -> its place among the categories */
	void *mean,
		*sd; /* real, per column (0 and 1 where not scaled); NULL: no column is scaled */
	/* real, per column: what nan becomes (nan where nothing does); NULL: no column is filled */
	void *missing;
	double scale;           /* of pictures; 0: none */
	int16_t character[256]; /* of a text: number of a byte, -1 of one that it never had */
};

struct nn_target_code {
	struct nn_words *labels; /* NULL: numbers */
	const int32_t *place;    /* number of a label -> its class */
	int32_t ignored;         /* number of the one that is no class; -1: none */
	bool fixed;              /* a model's: never grows */
	bool closed;             /* --classes: no label is added */
	void *mean, *sd;         /* real, per column, or NULL */
	size_t n_columns;
	size_t channels; /* of pictures of numbers: how many, which batches have last; 0: it is none */
	bool positions;  /* the output has several: numbers are not standardized */
};

struct nn_coding {
	enum nn_dtype dtype;
	struct nn_input_code *inputs;
	struct nn_target_code *targets;
	size_t n_inputs, n_targets;
	struct nn_words **pool; /* all words, owned */
	size_t n_pool, pool_room;
};

/* For a schema: inputs and targets with words where it has values and labels. */
int nn_coding_new(struct nn_coding **coding, const struct nn_schema *schema, enum nn_dtype dtype,
		  struct nn_error *err);
void nn_coding_free(struct nn_coding *coding);
/* New words in the coding's care. */
struct nn_words *nn_coding_words(struct nn_coding *coding, bool integers, struct nn_error *err);
/*
 * Take sizes, scales and categories of one input, or of one target, from the schema (again). raw:
 * columns are not standardized.
 */
int nn_coding_input(struct nn_coding *coding, size_t input, const struct nn_input_schema *schema,
		    bool raw, struct nn_error *err);
int nn_coding_target(struct nn_coding *coding, size_t target, const struct nn_target_schema *schema,
		     struct nn_error *err);
/* All of them. */
int nn_coding_schema(struct nn_coding *coding, const struct nn_schema *schema, bool raw,
		     struct nn_error *err);

/* The output that a target is compared with, which says how batches have it. */
void nn_coding_set_output(struct nn_coding *coding, size_t target, const struct nn_shape *output);

/* Where value i of a target is in a batch. */
static inline size_t nn_code_place(const struct nn_target_code *code, size_t size, size_t i)
{
	size_t positions = code->channels ? size / code->channels : 0;

	return positions ? i % positions * code->channels + i / positions : i;
}

/* Whose labels they are, for messages. */
static inline const char *nn_code_whose(const struct nn_target_code *code)
{
	return code->closed ? "--classes" : "the start model";
}

/* And what helps. */
static inline const char *nn_code_hint(const struct nn_target_code *code)
{
	return code->closed ? "" : "; other classes want -m TEXT --init=MODEL --init-partial";
}

/* The class of a label's number, which is -1 where the label is unknown. */
static inline int32_t nn_code_class(const struct nn_target_code *code, int32_t label)
{
	if (label < 0)
		return NN_CLASS_UNKNOWN;
	if (label == code->ignored)
		return NN_CLASS_IGNORED;
	return code->place ? code->place[label] : label;
}

/* Where rows lie. */
struct nn_row_block {
	const void *data;    /* [rows][stride] */
	enum nn_dtype dtype; /* u8, or the coding's */
	size_t stride;       /* values per row */
	const size_t *slots; /* place of each column in a row; NULL: as they come */
	bool picture;        /* the scale of pictures applies */
};

/* The value of a column of a row, as it lies there. */
static inline double nn_row_value(const struct nn_row_block *block, size_t row, size_t column)
{
	size_t at = row * block->stride + (block->slots ? block->slots[column] : column);

	return block->dtype == NN_U8 ? ((const uint8_t *)block->data)[at]
				     : nn_real_at(block->dtype, block->data, at);
}

/* rows NULL: 0..n-1. values: real [n][size]. */
void nn_fill_input(const struct nn_input_code *code, enum nn_dtype dtype,
		   const struct nn_row_block *source, const uint64_t *rows, size_t n,
		   bool channels_last, void *values);
/* numbers: real [..][size]; out[n][size], standardized where the target is. */
void nn_fill_numbers(const struct nn_target_code *code, enum nn_dtype dtype, const void *numbers,
		     size_t size, const uint64_t *rows, size_t n, void *values);

#endif
