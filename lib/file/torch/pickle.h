/*
 * Pickles of PyTorch's state_dicts, read by a closed machine: about thirty opcodes of protocol 2,
 * a handful of known names, and no call of anything.
 */
#ifndef NN_FILE_PICKLE_H
#define NN_FILE_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum nn_pickle_kind {
	NN_PICKLE_NONE,
	NN_PICKLE_BOOL,
	NN_PICKLE_INT,
	NN_PICKLE_FLOAT,
	NN_PICKLE_STRING,
	NN_PICKLE_LIST, /* tuples too */
	NN_PICKLE_DICT,
	NN_PICKLE_NAME,    /* MODULE.NAME that is known: value i is the `what` of its row */
	NN_PICKLE_STORAGE, /* a persistent id: items as in its tuple */
	NN_PICKLE_TENSOR,  /* items: the arguments of _rebuild_tensor_v2 */
};

/* A value; items are a chain from first on, 0: none. Lists have values, dicts keys too. */
struct nn_pickle_value {
	enum nn_pickle_kind kind;
	uint32_t first, last, n; /* n: of items, or bytes of a string */
	union {
		int64_t i;
		double f;
		const char *text; /* not terminated; borrowed from the bytes */
	};
};
struct nn_pickle_item {
	uint32_t key, value, next;
};

struct nn_pickle {
	struct nn_pickle_value *values;
	struct nn_pickle_item *items; /* item 0 is none */
	uint32_t n_values, n_items;
	uint32_t top; /* the value that the pickle holds */
};

/* Names that a pickle may speak of: what they make of their arguments when they are "called". */
enum nn_pickle_what {
	NN_PICKLE_MAKES_DICT,
	NN_PICKLE_MAKES_TENSOR,
	NN_PICKLE_MAKES_SAME,
	NN_PICKLE_WORD
};
struct nn_pickle_name {
	const char *module, *name;
	enum nn_pickle_what what;
};

/*
 * Names end with a row of NULL; a value of kind NAME has the number of its row. bytes stay
 * borrowed. Errors do not name the file. Memory: as many values and items as
 * NN_LIMIT_PICKLE_VALUES.
 */
int nn_pickle_read(struct nn_pickle *pickle, const void *bytes, size_t n,
		   const struct nn_pickle_name *names, struct nn_error *err);
void nn_pickle_free(struct nn_pickle *pickle);

/* Item i of a list or tuple; NULL: it has fewer. */
const struct nn_pickle_value *nn_pickle_at(const struct nn_pickle *pickle,
					   const struct nn_pickle_value *list, uint32_t i);

#endif
