/* The beginning of a data file, written to a file in memory with a header that fits. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "data/array.h"
#include "data/sample.h"
#include "file/idx.h"
#include "file/json.h"

#define CHUNK ((size_t)1 << 16)

struct cut {
	struct nn_input *input;
	size_t most;
	struct nn_output *output;
	struct nn_sample_share *share;
};

/* *n bytes that come next, fewer at the end, to the output. */
static int copy(struct cut *c, size_t *n, struct nn_error *err)
{
	unsigned char bytes[CHUNK];
	size_t left = *n, got = 1;

	while (left > 0 && got > 0) {
		if (nn_input_read(c->input, bytes, left < CHUNK ? left : CHUNK, &got, err) < 0 ||
		    nn_output_write(c->output, bytes, got, err) < 0)
			return -1;
		left -= got;
	}
	*n -= left;
	return 0;
}

static bool at_end(struct cut *c, struct nn_error *err)
{
	const unsigned char *bytes;
	size_t got;

	return nn_input_peek(c->input, &bytes, 1, &got, err) == 0 && got == 0;
}

/* ---- text ---- */

/* Whole records: up to the last newline outside quotes. */
static size_t whole_lines(const char *text, size_t n)
{
	size_t end = 0;
	bool quoted = false;

	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"')
			quoted = !quoted;
		else if (text[i] == '\n' && !quoted)
			end = i + 1;
	}
	return end;
}

static int cut_text(struct cut *c, struct nn_error *err)
{
	struct nn_block text = { 0 };
	size_t got, n;
	int status = nn_block_reserve(&text, c->most, err);

	if (status == 0)
		status = nn_input_read(c->input, text.data, c->most, &got, err);
	if (status == 0 && !at_end(c, err)) {
		double read = nn_input_share(c->input);

		n = whole_lines(text.data, got);
		n = n ? n : got;
		c->share->rows = (double)got / (double)n / read;
		got = n;
	}
	if (status == 0)
		status = nn_output_write(c->output, text.data, got, err);
	nn_block_free(&text);
	return status;
}

/* ---- one array ---- */

/* Rows of the beginning; *share says what they are of all. */
static size_t take_rows(struct cut *c, const struct nn_shape *shape, size_t bytes)
{
	size_t rows = shape->dim[0], row = rows ? bytes / rows : 0, n = row ? c->most / row : rows;

	n = n < 1 ? 1 : n;
	if (n >= rows)
		return rows;
	c->share->rows = (double)rows / (double)n;
	c->share->total = rows;
	return n;
}

static int cut_idx(struct cut *c, struct nn_error *err)
{
	const unsigned char *start;
	struct nn_npy_header header;
	unsigned char magic[4], dim[4];
	size_t got, rows, n;

	if (nn_input_peek(c->input, &start, 4, &got, err) < 0)
		return -1;
	memcpy(magic, start, got);
	if (nn_idx_header(c->input, &header, err) < 0)
		return -1;
	rows = header.shape.rank ? take_rows(c, &header.shape, header.bytes) : 0;
	if (nn_output_write(c->output, magic, 4, err) < 0)
		return -1;
	for (int d = 0; d < header.shape.rank; d++) {
		size_t size = d == 0 ? rows : header.shape.dim[d];

		for (int i = 0; i < 4; i++)
			dim[i] = (unsigned char)(size >> (24 - 8 * i));
		if (nn_output_write(c->output, dim, 4, err) < 0)
			return -1;
	}
	n = header.shape.rank && header.shape.dim[0] ? header.bytes / header.shape.dim[0] * rows
						     : header.bytes;
	return copy(c, &n, err);
}

/* A whole array in column order is read whole; of a part there is nothing but zeros to be had. */
static int cut_npy(struct cut *c, struct nn_error *err)
{
	struct nn_npy_header header;
	struct nn_block values = { 0 };
	size_t rows, n;
	int status = nn_npy_next(c->input, &header, err);

	if (status != 1)
		return status < 0 ? -1
				  : nn_fail(err, NN_EFORMAT, "%s: is empty, expected an array",
					    nn_input_name(c->input));
	rows = header.shape.rank ? take_rows(c, &header.shape, header.bytes) : 0;
	if (header.shape.rank == 0 || rows == header.shape.dim[0]) {
		n = header.bytes / nn_dtype_size(header.dtype);
		status = nn_npy_read(c->input, &header, &values, err);
	} else {
		n = nn_row_size(&header.shape) * (header.fortran ? 1 : rows);
		header.shape.dim[0] = header.fortran ? 1 : rows;
		status = nn_block_reserve(&values, n * nn_dtype_size(header.dtype) + 1, err);
		if (status == 0 && !header.fortran)
			status = nn_npy_read_values(c->input, &header, n, values.data, err);
		if (header.fortran)
			c->share->rows *= (double)rows;
	}
	if (status == 0 &&
	    (nn_npy_write_header(c->output, header.dtype, &header.shape, err) < 0 ||
	     nn_output_write(c->output, values.data, n * nn_dtype_size(header.dtype), err) < 0))
		status = -1;
	nn_block_free(&values);
	return status < 0 ? -1 : 0;
}

/* ---- safetensors ---- */

/* The tensors that the header lists, without their data; offsets[i] is where those begin. */
static int list_tensors(const struct nn_json *header, struct nn_st_tensor *tensors, size_t *offsets,
			size_t *n, struct nn_error *err)
{
	*n = 0;
	for (size_t i = 0; i < nn_json_size(header); i++) {
		const struct nn_json *value, *shape;
		struct nn_st_tensor *t = &tensors[*n];
		const char *word;
		size_t bytes;

		t->name = nn_json_key(header, i, &value);
		if (strcmp(t->name, "__metadata__") == 0)
			continue;
		shape = nn_json_get(value, "shape");
		word = nn_json_string(nn_json_get(value, "dtype"), NULL);
		t->shape.rank = (int)nn_json_size(shape);
		if (!word || !nn_st_dtype(word, &t->dtype) || t->shape.rank > NN_MAX_RANK)
			return nn_fail(err, NN_EFORMAT, "a tensor without a known dtype and shape");
		for (int d = 0; d < t->shape.rank; d++)
			t->shape.dim[d] = (size_t)nn_json_number(nn_json_at(shape, (size_t)d));
		if (!nn_shape_check(&t->shape, nn_dtype_size(t->dtype), &bytes))
			return nn_fail(err, NN_EFORMAT, "the product of the dimensions overflows");
		offsets[*n] =
			(size_t)nn_json_number(nn_json_at(nn_json_get(value, "data_offsets"), 0));
		++*n;
	}
	return 0;
}

static size_t row_bytes(const struct nn_st_tensor *t)
{
	return t->shape.rank ? nn_row_size(&t->shape) * nn_dtype_size(t->dtype) : 0;
}

/* The first rows of each tensor, from memory or read where they lie; compressed ones and those of a
 * pipe are zeros. */
static int write_tensors(struct cut *c, struct nn_st_tensor *tensors, const size_t *offsets,
			 size_t n, size_t begin, int fd, struct nn_error *err)
{
	size_t row = 0, rows, total = 0;
	struct nn_block data = { 0 };
	size_t at = 0;
	int status;

	for (size_t i = 0; i < n; i++) {
		row += row_bytes(&tensors[i]);
		total = tensors[i].shape.rank && tensors[i].shape.dim[0] > total
				? tensors[i].shape.dim[0]
				: total;
	}
	rows = row && c->most / row ? c->most / row : 1;
	status = nn_block_reserve(&data, rows * row + n * NN_ALIGN + 1, err);
	for (size_t i = 0; status == 0 && i < n; i++) {
		struct nn_st_tensor *t = &tensors[i];
		const void *given = t->data;
		size_t bytes;

		if (t->shape.rank && t->shape.dim[0] > rows)
			t->shape.dim[0] = rows;
		bytes = t->shape.rank ? t->shape.dim[0] * row_bytes(t) : 0;
		t->data = nn_block_at(&data, at);
		if (bytes && given)
			memcpy(nn_block_at(&data, at), given, bytes);
		else if (fd >= 0 && pread(fd, nn_block_at(&data, at), bytes,
					  (off_t)(begin + offsets[i])) != (ssize_t)bytes)
			status = nn_fail(err, NN_EFORMAT, "%s: the data end early",
					 nn_input_name(c->input));
		at += (bytes + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN;
	}
	if (status == 0 && total > rows) {
		c->share->rows = (double)total / (double)rows;
		c->share->total = total;
	}
	if (status == 0)
		status = nn_st_write(c->output, tensors, n, NULL, 0, err);
	nn_block_free(&data);
	return status;
}

static int cut_tensors(struct cut *c, const char *path, bool compressed, struct nn_error *err)
{
	unsigned char size[8];
	size_t n = 0, n_tensors, got;
	struct nn_block text = { 0 };
	struct nn_json *header = NULL;
	struct nn_st_tensor *tensors = NULL;
	size_t *offsets = NULL;
	int fd = -1, status = -1;

	if (nn_input_read(c->input, size, 8, &got, err) < 0)
		return -1;
	for (size_t i = 0; i < got; i++)
		n |= (size_t)size[i] << (8 * i);
	if (n > c->most)
		return nn_fail(err, NN_EFORMAT,
			       "%s: a header of %zu bytes is too long to be planned with", path, n);
	if (nn_input_load(c->input, &text, 0, n, "the header", err) < 0)
		goto out;
	header = nn_json_parse(text.data, n, err);
	tensors = header ? nn_alloc(nn_json_size(header), sizeof *tensors, err) : NULL;
	offsets = tensors ? nn_alloc(nn_json_size(header), sizeof *offsets, err) : NULL;
	if (!offsets || list_tensors(header, tensors, offsets, &n_tensors, err) < 0) {
		nn_fail_at(err, "%s", path);
		goto out;
	}
	if (!compressed && !nn_input_is_pipe(c->input))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	status = write_tensors(c, tensors, offsets, n_tensors, 8 + n, fd, err);
	if (fd >= 0)
		close(fd);
out:
	nn_json_free(header);
	nn_free(tensors);
	nn_free(offsets);
	nn_block_free(&text);
	return status;
}

/* Members of an .npz lie where only its end says. */
static int cut_npz(struct cut *c, struct nn_error *err)
{
	struct nn_st *st;
	int status;

	if (nn_npz_read(&st, c->input, err) < 0)
		return -1;
	status = write_tensors(c, st->tensors, NULL, st->n_tensors, 0, -1, err);
	nn_st_free(st);
	return status;
}

/* ---- the whole ---- */

static int cut(struct cut *c, const char *path, struct nn_error *err)
{
	const char *kind;
	bool compressed;

	if (nn_input_compressed(c->input, &compressed, err) < 0 ||
	    nn_data_kind(c->input, &kind, err) < 0)
		return -1;
	if (strcmp(kind, "idx") == 0)
		return cut_idx(c, err);
	if (strcmp(kind, "npy") == 0)
		return cut_npy(c, err);
	if (strcmp(kind, "safetensors") == 0)
		return cut_tensors(c, path, compressed, err);
	if (strcmp(kind, "zip") == 0)
		return cut_npz(c, err);
	return cut_text(c, err);
}

int nn_sample_open(struct nn_input **sample, const char *path, size_t most,
		   struct nn_sample_share *share, struct nn_error *err)
{
	struct cut c = { .most = most, .share = share };
	char name[64];
	int fd, status = -1;

	*share = (struct nn_sample_share){ .rows = 1 };
	if (nn_input_open(&c.input, path, err) < 0)
		return -1;
	fd = memfd_create("nntools", MFD_CLOEXEC);
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	if (fd < 0) {
		nn_fail_errno(err, NN_EFAIL, "%s: cannot keep its beginning", path);
	} else if (nn_output_open(&c.output, name, false, err) == 0) {
		status = cut(&c, path, err);
		if (status == 0)
			status = nn_output_commit(c.output, err);
		else
			nn_output_abort(c.output);
	}
	nn_input_close(c.input);
	if (status == 0 && lseek(fd, 0, SEEK_SET) == 0)
		return nn_input_open_fd(sample, path, fd, err);
	if (fd >= 0)
		close(fd);
	return -1;
}
