/*
 * Named tensors in memory, in order of their names: what safetensors, .npz and sets of .npy files
 * are read into.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "file/convert.h"
#include "file/safetensors.h"

int nn_st_reserve(struct nn_st *st, size_t n, struct nn_error *err)
{
	st->tensors = nn_alloc(n, sizeof *st->tensors, err);
	st->arrays = nn_alloc(n, sizeof *st->arrays, err);
	st->names = nn_alloc(n, sizeof *st->names, err);
	return st->tensors && st->arrays && st->names ? 0 : -1;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct nn_st_tensor *)a)->name,
		      ((const struct nn_st_tensor *)b)->name);
}

const char *nn_st_sort(struct nn_st_tensor *tensors, size_t n)
{
	if (n > 0)
		qsort(tensors, n, sizeof *tensors, by_name);
	for (size_t i = 1; i < n; i++)
		if (strcmp(tensors[i].name, tensors[i - 1].name) == 0)
			return tensors[i].name;
	return NULL;
}

static size_t row_bytes(const struct nn_st_tensor *t)
{
	size_t n = nn_dtype_size(t->dtype);

	for (int d = 1; d < t->shape.rank; d++)
		n *= t->shape.dim[d];
	return n;
}

void nn_st_part(const struct nn_st *st, struct nn_st_part *part)
{
	double row = 0;

	part->total = 0;
	for (size_t i = 0; i < st->n_tensors; i++) {
		const struct nn_st_tensor *t = &st->tensors[i];

		if (t->shape.rank == 0)
			continue;
		row += (double)row_bytes(t);
		part->total = t->shape.dim[0] > part->total ? t->shape.dim[0] : part->total;
	}
	part->rows = part->total;
	if (part->most > 0 && row * (double)part->total > (double)part->most)
		part->rows = row < (double)part->most ? (size_t)((double)part->most / row) : 1;
}

size_t nn_st_cut(struct nn_st_tensor *t, const struct nn_st_part *part)
{
	if (t->shape.rank > 0 && t->shape.dim[0] > part->rows)
		t->shape.dim[0] = part->rows;
	return t->shape.rank > 0 ? t->shape.dim[0] * row_bytes(t) : nn_dtype_size(t->dtype);
}

const struct nn_st_tensor *nn_st_find(const struct nn_st *st, const char *name)
{
	struct nn_st_tensor wanted = { .name = name };

	return st->n_tensors ? bsearch(&wanted, st->tensors, st->n_tensors, sizeof wanted, by_name)
			     : NULL;
}

const struct nn_st_tensor *nn_st_scales(const struct nn_st_tensor *tensors, size_t n, size_t i)
{
	size_t length = strlen(tensors[i].name);

	if (tensors[i].dtype != NN_I8)
		return NULL;
	for (size_t s = i + 1; s < n && strncmp(tensors[s].name, tensors[i].name, length) == 0; s++)
		if (strcmp(tensors[s].name + length, NN_ST_SCALE) == 0)
			return &tensors[s];
	return NULL;
}

const char *nn_st_meta(const struct nn_st *st, const char *key)
{
	for (size_t i = 0; i < st->n_meta; i++)
		if (strcmp(st->meta[i].key, key) == 0)
			return st->meta[i].value;
	return st->base ? nn_st_meta(st->base, key) : NULL;
}

int nn_st_get(const struct nn_st_tensor *tensor, enum nn_dtype dtype, void *values,
	      struct nn_error *err)
{
	char quoted[NN_QUOTED];

	if (!nn_dtype_float(tensor->dtype))
		return nn_fail(err, NN_EFORMAT, "tensor \"%s\": found %s, expected floating point",
			       nn_quote(quoted, tensor->name, strlen(tensor->name)),
			       nn_dtype_name(tensor->dtype));
	nn_convert(tensor->dtype, tensor->data, nn_shape_count(&tensor->shape), dtype, values);
	return 0;
}
