/* The inside of a net: statements as they were written, lines as they are after repeats. */
#ifndef NN_MODEL_NET_H
#define NN_MODEL_NET_H

#include "model/layer.h"
#include "model/lex.h"
#include "model/model.h"

#define NN_MAX_DEPTH 100     /* repeats inside repeats */
#define NN_MAX_LINKS 1000000 /* inputs of all lines together */

enum nn_statement_kind {
	NN_STATEMENT_LAYER,
	NN_STATEMENT_INPUT,
	NN_STATEMENT_REPEAT,
	NN_STATEMENT_END
};

/* A line as it was written. */
struct nn_statement {
	enum nn_statement_kind kind;
	int source; /* its line in the text, 0: not written (the input line that may be left out) */
	char *name; /* NULL: none */

	const struct nn_layer *layer;
	void *values;   /* the layer's struct */
	unsigned given; /* bit i: the text says argument i */
	bool open;      /* one of its sizes is `?` */
	char **from;    /* NULL: the line before */
	int n_from;
	bool output;  /* marked */
	char *target; /* target= as nn_net_output gives it; NULL */
	bool weighted;
	double weight;

	bool shaped; /* input: a shape is given */
	struct nn_shape shape;
	bool lengths;   /* input: `?` is its first dimension, in shape the longest there may be */
	size_t longest; /* max= of it; 0: as the data say */
	char **columns; /* columns= of an input, target= of a layer */
	size_t n_columns;
	char **crosses; /* cross= of an input: lists of columns as nn_net_input gives them */
	size_t n_crosses;
	size_t hash; /* 0: not given */
	bool index;

	size_t rounds; /* repeat */
	size_t end;    /* repeat: the statement of its brace */
};

/* A line of the canonical text. */
struct nn_net_entry {
	const struct nn_statement *statement;
	char *name; /* NULL: none */
	int *from;  /* lines */
	int n_from;
	int number; /* layers: from 0; input lines: -1 */
	bool used;  /* by a later line */
	int output; /* its number, -1: none */
	char number_text[8];
	size_t size;           /* what stands for `?` */
	size_t rows;           /* of the table, where the line does not say */
	struct nn_shape shape; /* after resolving */
	int value;
};

/* As its tensors are named: its name, else its number. */
static inline const char *nn_net_entry_name(const struct nn_net_entry *line)
{
	return line->name ? line->name : line->number_text;
}

struct nn_names;

struct nn_net {
	char *place;
	enum nn_code code; /* of errors in the text */
	struct nn_statement *statements;
	size_t n_statements, statements_room;
	struct nn_statement implied; /* the input line that was left out */
	struct nn_net_entry *lines;
	int n_lines, lines_room;
	int n_layers;
	int *layer_lines; /* line of layer i */
	size_t n_links;

	struct nn_net_input *inputs;
	int *input_lines;
	size_t n_inputs;
	struct nn_net_output *outputs;
	int *output_lines;
	size_t n_outputs;

	struct nn_program *program;
	struct nn_text text;
};

/* statement.c: all statements of the text. */
int nn_net_read(struct nn_net *net, const char *text, size_t n, bool is_inline,
		struct nn_error *err);
void nn_statement_fini(struct nn_statement *statement);
/*
 * The layer that is meant by a word that is none's name: by another tool's name, in other letters,
 * "Linear(16)", or misspelt; NULL: none.
 */
const char *nn_layer_meant(const char *word, size_t length);

/*
 * category.c: what stands at an input line whose values are numbers of categories, and who may take
 * those.
 */
int nn_input_hash(const struct nn_net *net, struct nn_statement *statement,
		  const struct nn_word *value, struct nn_error *err);
int nn_input_index(const struct nn_net *net, struct nn_statement *statement,
		   const struct nn_word *value, struct nn_error *err);
int nn_input_cross(const struct nn_net *net, struct nn_statement *statement,
		   const struct nn_word *value, struct nn_error *err);
int nn_net_check_categories(const struct nn_net *net, struct nn_error *err);
/* Does an embedding take the values of input line `line`? */
bool nn_net_has_categories(const struct nn_net *net, int line);
/* The least rows= of the layers that take it, 0: none. */
size_t nn_net_least_rows(const struct nn_net *net, int line);
/*
 * Set line->rows of a layer that counts its input; fails where its own rows are fewer. any: the
 * rows may be unknown.
 */
int nn_net_entry_count(const struct nn_net *net, struct nn_net_entry *line, bool any,
		       struct nn_error *err);
/* length.c: max= of an input line, and whether one of its rows has no length of its own. */
int nn_input_max(const struct nn_net *net, struct nn_statement *statement,
		 const struct nn_word *value, struct nn_error *err);
int nn_input_shape(const struct nn_net *net, struct nn_statement *statement,
		   const struct nn_word *word, struct nn_error *err);
int nn_net_check_lengths(const struct nn_net *net, struct nn_error *err);
/* The keys of an input line as canonical text has them. */
void nn_print_categories(const struct nn_statement *statement, struct nn_text *text);

/* expand.c: repeats written out, from= found. */
int nn_net_expand(struct nn_net *net, struct nn_error *err);

/* resolve.c: do the shapes fit, as far as the text alone can tell? */
int nn_net_try(struct nn_net *net, struct nn_error *err);

/* canonical.c: the text of a resolved net into net->text. */
int nn_net_print(struct nn_net *net, struct nn_error *err);

/* Arguments that the text does not give get what Keras takes for them; to be resolved again. */
void nn_net_take_keras(struct nn_net *net);

/* argument.c: a copy of the layer's struct with what stands for `?`; nn_free. */
void *nn_net_entry_values(const struct nn_net_entry *line, struct nn_error *err);

/* fail.c: fail with "PLACE:LINE: LAYER: ..." for a statement. */
int nn_statement_fail(const struct nn_net *net, const struct nn_statement *statement,
		      struct nn_error *err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same around an error from below; running out of memory stays as it is. */
int nn_statement_fail_below(const struct nn_net *net, const struct nn_statement *statement,
			    struct nn_error *err, const struct nn_error *below);

/* key.c: a word KEY=VALUE. given: the bits of keys seen so far, to find what stands twice. */
int nn_statement_key(const struct nn_net *net, struct nn_statement *statement,
		     const struct nn_word *word, const char *equals, unsigned *given,
		     struct nn_error *err);

/*
 * file.c: as nn_model_file_read, from tensors that were read, with the net of a text (NULL:
 * nn.model's; as is not read then). st and net belong to the file, or are freed on failure.
 */
int nn_model_file_take(struct nn_model_file **file, struct nn_st *st, const char *path,
		       struct nn_net *net, const struct nn_weights_as *as, struct nn_error *err);

/* names.c: a map from names to lines. */
int nn_names_new(struct nn_names **names, struct nn_error *err);
void nn_names_free(struct nn_names *names);
int nn_names_find(const struct nn_names *names, const char *name); /* -1: not there */
int nn_names_set(struct nn_names *names, const char *name, int line,
		 struct nn_error *err);                 /* name is borrowed */
const char *nn_names_next(const void *names, size_t i); /* for nn_did_you_mean */

#endif
