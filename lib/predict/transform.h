/*
 * Between values as callers give them and tensors as graphs hold them. An input: numbers (value -
 * mean) / sd, images channels last. An output: language order, numbers * sd + mean.
 */
#ifndef NN_PREDICT_TRANSFORM_H
#define NN_PREDICT_TRANSFORM_H

#include "data/schema/schema.h"

struct nn_transform {
	size_t size;                /* values per row */
	size_t channels, positions; /* channels last inside; channels 0: held as given */
	void *mean, *sd;            /* real [size] or NULL */
	void *missing;              /* real [size]: what nan becomes before that, or NULL */
	enum nn_dtype dtype;        /* of the graph */
};

/*
 * For rows of a shape; schema NULL: nothing is known of them. channels_last: C,H,W is held H,W,C,
 * as outputs always are. On failure, too, free what was made.
 */
int nn_transform_input(struct nn_transform *transform, const struct nn_shape *shape,
		       bool channels_last, const struct nn_input_schema *schema,
		       enum nn_dtype dtype, struct nn_error *err);
int nn_transform_output(struct nn_transform *transform, const struct nn_shape *shape,
			const struct nn_target_schema *schema, enum nn_dtype dtype,
			struct nn_error *err);
void nn_transform_fini(struct nn_transform *transform);
/* Are values of that type held as they are given, so that nothing has to be done? */
bool nn_transform_is_identity(const struct nn_transform *transform, enum nn_dtype dtype);
/*
 * rows x size of `from` (f32 or f64) into an input, and of a raw output (nn_graph_output) to `to`.
 */
void nn_transform_in(const struct nn_transform *transform, const void *from, enum nn_dtype dtype,
		     size_t rows, void *real);
void nn_transform_out(const struct nn_transform *transform, const void *real, size_t rows, void *to,
		      enum nn_dtype dtype);

#endif
