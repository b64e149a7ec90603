/* Fields of a table as text, without a file around them, into a row as nn.h takes it. */
#ifndef NN_PREDICT_ENCODE_H
#define NN_PREDICT_ENCODE_H

#include <stdint.h>

#include "data/schema/schema.h"

struct nn_encoder;

/* The schema must outlive it. */
int nn_encoder_new(struct nn_encoder **encoder, const struct nn_schema *schema,
		   struct nn_error *err);
void nn_encoder_free(struct nn_encoder *encoder);
/* Fields of a row; their names, "" where the training data had none, NULL after the last. */
const char *nn_encoder_field(const struct nn_encoder *encoder, size_t field);
/* Is it a category, or hashed, in one use at least? Else it is a number. */
bool nn_encoder_field_is_text(const struct nn_encoder *encoder, size_t field);
/* Categories that the training data did not have: all zeros, or row -1 of an embedding. */
struct nn_encoder_unseen {
	uint64_t n;
	size_t field; /* of the last one */
};
/*
 * The values of all inputs, one after the other; any number of threads at once. What is unseen is
 * added to `unseen`, which may be NULL.
 */
int nn_encoder_row(const struct nn_encoder *encoder, const char *const *fields, float *row,
		   struct nn_encoder_unseen *unseen, struct nn_error *err);

#endif
