/*
 * --augment: pictures changed at random as they go into a batch of a training, each epoch in another way, and the
 * masks and pictures that are their targets with them. What is drawn for a sample depends on the seed, the epoch
 * and the number of the sample alone (Philox, index epoch 2^40 + number, NN_STREAM_AUGMENT; noise
 * NN_STREAM_NOISE), so not on who fills the batch, and in what pieces.
 */
#ifndef NN_DATA_AUGMENT_H
#define NN_DATA_AUGMENT_H

#include "data/data.h"
#include "data/schema/schema.h"

struct nn_augment;
struct nn_batch;

/* Is it a list of these? NN_EUSAGE. */
int nn_augment_check(const char *list, struct nn_error *err);

/* What inputs are, and what targets are at their outputs. */
struct nn_augment_target {
	struct nn_shape output; /* CxHxW of a class or numbers for each pixel */
	bool classes;
	size_t size; /* values of a row */
};
struct nn_augment_options {
	const char *list; /* of --augment */
	const struct nn_input_schema *inputs;
	size_t n_inputs;
	const struct nn_augment_target *targets; /* [n_targets] */
	size_t n_targets;
	enum nn_dtype dtype; /* of batches */
	uint64_t seed;
};
/* NN_EUSAGE where data are no pictures, or targets cannot be changed so. */
int nn_augment_new(struct nn_augment **augment, const struct nn_augment_options *options,
		   struct nn_error *err);
void nn_augment_free(struct nn_augment *augment); /* NULL allowed */

/* Are there pixels outside of masks, which have no class? NULL: no. */
bool nn_augment_masks(const struct nn_augment *augment, size_t target);
/* Do classes become probabilities, as many as the output has values? NULL: no. */
bool nn_augment_mixes(const struct nn_augment *augment);
/* As nn_dataset_target_classes and _size, of batches that are changed; augment NULL: as the data are. */
bool nn_augment_classes(const struct nn_augment *augment, const struct nn_dataset *dataset,
			size_t target);
size_t nn_augment_target_size(const struct nn_augment *augment, const struct nn_dataset *dataset,
			      size_t target);
/* --augment=; NULL: none. */
const char *nn_augment_list(const struct nn_augment *augment);

/*
 * Change rows `from` and on of a batch that has one, n of them, where they lie; and give their targets, in place of
 * the source's.
 */
int nn_augment_input(const struct nn_batch *batch, size_t input, size_t from, size_t n,
		     bool channels_last, void *values, struct nn_error *err);
int nn_augment_fill_target(const struct nn_batch *batch, size_t target, size_t from, size_t n,
			   void *values, struct nn_error *err);

#endif
