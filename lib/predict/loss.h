/* The loss of an output: what it is, and its names. */
#ifndef NN_PREDICT_LOSS_H
#define NN_PREDICT_LOSS_H

#include "data/schema/schema.h"
#include "device/device.h"

/*
 * The loss a model is trained with, as nn.train keeps it under the option names: "loss",
 * "class-weight" (array), "ignore" (label).
 */
struct nn_loss_spec {
	enum nn_loss_kind kind;
	const double *class_weights; /* [n_labels] in label order, or NULL */
	int ignore; /* class that is masked (nn_schema_ignored); NN_CLASS_UNKNOWN: none */
};

/* The words of --loss in order of enum nn_loss_kind; NULL at the end. */
extern const char *const nn_loss_choices[];

/* The name as users type it, and back; NN_LOSS_AUTO: unknown. */
const char *nn_loss_name(enum nn_loss_kind kind);
enum nn_loss_kind nn_loss_find(const char *name);

/*
 * Targets of bce are probabilities: NN_EFORMAT says which of n rows of `size` values is none, by
 * its number in rows, or from `first` on where rows is NULL. NaN, which is missing, is no matter
 * here.
 */
struct nn_loss_rows {
	const char *place; /* the file */
	const uint64_t *rows;
	uint64_t first;
	size_t n, size;
};
int nn_loss_check_bce(const struct nn_loss_rows *rows, enum nn_dtype dtype, const void *targets,
		      struct nn_error *err);

#endif
