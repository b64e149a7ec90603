/*
 * A graph on its way into the language: values by name, nodes in order, the lines there are so far.
 *
 * A value is a constant, or rows: what a line gives for each sample, whose shape is known without
 * that of the rows: the first one, but between the transposes that exporters put around recurrent
 * layers. Two things about rows wait until somebody takes them, for what follows may
 * make them unneeded: another shape (held differs from shape), and a scale and shift per feature.
 */
#ifndef NN_ONNX_GRAPH_H
#define NN_ONNX_GRAPH_H

#include "base/text.h"
#include "model/net.h"
#include "onnx/constant.h"

struct nn_json;

/* A scale and shift that no line stands for yet: v * scale[i] + shift[i] for feature i of n. */
struct nn_onnx_affine {
	size_t n;
	double *scale, *shift;
};

struct nn_onnx_value {
	const char *name;
	const struct nn_onnx_constant *constant; /* NULL: rows */
	bool known;                              /* what gives it has been imported */
	struct nn_shape shape;                   /* of a row, as the graph says */
	int rows;                                /* the dimension of the rows there */
	struct nn_shape held;                    /* of the line's output: as many elements */
	struct nn_onnx_affine affine;            /* n 0: none; freed with the values */
	bool matched;                            /* its scale was the one of our own metadata */
	int line;                                /* of rows */
	int node;                                /* that gives it; -1: none */
	int uses;                                /* by nodes that matter and by outputs */
	bool output;                             /* of the graph */
	int first_use, last_use;                 /* nodes among them; -1: none */
};

/* Several nodes that are one layer, found before import (match.c): the last of them stands for it.
 */
struct nn_onnx_match {
	const char *layer;    /* "layernorm", "gelu", "silu"; NULL: the node is what it says */
	int in, weight, bias; /* values; -1: none */
	double eps;
};

struct nn_onnx_node {
	const Onnx__Node *proto;
	int *in, *out; /* values; -1: left out */
	bool live;     /* something that comes out of the graph depends on it */
	bool inside;   /* of a match, and not its last */
	struct nn_onnx_match match;
};

struct nn_onnx_parameter {
	int line;
	const char *name; /* "weight" */
	const struct nn_onnx_constant *constant;
	struct nn_shape shape; /* as the layer has it */
};

struct nn_onnx_line {
	char *name; /* NULL: none (yet) */
	char *text; /* "conv2d 4 3x3" */
	int *from, n_from;
	int input;   /* number of the graph's input, -1: a layer */
	int number;  /* of a layer, from 0 */
	int bare;    /* a product without a bias: the dimension of its features, from the last, 1 */
	bool output; /* of several */
	size_t out;  /* of a product: its features */
	bool joined; /* into the line behind it: a sum or product of more than two */
	int n_uses;  /* by other lines */
};

struct nn_onnx_graph {
	struct nn_onnx_file *file;
	int64_t opset;
	struct nn_names *names;
	struct nn_onnx_value *values;
	int n_values;
	struct nn_onnx_node *nodes;
	int n_nodes;
	int *ids; /* of all nodes' in and out */
	struct nn_onnx_line *lines;
	int n_lines, lines_room, n_layers;
	struct nn_onnx_parameter *parameters;
	size_t n_parameters, parameters_room;
	struct nn_onnx_constant *constants;       /* a list, owned */
	struct nn_json *input_json, *target_json; /* of our own metadata; NULL: none */
};

/* graph.c: values and nodes of the file; which matter, and that none comes before its inputs. */
int nn_onnx_graph_open(struct nn_onnx_graph *g, struct nn_onnx_file *file,
		       struct nn_error *err);
void nn_onnx_graph_close(struct nn_onnx_graph *g);
/* A constant that belongs to the graph; NULL: out of memory. */
struct nn_onnx_constant *nn_onnx_constant_new(struct nn_onnx_graph *g, struct nn_error *err);
/* Metadata of the model, or NULL. */
const char *nn_onnx_meta(const struct nn_onnx_graph *g, const char *key);

/* attribute.c: of a node; the fallback where it has none. Types were checked. */
int nn_onnx_attributes_check(const Onnx__Node *node, struct nn_error *err);
const Onnx__Attribute *nn_onnx_attribute(const Onnx__Node *node, const char *name);
int64_t nn_onnx_int(const Onnx__Node *node, const char *name, int64_t fallback);
double nn_onnx_float(const Onnx__Node *node, const char *name, double fallback);
bool nn_onnx_string_is(const Onnx__Node *node, const char *name, const char *text, bool fallback);
/* The value of input i of a node, NULL where it is left out; a constant, or an error. */
struct nn_onnx_value *nn_onnx_in(const struct nn_onnx_graph *g, const struct nn_onnx_node *node,
				 size_t i);
int nn_onnx_in_constant(const struct nn_onnx_graph *g, const struct nn_onnx_node *node, size_t i,
			const struct nn_onnx_constant **c, struct nn_error *err);
/* Rows, or an error; they may be another dimension than the first (rows). */
int nn_onnx_in_rows(const struct nn_onnx_graph *g, const struct nn_onnx_node *node, size_t i,
		    struct nn_onnx_value **rows, struct nn_error *err);
/*
 * An axis of rows from one of the graph's values with `rank` + 1 dimensions; an error where it is
 * none, or the rows' own.
 */
int nn_onnx_axis(int64_t axis, int rank, int *dim, struct nn_error *err);
/* The same of rows that may be another dimension. */
int nn_onnx_axis_of(const struct nn_onnx_value *rows, int64_t axis, int *dim, struct nn_error *err);

/* match.c: layers that are written as several nodes. */
void nn_onnx_match(struct nn_onnx_graph *g);

/*
 * line.c: the lines of the text. The line whose output is v, as its shape says and with its scale;
 * -1: out of memory.
 */
int nn_onnx_line_of(struct nn_onnx_graph *g, struct nn_onnx_value *v, struct nn_error *err);
/* The same without a change of shape. */
int nn_onnx_scaled(struct nn_onnx_graph *g, struct nn_onnx_value *v, struct nn_error *err);
/* A new line after `from`, named after a parameter or a node (NULL: neither). */
int nn_onnx_add_line(struct nn_onnx_graph *g, const int *from, int n_from, const char *parameter,
		     const Onnx__Node *node, struct nn_error *err, const char *format, ...)
	__attribute__((format(printf, 7, 8)));
/* A line that takes one value and gives `out` of that shape. */
int nn_onnx_layer(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		  struct nn_onnx_value *from, const struct nn_shape *shape, struct nn_error *err,
		  const char *text);
/* The output of node becomes rows that `line` gives, of a shape. */
void nn_onnx_give(struct nn_onnx_graph *g, const struct nn_onnx_node *node, int line,
		  const struct nn_shape *shape);
/* Output k of it, of which the line's output is `held`. */
void nn_onnx_give_held(struct nn_onnx_graph *g, const struct nn_onnx_node *node, size_t k, int line,
		       const struct nn_shape *shape, const struct nn_shape *held);
/* Output of node is `from` itself, in another shape of as many elements. */
int nn_onnx_pass(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		 struct nn_onnx_value *from, const struct nn_shape *shape, struct nn_error *err);
int nn_onnx_add_parameter(struct nn_onnx_graph *g, int line, const char *name,
			  const struct nn_onnx_constant *constant, const struct nn_shape *shape,
			  struct nn_error *err);
/* Input line of the graph's input. */
int nn_onnx_add_input(struct nn_onnx_graph *g, int input, struct nn_onnx_value *v, bool only,
		      struct nn_error *err);

/*
 * affine.c: v * scale + shift into the node's output, where `constant` is one of them for each
 * feature; sign: of the constant, inverse: v is divided by it.
 */
enum nn_onnx_affine_kind {
	NN_ONNX_ADDED,
	NN_ONNX_SUBTRACTED,
	NN_ONNX_SUBTRACTED_FROM,
	NN_ONNX_MULTIPLIED,
	NN_ONNX_DIVIDED
};
int nn_onnx_affine(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		   struct nn_onnx_value *v, const struct nn_onnx_constant *constant,
		   enum nn_onnx_affine_kind kind, struct nn_error *err);
/* A line for what waits. */
int nn_onnx_affine_settle(struct nn_onnx_graph *g, struct nn_onnx_value *v, struct nn_error *err);

/*
 * scale.c: the scale that waits at an input or output of the graph, and the one that our own
 * metadata give; *same: they are one, and no line is needed.
 */
int nn_onnx_input_scale(const struct nn_onnx_graph *g, int input, const struct nn_onnx_value *v,
			bool *same, struct nn_error *err);
int nn_onnx_output_scale(const struct nn_onnx_graph *g, int output, const struct nn_onnx_value *v,
			 bool *same, struct nn_error *err);
/* What nn.input or nn.target (NULL: absent) say of `count` values; false: no scale. */
bool nn_onnx_input_scales(const struct nn_json *json, int input, size_t count, double *mean,
			  double *sd);
bool nn_onnx_output_scales(const struct nn_json *json, int output, size_t count, double *mean,
			   double *sd);

/* fold.c: a node of constants alone, or that asks for a shape; *done: it was one. */
int nn_onnx_fold(struct nn_onnx_graph *g, const struct nn_onnx_node *node, bool *done,
		 struct nn_error *err);

/*
 * text.c: names of lines, their text, and the tensors, as a model file would have them: those of
 * the file stay in its block of weights, which goes with them.
 */
int nn_onnx_graph_write(struct nn_onnx_graph *g, struct nn_onnx_skeleton *weights,
			struct nn_st **st, struct nn_error *err);

#endif
