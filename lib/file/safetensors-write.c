/*
 * Writing safetensors: the order of the reference writer, so that the same content gives the same
 * bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json-text.h"
#include "base/memory.h"
#include "file/safetensors.h"

/* The reference writer's enum, largest first. */
static const enum nn_dtype order[] = {
	NN_U64, NN_I64, NN_F64, NN_F32, NN_U32, NN_I32,  NN_BF16,
	NN_F16, NN_U16, NN_I16, NN_I8,  NN_U8,  NN_BOOL,
};

static int dtype_place(enum nn_dtype dtype)
{
	int i = 0;

	while (order[i] != dtype)
		i++;
	return i;
}

static int by_place(const void *a, const void *b)
{
	const struct nn_st_tensor *x = *(const struct nn_st_tensor *const *)a;
	const struct nn_st_tensor *y = *(const struct nn_st_tensor *const *)b;
	int difference = dtype_place(x->dtype) - dtype_place(y->dtype);

	return difference ? difference : strcmp(x->name, y->name);
}

static int by_key(const void *a, const void *b)
{
	return strcmp((*(const struct nn_st_meta *const *)a)->key,
		      (*(const struct nn_st_meta *const *)b)->key);
}

static void add_metadata(struct nn_text *text, const struct nn_st_meta *const *meta, size_t n)
{
	nn_json_add(text, "__metadata__", "{");
	for (size_t i = 0; i < n; i++)
		nn_json_add_string(text, meta[i]->key, meta[i]->value);
	nn_text_add(text, "}");
}

static size_t tensor_bytes(const struct nn_st_tensor *t)
{
	return nn_shape_count(&t->shape) * nn_dtype_size(t->dtype);
}

static void add_tensor(struct nn_text *text, const struct nn_st_tensor *t, size_t begin)
{
	nn_json_add(text, t->name, "{");
	nn_json_add(text, "data_offsets", "[");
	nn_json_put_count(text, begin);
	nn_json_put_count(text, begin + tensor_bytes(t));
	nn_text_add(text, "]");
	nn_json_add_string(text, "dtype", nn_st_dtype_name(t->dtype));
	nn_json_add(text, "shape", "[");
	for (int i = 0; i < t->shape.rank; i++)
		nn_json_put_count(text, t->shape.dim[i]);
	nn_text_add(text, "]}");
}

static void add_header(struct nn_text *text, const struct nn_st_tensor *const *tensors,
		       size_t n_tensors, const struct nn_st_meta *const *meta, size_t n_meta)
{
	size_t at = 0;

	nn_json_put(text, "{");
	if (n_meta)
		add_metadata(text, meta, n_meta);
	for (size_t i = 0; i < n_tensors; i++) {
		add_tensor(text, tensors[i], at);
		at += tensor_bytes(tensors[i]);
	}
	nn_text_add(text, "}");
	while ((text->length + 8) % 64 && !text->failed)
		nn_text_add_bytes(text, " ", 1);
}

int nn_st_write(struct nn_output *output, const struct nn_st_tensor *tensors, size_t n_tensors,
		const struct nn_st_meta *meta, size_t n_meta, struct nn_error *err)
{
	const struct nn_st_tensor **t = nn_alloc(n_tensors, sizeof *t, err);
	const struct nn_st_meta **m = nn_alloc(n_meta, sizeof *m, err);
	struct nn_text text = { 0 };
	unsigned char length[8];
	int status = -1;

	if (!t || !m)
		goto out;
	for (size_t i = 0; i < n_tensors; i++)
		t[i] = &tensors[i];
	for (size_t i = 0; i < n_meta; i++)
		m[i] = &meta[i];
	qsort(t, n_tensors, sizeof *t, by_place);
	qsort(m, n_meta, sizeof *m, by_key);
	add_header(&text, t, n_tensors, m, n_meta);
	if (text.failed) {
		nn_fail(err, NN_ENOMEM, "cannot allocate memory for a header");
		goto out;
	}
	for (int i = 0; i < 8; i++)
		length[i] = (unsigned char)((uint64_t)text.length >> (8 * i));
	if (nn_output_write(output, length, 8, err) < 0 ||
	    nn_output_write(output, text.data, text.length, err) < 0)
		goto out;
	for (size_t i = 0; i < n_tensors; i++)
		if (tensor_bytes(t[i]) &&
		    nn_output_write(output, t[i]->data, tensor_bytes(t[i]), err) < 0)
			goto out;
	status = 0;
out:
	nn_text_free(&text);
	nn_free(t);
	nn_free(m);
	return status;
}
