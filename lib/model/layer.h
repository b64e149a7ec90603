/*
 * A layer is a row: name, arguments, what it means, and how it becomes ops. Parsing, canonical text
 * and nn-layers(7) read it.
 */
#ifndef NN_MODEL_LAYER_H
#define NN_MODEL_LAYER_H

#include "base/text.h"
#include "op/program.h"

enum nn_arg_type {
	NN_ARG_SIZE,   /* size_t within [min, max] */
	NN_ARG_PAIR,   /* size_t[2], height and width: AxB, or A for both */
	NN_ARG_SHAPE,  /* struct nn_shape: AxBx... */
	NN_ARG_INDEX,  /* int within [min, max] */
	NN_ARG_REAL,   /* double within [min, max] */
	NN_ARG_YESNO,  /* bool */
	NN_ARG_CHOICE, /* int: index into choices */
};

/* The most that a size in a model may be. */
#define NN_ARG_MAX 2147483647.0

struct nn_layer_arg {
	const char *name; /* "OUT": by place; "pad": by key; NULL ends the list */
	enum nn_arg_type type;
	size_t offset;        /* of the value in the layer's struct */
	const char *fallback; /* the default as the user would type it; NULL: required, or `like` */
	const char *like;     /* the default is the value of this argument before it */
	const char *keras;    /* the default of weights that come from Keras; NULL: the same */
	double min, max;      /* bounds of numbers */
	const char *const *choices; /* NULL-terminated */
	const char *help;           /* one sentence */
	bool open;                  /* a size: `?` is allowed in an output line; held as 0 */
	bool below;                 /* max itself is not allowed */
	bool above;                 /* min itself is not allowed */
	bool cross;                 /* a pair: canonical text has AxB for equal ones too */
	bool common;                /* a size that is the same on all lines of the layer */
	bool always;                /* canonical text has it even when it is the default */
	bool counted; /* a size that the line's input says where the line does not; held as 0 */
	bool none;    /* a size: the word `none` is allowed, held as SIZE_MAX */
};

/* One line on its way into a program. */
struct nn_expansion {
	struct nn_program *program;
	const int *in; /* values */
	int n_in;
	const char *prefix; /* of its parameters: the line's name or number */
	int line;           /* canonical line number */
};

struct nn_layer {
	const char *name;
	const char *also;  /* what others call it, in lower case, for hints: "linear,fc"; or NULL */
	const char *brief; /* one sentence */
	const char *shapes;              /* "C,H,W to C", or NULL: the shape stays */
	const char *more;                /* further sentences for the page, or NULL */
	const struct nn_layer_arg *args; /* NULL: none */
	size_t size;                     /* of the layer's struct */
	int min_in, max_in;              /* inputs; max_in 0: any number */
	/*
	 * Append the line's ops; the output value, or -1 with an error that does not name line and
	 * layer.
	 */
	int (*expand)(const struct nn_expansion *line, const void *values, struct nn_error *err);
};

#define NN_LAYER(id) extern const struct nn_layer nn_layer_##id;
#include "model/layers.def"
#undef NN_LAYER

/* Layer i of the table, NULL after the last. */
const struct nn_layer *nn_layer_at(size_t i);
/* The layer of that name, or NULL. */
const struct nn_layer *nn_layer_find(const char *name, size_t n);
/* The form of a line: "conv2d OUT KxK stride=1 ...". */
void nn_layer_form(const struct nn_layer *layer, struct nn_text *text);

/* The whole line is one op with these attributes. */
int nn_expand_op(const struct nn_expansion *line, enum nn_op_id op, const void *attrs,
		 struct nn_error *err);

/* The same over C,L, which is an image of height 1 inside; the output is C',L', or a vector. */
int nn_expand_line(const struct nn_expansion *line, enum nn_op_id op, const void *attrs,
		   struct nn_error *err);
/* nn_expand_line where the input has two dimensions, else nn_expand_op. */
int nn_expand_image(const struct nn_expansion *line, enum nn_op_id op, const void *attrs,
		    struct nn_error *err);

/* ---- arguments (argument.c) ---- */

bool nn_arg_by_place(const struct nn_layer_arg *arg);
/* Defaults of all that have one; the rest is zero. */
void nn_args_default(const struct nn_layer *layer, void *values);
/*
 * After the last word: what is still missing is copied from its `like`. given: bit i for argument
 * i.
 */
void nn_args_complete(const struct nn_layer *layer, void *values, unsigned given);
/* Read one value; errors say what is allowed. */
int nn_arg_parse(const struct nn_layer_arg *arg, const char *text, size_t n, void *values,
		 struct nn_error *err);
/* " OUT KxK key=value ..." without defaults. */
void nn_args_print(const struct nn_layer *layer, const void *values, struct nn_text *text);
/*
 * AxBx...: false if it is none, or of more than NN_MAX_RANK dimensions, or one exceeds NN_ARG_MAX.
 */
bool nn_parse_dims(const char *text, size_t n, size_t *dims, int *rank);

#endif
