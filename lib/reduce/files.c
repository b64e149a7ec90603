/*
 * Several files in one process: piece by piece from .npy to .npy, tensor by tensor from safetensors
 * to safetensors.
 */
#include <stdint.h>

#include "base/memory.h"
#include "reduce/arrays.h"

/* bytes of each file at a time: stays in the second-level cache */
#define PIECE ((size_t)256 << 10)

struct files {
	const struct nn_allreduce *job;
	struct nn_arrays *arrays;
	const void **values;
	size_t n;
};

/* A tensor of all files; piece by piece to `output`, or whole to `whole`. */
static int reduce_tensor(struct files *f, size_t tensor, struct nn_output *output, char *whole,
			 struct nn_error *err)
{
	const struct nn_st_tensor *t = &f->arrays[0].tensors[tensor];
	const struct nn_reduce reduce = { t->dtype, (enum nn_reduce_op)f->job->options->op, f->n };
	struct nn_reduce_found all = { 0, SIZE_MAX };
	size_t size = nn_dtype_size(t->dtype), count = nn_shape_count(&t->shape), at = 0, piece;
	char buffer[PIECE] __attribute__((aligned(64)));

	do {
		struct nn_reduce_found found;
		char *out = output ? buffer : whole + at * size;

		piece = count - at < PIECE / size ? count - at : PIECE / size;
		for (size_t i = 0; i < f->n; i++)
			if (nn_arrays_read(&f->arrays[i], &f->arrays[i].tensors[tensor], at, piece,
					   &f->values[i], err) < 0)
				return -1;
		nn_reduce_leaves(&reduce, f->values, piece, out, NULL, &found);
		all.nan += found.nan;
		if (found.overflow != SIZE_MAX) {
			all.overflow = at + found.overflow;
			break;
		}
		if (output && nn_output_write(output, out, piece * size, err) < 0)
			return -1;
		at += piece;
	} while (at < count);
	return nn_arrays_found(&f->job->host, &reduce, t, &all, err);
}

static int write_npy(struct files *f, struct nn_output *output, struct nn_error *err)
{
	const struct nn_st_tensor *t = &f->arrays[0].tensors[0];

	return nn_npy_write_header(output, t->dtype, &t->shape, err) < 0
		       ? -1
		       : reduce_tensor(f, 0, output, NULL, err);
}

static int write_tensors(struct files *f, struct nn_output *output, struct nn_error *err)
{
	const struct nn_st *st = f->arrays[0].st;
	struct nn_st_tensor *results = nn_alloc(st->n_tensors, sizeof *results, err);
	struct nn_block block = { 0 };
	size_t bytes = 0, at = 0;
	int status = -1;

	for (size_t i = 0; i < st->n_tensors; i++)
		bytes += (nn_shape_count(&st->tensors[i].shape) *
				  nn_dtype_size(st->tensors[i].dtype) +
			  63) /
			 64 * 64;
	if (!results || nn_block_reserve(&block, bytes + 1, err) < 0)
		goto out;
	for (size_t i = 0; i < st->n_tensors; i++) {
		results[i] = st->tensors[i];
		results[i].data = nn_block_at(&block, at);
		if (reduce_tensor(f, i, NULL, (char *)nn_block_at(&block, at), err) < 0)
			goto out;
		at += (nn_shape_count(&st->tensors[i].shape) * nn_dtype_size(st->tensors[i].dtype) +
		       63) /
		      64 * 64;
	}
	status = nn_arrays_write(&f->arrays[0], output, results, err);
out:
	nn_block_free(&block);
	nn_free(results);
	return status;
}

static int open_all(struct files *f, char **names, struct nn_error *err)
{
	for (size_t i = 0; i < f->n; i++) {
		if (nn_arrays_open(&f->arrays[i], names[i], err) < 0)
			return -1;
		if (i > 0 && nn_arrays_compare(&f->arrays[i], &f->arrays[0], err) < 0)
			return -1;
	}
	return 0;
}

int nn_allreduce_files(const struct nn_allreduce *job, struct nn_error *err)
{
	size_t n = (size_t)job->n;
	struct files f = { .job = job, .n = n };
	struct nn_output *output = NULL;
	int status = -1;

	f.arrays = nn_alloc(n, sizeof *f.arrays, err);
	f.values = nn_alloc(n, sizeof *f.values, err);
	if (!f.arrays || !f.values || nn_output_open(&output, job->std->output, true, err) < 0 ||
	    open_all(&f, job->files, err) < 0)
		goto out;
	status = f.arrays[0].st ? write_tensors(&f, output, err) : write_npy(&f, output, err);
	if (status == 0) {
		status = nn_output_commit(output, err);
		output = NULL;
	}
out:
	nn_output_abort(output);
	for (size_t i = 0; f.arrays && i < n; i++)
		nn_arrays_close(&f.arrays[i]);
	nn_free(f.arrays);
	nn_free(f.values);
	return status;
}
