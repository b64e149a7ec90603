/* Names of tensors as frameworks give them, and what they say. */
#ifndef NN_MODEL_WEIGHT_NAME_H
#define NN_MODEL_WEIGHT_NAME_H

#include "model/weights.h"

struct nn_weight_name {
	const struct nn_st_tensor *tensor;
	char *text;       /* "dense.kernel" as ours are named: "dense.weight"; owned */
	size_t prefix;    /* bytes of text before the dot of a role; all, where it has none */
	const char *role; /* "weight", "bias", "running_mean", "running_var"; NULL: another word */
	enum nn_weights_layout layout; /* that the word implies */
};

/*
 * All tensors but counters and seeds, which no prediction reads, in order of their texts.
 * nn_weight_names_free.
 */
struct nn_weight_names {
	struct nn_weight_name *names;
	size_t n;
};
int nn_weight_names_read(struct nn_weight_names *names, const struct nn_st *st, const char *place,
			 struct nn_error *err);
void nn_weight_names_free(struct nn_weight_names *names);
/*
 * Take off the first part of all names, up to its dot, where they share it; false: they do not, or
 * nothing would be left.
 */
bool nn_weight_names_strip(struct nn_weight_names *names);
const struct nn_weight_name *nn_weight_names_find(const struct nn_weight_names *names,
						  const char *text);
/* "W 2x3, b 2", cut after some. */
void nn_weight_names_list(const struct nn_weight_names *names, struct nn_text *text);

#endif
