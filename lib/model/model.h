/* The description of a network: language, canonical text, program, and the model file. */
#ifndef NN_MODEL_MODEL_H
#define NN_MODEL_MODEL_H

#include "base/output.h"
#include "base/text.h"
#include "file/safetensors.h"
#include "op/program.h"

struct nn_net;

/*
 * Parse text; place is the file's name, or "-m" for inline text (is_inline: commas before white
 * space end lines too, and errors are NN_EUSAGE, in files NN_EFORMAT). Layer names, arguments,
 * from= and, where the text says the shape of every input, shapes are checked with "PLACE:LINE:
 * LAYER: ..." errors; else shapes come with nn_net_resolve.
 */
int nn_net_parse(struct nn_net **net, const char *place, const char *text, size_t n, bool is_inline,
		 struct nn_error *err);
void nn_net_free(struct nn_net *net);

/* What the text says of its inputs and outputs, before and after resolving. */
struct nn_net_input {
	const char *name;           /* NULL: the only one */
	bool shaped;                /* the text says its shape */
	struct nn_shape shape;      /* the text's, or after resolving */
	/* rows are of different length: of shape the first dimension is the longest; 0: not known */
	bool lengths;
	const char *const *columns; /* columns=a,b; NULL: all */
	size_t n_columns;
	bool vector; /* no input line and the first layer is dense: samples are taken as vectors */
	bool categories; /* an embedding takes it: its values are numbers of categories, from 0 */
	size_t hash;     /* number of buckets that values are hashed to; 0: they are not */
	bool index;      /* columns hold the numbers themselves */
	/*
	 * columns hashed together, each a list as target is below; with columns NULL there are no
	 * others
	 */
	const char *const *crosses;
	size_t n_crosses;
	size_t least; /* the least rows= of embeddings that take it; 0: none says it */
	size_t rows;  /* categories there are: hash, or what nn_net_give_rows said; 0: not known */
};
struct nn_net_output {
	const char *
		name; /* NULL: the only one; an unnamed one of several: its canonical line number */
	/*
	 * target=COLUMN,...; a column with a comma or quote stands in quotes ("" is a quote); NULL
	 */
	const char *target;
	double weight;
	bool open; /* its size is `?` */
	/*
	 * OUT of the dense or conv2d it comes from, through layers that keep the shape; 0: `?` or
	 * not known
	 */
	size_t size;
	struct nn_shape shape; /* after resolving */
	/* as long as its row is, of different length: after resolving, else as far as the text
	 * tells */
	bool steps;
};
size_t nn_net_n_inputs(const struct nn_net *net); /* at least 1 */
const struct nn_net_input *nn_net_input(const struct nn_net *net, size_t i);
size_t nn_net_n_outputs(const struct nn_net *net);
const struct nn_net_output *nn_net_output(const struct nn_net *net, size_t i);

/*
 * Give every input its shape and every `?` its size (sizes[n_outputs], 0 where not open): shapes,
 * program, canonical text. inputs NULL: as the text says; sizes NULL: nothing is open. A shaped
 * input takes samples of the same number of values. May be called again with other shapes; what the
 * functions below returned is then gone.
 */
int nn_net_resolve(struct nn_net *net, const struct nn_shape *inputs, const size_t *sizes,
		   struct nn_error *err);
const struct nn_program *nn_net_program(const struct nn_net *net); /* NULL before resolving */
/*
 * The number of categories of input i, by its data: rows of the embeddings that take it and do not
 * say rows=.
 */
void nn_net_give_rows(struct nn_net *net, size_t i, size_t rows);
const char *
nn_net_text(const struct nn_net *net); /* canonical, lines end in \n; NULL before resolving */

/* Canonical lines, numbered from 0 without input lines: what --explain lists and messages name. */
struct nn_net_line {
	const char *name;      /* as tensors are named: "enc1", or "3" */
	const char *layer;     /* "conv2d" */
	int source;            /* line of the text that was parsed */
	struct nn_shape shape; /* of its output, after resolving */
	int value; /* of the program, after resolving; layers without an op share their input's */
};
int nn_net_n_lines(const struct nn_net *net);
struct nn_net_line nn_net_line(const struct nn_net *net, int line);

/*
 * Initial values of all parameters (Philox; by default as PyTorch's layers), params[i]: canonical,
 * dtype f32 or f64; f32 values are the f64 ones rounded.
 */
int nn_net_init(const struct nn_net *net, uint64_t seed, enum nn_dtype dtype, void *const *params,
		struct nn_error *err);

/* Does `word` name a layer? (what -m takes for text) */
bool nn_is_layer(const char *word, size_t n);

/*
 * The parameters of a canonical line are kept as they are in training, statistics included, from
 * now until the net is resolved again. How many there are.
 */
int nn_net_freeze(struct nn_net *net, int line);

/* ---- the file ---- */

/*
 * Metadata: the version this program writes (a larger major is refused), and the key that marks a
 * training state.
 */
#define NN_MODEL_VERSION "1"
#define NN_META_STATE "nn.state"

struct nn_model_file {
	struct nn_st *st;
	struct nn_net *net; /* resolved from nn.model (or from text given instead) */
	const char *input_json, *target_json, *train_json; /* NULL: not there */
	enum nn_dtype dtype;  /* f32 or f64 of its weights (f16, bf16, int8 read as f32) */
	enum nn_dtype stored; /* of its weights in the file, NN_I8 with scales */
};

/* Of weights from elsewhere: their net, and how they are to be taken. */
enum nn_weights_layout {
	NN_WEIGHTS_AUTO,  /* as names and shapes say */
	NN_WEIGHTS_TORCH, /* dense [out,in], convolution [out,in,kh,kw] */
	NN_WEIGHTS_KERAS, /* [in,out], [kh,kw,in,out], behind a flattened picture channels last */
};
extern const char *const nn_weights_layouts[]; /* the words of an option, NULL after the last */
struct nn_weights_as {
	const char *text; /* what -m takes, see nn_net_open */
	enum nn_weights_layout layout;
	const struct nn_shape *sample; /* of the data, where text may not say it; NULL: not known */
};
/*
 * as NULL: nn.model must be in the file, and names and shapes of all tensors are checked. Else the
 * file gives weights only (model/weights.h): an open size or the length of input vectors may come
 * from them.
 */
int nn_model_file_read(struct nn_model_file **file, const char *path,
		       const struct nn_weights_as *as, struct nn_error *err);
/*
 * Of a model file as nn_model_file_read without `as`, values of the parameters alone that choose
 * marks in wanted[n_params], all false; -1 ends it. (Of an ONNX file all are read.)
 */
struct nn_params_choice {
	int (*choose)(void *arg, const struct nn_program *program, bool *wanted,
		      struct nn_error *err);
	void *arg;
};
int nn_model_file_read_some(struct nn_model_file **file, const char *path,
			    const struct nn_params_choice *choice, struct nn_error *err);
/*
 * Nobody needs the values any more: what is said of them stays. Until then large ones may be in the
 * file, which stays open.
 */
void nn_model_file_drop(struct nn_model_file *file);
void nn_model_file_free(struct nn_model_file *file);
/* params[i]: canonical, program order, dtype; NULL: not asked for */
int nn_model_file_params(const struct nn_model_file *file, enum nn_dtype dtype, void *const *params,
			 struct nn_error *err);
/*
 * Values [first, first + n) of a parameter, canonical: where they lie, if they are of that type and
 * in memory, else read and converted into room; from several threads too. NULL: they cannot be, or
 * do not lie so and there is no room.
 */
const void *nn_model_file_some(const struct nn_model_file *file, enum nn_dtype dtype, int param,
			       size_t first, size_t n, void *room, struct nn_error *err);
/*
 * What -m takes: an existing file (model text or a model file), else text where the operand holds a
 * blank or is a layer's name; else NN_EUSAGE "no such file". Sets one of *net and *file, the other
 * to NULL.
 */
int nn_net_open(struct nn_net **net, struct nn_model_file **file, const char *operand,
		struct nn_error *err);
/* What of that the command line alone tells, for --dry-run: a file that is there is not read. */
int nn_net_check(const char *operand, struct nn_error *err);
/*
 * dtype: of the values in the file, also f16, bf16 or NN_I8 (model/stored.h); params are of
 * nn_dtype_computed(dtype).
 */
int nn_model_file_write(struct nn_output *output, const struct nn_net *net, enum nn_dtype dtype,
			const void *const *params, const char *input_json, const char *target_json,
			const char *train_json, struct nn_error *err);

/*
 * Memory for all parameters of a program, one allocation: params[i] canonical. Free with
 * nn_free(params).
 */
void **nn_params_new(const struct nn_program *program, enum nn_dtype dtype, struct nn_error *err);
/*
 * counts[i] elements of each, NULL where that is 0; counts NULL: all of all. What fills or copies
 * parameters leaves NULL ones out.
 */
void **nn_params_some(const struct nn_program *program, enum nn_dtype dtype, const size_t *counts,
		      struct nn_error *err);
void nn_params_copy(const struct nn_program *program, enum nn_dtype dtype, const size_t *counts,
		    void **to, void *const *from);

#endif
