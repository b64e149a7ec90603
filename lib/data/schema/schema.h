/*
 * What a model knows of its data: nn.input and nn.target, as structures and as canonical JSON.
 *
 * nn.input and nn.target of several inputs or outputs are arrays of the objects that a single one
 * has, each with "name". A column of a table without a header has "position" in place of "name".
 */
#ifndef NN_DATA_SCHEMA_SCHEMA_H
#define NN_DATA_SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"
#include "base/shape.h"
#include "base/text.h"

/* A column of the data that is hashed. */
struct nn_hashed {
	char *name; /* NULL: the data had no names */
	size_t position;
};

struct nn_column {
	char *name; /* NULL: the data had no names */
	/* without a name: its place in a row of the training data, from 1; 0: the array's order */
	size_t position;
	bool category;
	bool scaled;     /* mean and sd hold */
	double mean, sd; /* value -> (value - mean) / sd, in f32 or f64 */
	bool fills;      /* a missing number becomes `missing`, in units of the data */
	double missing;
	/*
	 * categories, bytewise sorted: one-hot of n_values; in an input with rows the number of
	 * each
	 */
	char **values;
	size_t n_values;
	/*
	 * of an input with rows: a number that these columns are hashed to together; NULL: not so
	 */
	struct nn_hashed *hashed;
	size_t n_hashed;
};

/* Those of a text, in order. */
struct nn_characters {
	size_t n; /* 0: it is no text */
	unsigned char bytes[256];
};

/* One input tensor of the model. */
struct nn_input_schema {
	char *name;                /* NULL: the only one */
	struct nn_shape shape;     /* per row, language order */
	bool lengths; /* rows are of different length: of shape the first dimension is the longest */
	struct nn_column *
		columns; /* NULL: not a table; where rows are of different length those of a step */
	size_t n_columns;
	char separator;  /* of tables, where their first line does not tell it; else 0 */
	bool zero_based; /* indices of LIBSVM count from 0 */
	double scale;    /* factor for u8 pictures; 0: none */
	size_t rows;     /* its values are numbers of categories, below this; 0: they are not */
	struct nn_characters characters; /* of a text: the categories; shape: of a window */
};

/* One output of the model. */
struct nn_target_schema {
	char *name;        /* of the output line, NULL: the only one */
	char **columns;    /* names; each NULL where the data had none */
	size_t *positions; /* per column, from 1; 0: has a name, or came from an array */
	/* numbers: width of the target; classes: 1; class probabilities: the classes */
	size_t n_columns;
	char **labels; /* classes in order; NULL: numbers */
	bool integer_labels;
	size_t n_labels;
	/* --ignore: a label that is none of them, of nn.train; NULL: every other is unknown */
	char *ignored;
	double *mean, *sd; /* per target column, NULL: not scaled */
	bool steps; /* of the network, in no file: there is one for each step of rows of different
		       length */
};

/*
 * Was it learned from a table without a header? Then such tables are meant: inputs, or else
 * targets.
 */
struct nn_schema;
bool nn_schema_is_headerless(const struct nn_schema *schema, bool inputs);

/* What stands for a class of a row where there is none. */
#define NN_CLASS_UNKNOWN (-1) /* a label that training never had */
#define NN_CLASS_IGNORED (-2) /* --ignore, and its label has no unit of the output */

/* The class of a label; NN_CLASS_UNKNOWN: there is none, or label is NULL. */
int nn_schema_label(const struct nn_target_schema *target, const char *label);

/* --ignore=LABEL (NULL: none): the schema keeps it where it is none of its own. */
int nn_schema_ignore(struct nn_target_schema *target, const char *label, struct nn_error *err);
/* Its class, NN_CLASS_IGNORED where it has none; NN_CLASS_UNKNOWN: nothing is ignored. */
int nn_schema_ignored(const struct nn_target_schema *target, const char *label);

struct nn_schema {
	struct nn_input_schema *inputs;
	size_t n_inputs;
	struct nn_target_schema *targets;
	size_t n_targets; /* 0: a model without nn.target */
};

void nn_schema_free(struct nn_schema *schema);
/* The input whose rows are of different length; n_inputs: there is none. */
size_t nn_schema_lengths(const struct nn_schema *schema);
/*
 * What the net's text says of the rows of an input, its shape that of the longest: a file made
 * elsewhere need not say that they are of different length. -1: it says something else.
 */
int nn_schema_take_lengths(struct nn_input_schema *input, bool lengths,
			   const struct nn_shape *shape, struct nn_error *err);
/* Values that columns speak of: those of a row, or of one of its steps. */
size_t nn_schema_values(const struct nn_input_schema *input);
/* Values that a column of an input becomes: 1, or one per category. */
size_t nn_column_width(const struct nn_input_schema *input, const struct nn_column *column);
/*
 * One input is an object, several are an array of them, each with its "name"; targets likewise.
 * -1: out of memory.
 *
 *   nn.input   {"columns":[COLUMN,...],"index_base":0,"name":...,"scale":...,"separator":...,
 *               "shape":[...]}, of a text {"characters":[BYTE,...],"rows":N,"shape":[...]};
 *               "lengths":true where rows are of different length, "shape" that of the longest
 *   COLUMN     {"kind":"number","mean":...,"missing":...,"name":...,"sd":...}
 *              or {"kind":"category","name":...,"values":[...]}; "position" stands where a file
 *              had no names. With "rows":N columns are numbers of categories:
 *              {"kind":"category",...} those of its values, counted on from the columns before it,
 *              {"kind":"hash","of":[NAME,...]} (a NAME is a string or a position), or as they are
 *   nn.target  {"columns":[NAME,...],"labels":[...]|null,"mean":[...],"name":...,"sd":[...]}
 *              a NAME is a string, a position or null; labels are integers or strings
 */
int nn_schema_input_json(const struct nn_schema *schema, struct nn_text *text);
int nn_schema_target_json(const struct nn_schema *schema, struct nn_text *text);
/* Either text may be NULL (not in the file). Every field is checked; errors name the key. */
int nn_schema_parse(struct nn_schema **schema, const char *input_json, const char *target_json,
		    struct nn_error *err);

#endif
