/*
 * .npy: one array of answers for each array of rows; spooled to an unlinked file while their number
 * is not known.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/real.h"
#include "file/npy.h"
#include "predict/write/write-inside.h"

enum nn_dtype nn_write_npy_dtype(const struct nn_emitted *e)
{
	return e->emit == NN_EMIT_CLASS ? NN_I64 : e->dtype;
}

/* [n, classes], [n, C, H, W]; classes alone: [n], [n, H, W]. */
struct nn_shape nn_write_npy_shape(const struct nn_emitted *e, size_t rows)
{
	struct nn_shape shape = { .rank = 1, .dim = { rows } };
	int first = 0, last = e->shape.rank;

	if (e->emit == NN_EMIT_CLASS) {
		first = e->shape.rank == 3;
		last = e->shape.rank == 3 ? 3 : e->shape.rank - 1;
	}
	for (int i = first; i < last; i++)
		shape.dim[shape.rank++] = e->shape.dim[i];
	return shape;
}

size_t nn_write_npy_values(const struct nn_emitted *e)
{
	return e->positions * (e->emit == NN_EMIT_CLASS ? 1 : e->columns);
}

FILE *nn_write_spool(struct nn_error *err)
{
	const char *directory = nn_temporary_folder();
	char path[4096];
	int fd;

	if (snprintf(path, sizeof path, "%s/nn-predict.XXXXXX", directory) >= (int)sizeof path ||
	    (fd = mkstemp(path)) < 0) {
		nn_fail_errno(err, NN_EFAIL, "%s: cannot make a temporary file", directory);
		return NULL;
	}
	unlink(path);
	return fdopen(fd, "w+b");
}

int nn_write_npy_check(const struct nn_emitted *e, struct nn_error *err)
{
	return e->emit != NN_EMIT_TOP ? 0
				      : nn_fail(err, NN_EUSAGE,
						"--emit=top: an .npy array has no labels; use "
						"--to=csv, --to=tsv or "
						"--to=jsonl");
}

int nn_write_npy_header(struct nn_writer *w, struct nn_error *err)
{
	const struct nn_emitted *e = w->e;
	struct nn_shape shape;

	if (w->n > 1)
		return nn_fail(
			err, NN_EFAIL,
			"--to=npy: the model has several outputs; choose one with --output-name=");
	if (nn_write_npy_check(e, err) < 0)
		return -1;
	w->block = nn_alloc(nn_write_npy_values(e), 8, err);
	if (!w->block)
		return -1;
	if (w->options.total < 0)
		return (w->spool = nn_write_spool(err)) ? 0 : -1;
	shape = nn_write_npy_shape(e, (size_t)w->options.total);
	if (w->options.text) {
		char header[NN_NPY_HEADER];
		size_t length;

		if (nn_npy_header(header, &length, nn_write_npy_dtype(e), &shape, err) < 0)
			return -1;
		nn_text_add_bytes(&w->text, header, length);
		return 0;
	}
	return nn_npy_write_header(w->output, nn_write_npy_dtype(e), &shape, err);
}

int64_t nn_write_class_value(const struct nn_emitted *e, size_t c)
{
	int64_t value;

	if (e->target && e->target->labels && e->target->integer_labels &&
	    c < e->target->n_labels &&
	    nn_parse_i64(e->target->labels[c], strlen(e->target->labels[c]), &value))
		return value;
	return (int64_t)c;
}

/* One row in language order: channels first for pictures; -1 or NaN behind its length. */
void nn_write_npy_row(const struct nn_emitted *e, void *to, size_t row, bool bad)
{
	bool image = e->shape.rank == 3;

	for (size_t p = 0; p < e->positions; p++) {
		bool none = bad || p >= nn_emitted_length(e, row);

		if (e->emit == NN_EMIT_CLASS) {
			((int64_t *)to)[p] =
				none ? -1 : nn_write_class_value(e, nn_emitted_best(e, row, p));
			continue;
		}
		for (size_t c = 0; c < e->columns; c++)
			nn_real_put(e->dtype, to, image ? c * e->positions + p : p * e->columns + c,
				    none ? NAN : nn_emitted_value(e, row, p, c));
	}
}

/* The number of rows was known of the first array only. */
static int next_array(struct nn_writer *w, struct nn_error *err)
{
	if (w->ended && !w->spool)
		w->spool = nn_write_spool(err);
	return w->ended && !w->spool ? -1 : 0;
}

int nn_write_npy_rows(struct nn_writer *w, size_t rows, const char *const *bad,
		      struct nn_error *err)
{
	size_t size = nn_write_npy_values(w->e) * nn_dtype_size(nn_write_npy_dtype(w->e));

	if (next_array(w, err) < 0)
		return -1;
	for (size_t r = 0; r < rows; r++) {
		nn_write_npy_row(w->e, w->block, r, bad && bad[r]);
		if (!w->spool)
			nn_text_add_bytes(&w->text, w->block, size);
		else if (fwrite(w->block, 1, size, w->spool) != size)
			return nn_fail_errno(err, NN_EFAIL, "temporary file");
	}
	w->rows_since_end += rows;
	return 0;
}

int nn_write_npy_end(struct nn_writer *w, struct nn_error *err)
{
	struct nn_shape shape = nn_write_npy_shape(w->e, w->rows_since_end);
	char copy[65536];
	size_t n;

	if (next_array(w, err) < 0)
		return -1;
	w->ended = true;
	w->rows_since_end = 0;
	if (!w->spool)
		return 0;
	if (fflush(w->spool) != 0 || fseek(w->spool, 0, SEEK_SET) != 0)
		return nn_fail_errno(err, NN_EFAIL, "temporary file");
	if (nn_npy_write_header(w->output, nn_write_npy_dtype(w->e), &shape, err) < 0)
		return -1;
	while ((n = fread(copy, 1, sizeof copy, w->spool)) > 0)
		if (nn_output_write(w->output, copy, n, err) < 0)
			return -1;
	if (ferror(w->spool) || fseek(w->spool, 0, SEEK_SET) != 0 ||
	    ftruncate(fileno(w->spool), 0) != 0)
		return nn_fail_errno(err, NN_EFAIL, "temporary file");
	return 0;
}
