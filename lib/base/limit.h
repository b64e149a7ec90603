/*
 * Upper limits of readers: one table, and --limit=NAME=N for each of its rows.
 *
 * The values are the process's: --limit sets them while the command line is read, before anything
 * is opened and before there are threads; libnn's other callers have the defaults.
 */
#ifndef NN_BASE_LIMIT_H
#define NN_BASE_LIMIT_H

#include <stdint.h>
#include "base/error.h"

/*
 * NN_LIMIT(id, name, default, the most that the option takes, both as strings too, the unit in
 * messages, what it bounds). Without a unit it is a size in bytes.
 */
#define NN_LIMITS(NN_LIMIT)                                                                        \
	NN_LIMIT(LINE, "line", 1 << 24, 1 << 30, "16M", "1G", NULL,                                \
		 "bytes of a line of a table or of JSON lines")                                    \
	NN_LIMIT(FIELD, "field", 1 << 20, 1 << 30, "1M", "1G", NULL, "bytes of a field of a table")  \
	NN_LIMIT(COLUMNS, "columns", 1000000, 10000000, "1000000", "10000000", " columns",         \
		 "columns of a table")                                                             \
	NN_LIMIT(DEPTH, "depth", 100, 1000, "100", "1000", " deep",                                \
		 "arrays and objects inside each other in JSON")                                   \
	NN_LIMIT(RATIO, "ratio", 1100, 1000000, "1100", "1000000", " times its size",              \
		 "how many times its size a file decompresses to")                                 \
	/* `xz -9` wants 65 MiB to be read; nothing that xz writes by itself wants more. */          \
	NN_LIMIT(XZ_MEMORY, "xz-memory", 1 << 28, UINT64_C(1) << 32, "256M", "4G", NULL,           \
		 "bytes of memory that decompressing xz takes")                                    \
	NN_LIMIT(SIDE, "side", 16384, 65500, "16384", "65500", " pixels",                          \
		 "height and width of a picture in pixels")                                        \
	NN_LIMIT(PIXELS, "pixels", 1 << 28, 1 << 30, "268435456", "1073741824", " pixels in all",  \
		 "height times width of a picture")                                                \
	NN_LIMIT(MEMBER, "member", 1 << 28, 1 << 30, "256M", "1G", NULL,                           \
		 "bytes of a file of a folder or a member of a tar")                               \
	NN_LIMIT(MODEL_TEXT, "model-text", 1 << 24, 1 << 28, "16M", "256M", NULL,                  \
		 "bytes of the text of a model")                                                   \
	NN_LIMIT(LAYERS, "layers", 100000, 1000000, "100000", "1000000", " layers",                \
		 "layers of a model, repeats written out")                                         \
	NN_LIMIT(CLASSES, "classes", 1000000, 10000000, "1000000", "10000000", " labels",          \
		 "labels of --classes")                                                            \
	NN_LIMIT(WORDS, "words", 1 << 28, 1 << 30, "268435456", "1073741824", " different values", \
		 "different values of text columns and labels")                                    \
	/* a value takes 56 bytes beside its text */                                                 \
	NN_LIMIT(JSON_VALUES, "json-values", 1 << 22, 1 << 28, "4194304", "268435456", " values",  \
		 "values of a text in JSON, as of a safetensors header")                           \
	/* a tensor of a state_dict takes some 150 bytes and 20 values */                            \
	NN_LIMIT(PICKLE, "pickle", 1 << 26, 1 << 30, "64M", "1G", NULL,                            \
		 "bytes of the pickle of a PyTorch file")                                          \
	NN_LIMIT(PICKLE_VALUES, "pickle-values", 1 << 22, 1 << 28, "4194304", "268435456",         \
		 " values", "values of the pickle of a PyTorch file")                              \
	NN_LIMIT(VIEWS, "views", 16, 1000000, "16", "1000000", " times its size",                  \
		 "how many times its size the views of a PyTorch file hold")                       \
	NN_LIMIT(NODES, "nodes", 1000000, 10000000, "1000000", "10000000", " nodes",               \
		 "nodes of an ONNX graph")                                                         \
	NN_LIMIT(TENSORS, "tensors", 1000000, 10000000, "1000000", "10000000", " tensors",         \
		 "tensors of an ONNX graph")

enum nn_limit_id {
#define NN_LIMIT(id, ...) NN_LIMIT_##id,
	NN_LIMITS(NN_LIMIT)
#undef NN_LIMIT
		NN_N_LIMITS
};

extern uint64_t nn_limit_values[NN_N_LIMITS]; /* private to limit.c and nn_limit */

static inline size_t nn_limit(enum nn_limit_id id)
{
	return (size_t)nn_limit_values[id];
}

/* "NAME=N", which may end in K, M or G: sets it. */
int nn_limit_set(const char *text, struct nn_error *err);

/*
 * For messages: the limit with its unit and the option that takes `found`, as in
 * "16 MiB (--limit=line=32M)"; found 0: what was found is not known, then twice the limit. Returns
 * text.
 */
#define NN_LIMIT_TEXT 128
const char *nn_limit_said(enum nn_limit_id id, uint64_t found, char text[NN_LIMIT_TEXT]);
/* The option alone: "--limit=line=32M". */
const char *nn_limit_option(enum nn_limit_id id, uint64_t found, char text[NN_LIMIT_TEXT]);

#endif
