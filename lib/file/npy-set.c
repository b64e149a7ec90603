/* Tensors that lie in .npy files, one in each: the same thing to a reader as a safetensors file. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "file/npy.h"
#include "file/safetensors.h"
#include "file/sniff.h"

int nn_npy_read_tensor(struct nn_input *input, struct nn_st_tensor *tensor, struct nn_block *block,
		       struct nn_error *err)
{
	struct nn_npy_header header;
	int found = nn_npy_next(input, &header, err);

	if (found == 0)
		return nn_fail(err, NN_EFORMAT, "%s: is empty, expected an .npy array",
			       nn_input_name(input));
	if (found < 0 || nn_npy_read(input, &header, block, err) < 0 ||
	    nn_block_reserve(block, 1, err) < 0 || nn_input_end(input, "the array", err) < 0)
		return -1;
	tensor->dtype = header.dtype;
	tensor->shape = header.shape;
	tensor->data = block->data;
	return 0;
}

static int read_file(struct nn_st_tensor *tensor, struct nn_block *block, const char *path,
		     struct nn_error *err)
{
	struct nn_input *input;
	enum nn_format_id format;
	int status;

	if (nn_input_open(&input, path, err) < 0)
		return -1;
	status = nn_input_sniff(input, &format, err);
	if (status == 0 && format != NN_FORMAT_npy)
		status = nn_fail(err, NN_EFORMAT,
				 format == NN_FORMAT_empty
					 ? "%s: is empty, expected a .npy file"
					 : "%s: looks like %s %s file, expected .npy",
				 path, nn_format_article(format), nn_format_word(format));
	if (status == 0)
		status = nn_npy_read_tensor(input, tensor, block, err);
	nn_input_close(input);
	return status;
}

static int read_all(struct nn_st *st, size_t n, const struct nn_npy_file *files,
		    struct nn_error *err)
{
	char quoted[NN_QUOTED];
	const char *twice;

	if (nn_st_reserve(st, n, err) < 0)
		return -1;
	while (st->n_tensors < n) {
		size_t i =
			st->n_tensors++; /* what a file that fails has is freed with the others */

		if (!(st->names[i] = nn_strdup(files[i].name, err)))
			return -1;
		st->tensors[i].name = st->names[i];
		if (read_file(&st->tensors[i], &st->arrays[i], files[i].path, err) < 0)
			return -1;
	}
	twice = nn_st_sort(st->tensors, n);
	return twice ? nn_fail(err, NN_EFORMAT, "tensor '%s' is given twice",
			       nn_quote(quoted, twice, strlen(twice)))
		     : 0;
}

/* The file's name without its folder and what follows the last dot. */
static char *stem(const char *path, struct nn_error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	return nn_strndup(name, dot && dot > name ? (size_t)(dot - name) : strlen(name), err);
}

int nn_npy_read_set(struct nn_st **result, struct nn_input *input, struct nn_error *err)
{
	struct nn_st *st = nn_alloc(1, sizeof *st, err);
	int status = st ? nn_st_reserve(st, 1, err) : -1;

	if (status == 0) {
		st->n_tensors = 1;
		st->names[0] = stem(nn_input_name(input), err);
		status = st->names[0]
				 ? nn_npy_read_tensor(input, &st->tensors[0], &st->arrays[0], err)
				 : -1;
		st->tensors[0].name = st->names[0];
	}
	if (status < 0) {
		nn_st_free(st);
		return -1;
	}
	*result = st;
	return 0;
}

int nn_st_of_arrays(struct nn_st **result, size_t n, const struct nn_npy_file *files,
		    struct nn_error *err)
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
