/* Class weights: as given, or so that every class counts the same. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "train/balance.h"

#define ROWS 1024 /* looked at together */

/* Targets of the training rows by class; ignored ones are left out. */
static int count_classes(const struct nn_train *t, int i, uint64_t *counts, struct nn_error *err)
{
	size_t size = nn_dataset_target_size(t->task.dataset, (size_t)i), n;
	struct nn_source source = nn_dataset_source(t->task.dataset);
	int32_t *classes;
	int status = 0;

	if (!nn_mul(size, ROWS, &n) || !(classes = nn_alloc(n, sizeof *classes, err)))
		return -1;
	for (uint64_t at = 0; status == 0 && at < t->task.n_rows; at += n) {
		n = t->task.n_rows - at < ROWS ? (size_t)(t->task.n_rows - at) : ROWS;
		status = source.ops->fill_target(source.data, (size_t)i, t->task.rows + at, n,
						 classes, err);
		for (size_t k = 0; status == 0 && k < n * size; k++)
			if (classes[k] >= 0 && classes[k] != t->task.losses[i].ignore)
				counts[classes[k]]++;
	}
	nn_free(classes);
	return status;
}

static int balance(const struct nn_train *t, int i, double *weights, size_t n_labels,
		   struct nn_error *err)
{
	uint64_t *counts = nn_alloc(n_labels, sizeof *counts, err), n = 0, present = 0;

	if (!counts || count_classes(t, i, counts, err) < 0) {
		nn_free(counts);
		return -1;
	}
	for (size_t c = 0; c < n_labels; c++) {
		n += counts[c];
		present += counts[c] > 0;
	}
	for (size_t c = 0; c < n_labels; c++)
		weights[c] = counts[c] ? (double)n / ((double)present * (double)counts[c]) : 1;
	nn_free(counts);
	return 0;
}

int nn_balance_take(struct nn_train *t, int i, struct nn_error *err)
{
	const char *text = t->options->class_weight;
	const struct nn_shape *shape =
		&t->task.program->values[t->task.program->outputs[i].value].shape;
	size_t n_labels = t->task.schema->targets[i].n_labels, columns = nn_shape_columns(shape);
	bool balanced = strcmp(text, "balanced") == 0;
	int n = balanced ? 0 : nn_parse_weights(text, NULL, err);

	if (n < 0)
		return -1;
	if (!balanced && (size_t)n != n_labels)
		return nn_fail(
			err, NN_EFAIL,
			"--class-weight: found %d weight%s, expected %zu, one for each class", n,
			nn_s(n), n_labels);
	if (!(t->task.class_weights[i] = nn_alloc(columns, sizeof(double), err)))
		return -1;
	for (size_t c = 0; c < columns; c++)
		t->task.class_weights[i][c] = 1; /* also of outputs that no label has */
	if (balanced ? balance(t, i, t->task.class_weights[i], n_labels, err) < 0
		     : nn_parse_weights(text, t->task.class_weights[i], err) < 0)
		return -1;
	t->task.losses[i].class_weights = t->task.class_weights[i];
	return 0;
}

void nn_balance_free(struct nn_train *t)
{
	for (int i = 0; t->task.class_weights && i < t->task.program->n_outputs; i++)
		nn_free(t->task.class_weights[i]);
	nn_free(t->task.class_weights);
	t->task.class_weights = NULL;
}
