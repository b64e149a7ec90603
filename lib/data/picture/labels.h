/* Labels of pictures as texts, and classes made of them once all are known. */
#ifndef NN_DATA_PICTURE_LABELS_H
#define NN_DATA_PICTURE_LABELS_H

#include "data/dataset.h"

struct nn_picture_labels {
	struct nn_words *words; /* borrowed of the coding */
	struct nn_block ids;    /* int32: the text of each row */
	size_t rows;
	bool told; /* each is from .cls or .json, so integers are numbers of classes */
};

/* label NULL: an error that names place. */
int nn_picture_labels_add(struct nn_picture_labels *labels, struct nn_coding *coding,
			  const char *label, bool told, const char *place, struct nn_error *err);
/* The classes of all rows become the dataset's target. want NULL: as the schema says. */
int nn_picture_labels_set(struct nn_picture_labels *labels, struct nn_dataset *ds,
			  const char *place, const struct nn_want_target *want,
			  struct nn_error *err);
void nn_picture_labels_fini(struct nn_picture_labels *labels);

#endif
