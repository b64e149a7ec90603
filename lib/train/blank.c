/* Samples of zeros for a network, as a file in memory: what steps are tried on where there are no
 * data. */
#include "config.h"
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "train/prepare.h"

/* A tensor of rows of zeros; its bytes are those of all tensors. */
static size_t describe(struct nn_st_tensor *tensor, const char *name, enum nn_dtype dtype,
		       size_t rows, const struct nn_shape *row)
{
	size_t bytes;

	*tensor = (struct nn_st_tensor){ .name = name,
					 .dtype = dtype,
					 .shape = { .rank = row->rank + 1, .dim = { rows } } };
	for (int d = 0; d < row->rank && d + 1 < NN_MAX_RANK; d++)
		tensor->shape.dim[d + 1] = row->dim[d];
	return nn_shape_check(&tensor->shape, nn_dtype_size(dtype), &bytes) ? bytes : SIZE_MAX;
}

static size_t describe_input(const struct nn_train *t, size_t i, size_t rows,
			     struct nn_st_tensor *tensor)
{
	const char *name = nn_net_input(t->net, i)->name;

	return describe(tensor, name ? name : "x", NN_U8, rows,
			&t->program->values[t->program->inputs[i]].shape);
}

/* A class per position, or a number per value. */
static size_t describe_target(const struct nn_train *t, size_t i, size_t rows,
			      struct nn_st_tensor *tensor)
{
	const struct nn_shape *shape = &t->program->values[t->program->outputs[i].value].shape;
	const char *name = nn_net_output(t->net, i)->name;
	size_t columns = shape->rank == 0 ? 1 : shape->dim[shape->rank == 3 ? 0 : shape->rank - 1];
	struct nn_shape classes = nn_shape1(nn_shape_count(shape) / (columns ? columns : 1));

	if (classes.dim[0] == 1)
		classes.rank = 0;
	if (t->losses[i].kind == NN_LOSS_CROSS_ENTROPY)
		return describe(tensor, name ? name : "y", NN_I32, rows, &classes);
	return describe(tensor, name ? name : "y", NN_F32, rows, shape);
}

static int write_file(int fd, struct nn_st_tensor *tensors, size_t n, size_t most,
		      struct nn_error *err)
{
	struct nn_block zeros = { 0 };
	struct nn_output *output;
	char path[64];
	int status = nn_block_reserve(&zeros, most + 1, err);

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < n; i++)
		tensors[i].data = zeros.data;
	if (status == 0 && (status = nn_output_open(&output, path, false, err)) == 0) {
		status = nn_st_write(output, tensors, n, NULL, 0, err);
		if (status == 0)
			status = nn_output_commit(output, err);
		else
			nn_output_abort(output);
	}
	nn_block_free(&zeros);
	return status;
}

int nn_train_blank_data(struct nn_train *t, size_t rows, struct nn_error *err)
{
	size_t n_in = nn_net_n_inputs(t->net), n_out = nn_net_n_outputs(t->net), most = 0, bytes;
	struct nn_st_tensor *tensors = nn_alloc(n_in + n_out, sizeof *tensors, err);
	int fd = memfd_create("nntools", MFD_CLOEXEC), status = -1;
	char path[64];

	for (size_t i = 0; tensors && i < n_in + n_out; i++) {
		bytes = i < n_in ? describe_input(t, i, rows, &tensors[i])
				 : describe_target(t, i - n_in, rows, &tensors[i]);
		most = bytes > most ? bytes : most;
	}
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fd < 0)
		nn_fail_errno(err, NN_EFAIL, "cannot make a file in memory");
	else if (tensors && most < SIZE_MAX &&
		 write_file(fd, tensors, n_in + n_out, most, err) == 0)
		status = nn_train_open_dataset(t, path, err);
	if (fd >= 0)
		close(fd);
	nn_free(tensors);
	return status;
}
