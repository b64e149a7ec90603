/* Tensors that lie in .npy files, one in each: the same thing to a reader as a safetensors file. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "file/npy.h"
#include "file/safetensors.h"

static int read_array(struct nn_st_tensor *tensor, struct nn_block *block, const char *path, struct nn_error *err)
{
	struct nn_npy_header header;
	struct nn_input *input;
	const char *kind;
	int status = -1, found;

	if (nn_input_open(&input, path, err) < 0)
		return -1;
	if (nn_input_sniff(input, &kind, err) < 0)
		goto out;
	if (strcmp(kind, "npy") != 0) {
		nn_fail(err, NN_EFORMAT, strcmp(kind, "empty") == 0 ? "%s: is empty, expected a .npy file"
			: "%s: looks like %s %s file, expected .npy", path, strchr("aeiox", *kind) ? "an" : "a", kind);
		goto out;
	}
	found = nn_npy_next(input, &header, err);
	if (found == 1 && nn_npy_read(input, &header, block, err) == 0 && nn_block_reserve(block, 1, err) == 0 &&
	    nn_input_end(input, "the array", err) == 0) {
		tensor->dtype = header.dtype;
		tensor->shape = header.shape;
		tensor->data = block->data;
		status = 0;
	}
out:
	nn_input_close(input);
	return status;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct nn_st_tensor *)a)->name, ((const struct nn_st_tensor *)b)->name);
}

static int read_all(struct nn_st *st, size_t n, const struct nn_npy_file *files, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	st->tensors = nn_alloc(n, sizeof *st->tensors, err);
	st->arrays = nn_alloc(n, sizeof *st->arrays, err);
	st->names = nn_alloc(n, sizeof *st->names, err);
	if (!st->tensors || !st->arrays || !st->names)
		return -1;
	for (; st->n_tensors < n; st->n_tensors++) {
		size_t i = st->n_tensors;

		if (!(st->names[i] = nn_strdup(files[i].name, err)))
			return -1;
		st->tensors[i].name = st->names[i];
		if (read_array(&st->tensors[i], &st->arrays[i], files[i].path, err) < 0) {
			st->n_tensors++;     /* what it has is freed with the others */
			return -1;
		}
	}
	qsort(st->tensors, n, sizeof *st->tensors, by_name);
	for (size_t i = 1; i < n; i++)
		if (strcmp(st->tensors[i].name, st->tensors[i - 1].name) == 0)
			return nn_fail(err, NN_EFORMAT, "tensor '%s' is given twice",
				       nn_quote(quoted, st->tensors[i].name, strlen(st->tensors[i].name)));
	return 0;
}

int nn_st_of_arrays(struct nn_st **result, size_t n, const struct nn_npy_file *files, struct nn_error *err)
{
	struct nn_st *st = nn_alloc(1, sizeof *st, err);

	if (!st)
		return -1;
	if (read_all(st, n, files, err) < 0) {
		nn_st_free(st);
		return -1;
	}
	*result = st;
	return 0;
}
