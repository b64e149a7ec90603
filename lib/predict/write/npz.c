/* .npz: an array for each output under its name; rows are spooled, as their number stands in front
 * of them. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "file/npz.h"
#include "predict/write/write-inside.h"

static const struct nn_emitted *with_lengths(const struct nn_writer *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->e[i].lengths)
			return &w->e[i];
	return NULL;
}

int nn_write_npz_header(struct nn_writer *w, struct nn_error *err)
{
	w->spools = nn_alloc(w->n, sizeof *w->spools, err);
	for (size_t i = 0; i < w->n; i++) {
		if (nn_write_npy_check(&w->e[i], err) < 0 || !w->spools ||
		    !(w->spools[i].rows = nn_write_spool(err)) ||
		    !(w->spools[i].row = nn_alloc(nn_write_npy_values(&w->e[i]), 8, err)))
			return -1;
	}
	return 0;
}

/* Steps of each row, 0 of a bad one, of the outputs that have them. */
static int add_lengths(struct nn_writer *w, size_t rows, const char *const *bad,
		       struct nn_error *err)
{
	const struct nn_emitted *e = with_lengths(w);
	size_t before = w->rows_since_end - rows;
	int64_t *to;

	if (!e)
		return 0;
	if (nn_block_reserve(&w->lengths, w->rows_since_end * sizeof *to + 1, err) < 0)
		return -1;
	to = (int64_t *)(void *)w->lengths.data + before;
	for (size_t r = 0; r < rows; r++)
		to[r] = bad && bad[r] ? 0 : (int64_t)nn_emitted_length(e, r);
	return 0;
}

int nn_write_npz_rows(struct nn_writer *w, size_t rows, const char *const *bad,
		      struct nn_error *err)
{
	for (size_t i = 0; i < w->n; i++) {
		const struct nn_emitted *e = &w->e[i];
		size_t size = nn_write_npy_values(e) * nn_dtype_size(nn_write_npy_dtype(e));

		for (size_t r = 0; r < rows; r++) {
			nn_write_npy_row(e, w->spools[i].row, r, bad && bad[r]);
			if (fwrite(w->spools[i].row, 1, size, w->spools[i].rows) != size)
				return nn_fail_errno(err, NN_EFAIL, "temporary file");
		}
	}
	w->rows_since_end += rows;
	return add_lengths(w, rows, bad, err);
}

/* Several arrays of the input are one. */
int nn_write_npz_close(struct nn_writer *w, struct nn_error *err)
{
	struct nn_st_tensor *tensors = nn_alloc(w->n + 1, sizeof *tensors, err);
	size_t rows = w->rows_since_end, n = w->n;
	int status = tensors ? 0 : -1;

	for (size_t i = 0; status == 0 && i < w->n; i++) {
		struct nn_writer_spool *s = &w->spools[i];
		const struct nn_emitted *e = &w->e[i];

		s->bytes = rows * nn_write_npy_values(e) * nn_dtype_size(nn_write_npy_dtype(e));
		tensors[i] =
			(struct nn_st_tensor){ e->name ? e->name : "output", nn_write_npy_dtype(e),
					       nn_write_npy_shape(e, rows), "" };
		if (fflush(s->rows) != 0)
			status = nn_fail_errno(err, NN_EFAIL, "temporary file");
		else if (s->bytes > 0 && (s->map = mmap(NULL, s->bytes, PROT_READ, MAP_PRIVATE,
							fileno(s->rows), 0)) == MAP_FAILED)
			status = nn_fail_errno(err, NN_EFAIL, "temporary file: cannot map it");
		else if (s->bytes > 0)
			tensors[i].data = s->map;
	}
	if (status == 0 && with_lengths(w))
		tensors[n++] = (struct nn_st_tensor){ "lengths", NN_I64, nn_shape1(rows),
						      rows ? w->lengths.data : (const void *)"" };
	if (status == 0)
		status = nn_npz_write(w->output, tensors, n, err);
	nn_free(tensors);
	return status;
}

void nn_write_npz_free(struct nn_writer *w)
{
	for (size_t i = 0; w->spools && i < w->n; i++) {
		struct nn_writer_spool *s = &w->spools[i];

		if (s->map && s->map != MAP_FAILED)
			munmap(s->map, s->bytes);
		if (s->rows)
			fclose(s->rows);
		nn_free(s->row);
	}
	nn_free(w->spools);
	nn_block_free(&w->lengths);
}
