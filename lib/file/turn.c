/* Values of a file one block of rows after another: each of its columns is read by itself. */
#include <string.h>

#include "base/memory.h"
#include "file/convert.h"
#include "file/turn.h"

/* Which column value e of a row is: the first dimension of a row counts fastest. */
static size_t column_of(const struct nn_shape *s, size_t e)
{
	size_t column = 0, below = 1, at[NN_MAX_RANK];

	for (int d = s->rank - 1; d >= 1; d--) {
		at[d] = e % s->dim[d];
		e /= s->dim[d];
	}
	for (int d = 1; d < s->rank; d++) {
		column += at[d] * below;
		below *= s->dim[d];
	}
	return column;
}

/* Rows first to first + n of columns that follow each other; column: room for n values. */
static int read_columns(const struct nn_npy_header *h, const struct nn_turn *turn, size_t wide,
			size_t first, size_t n, char *rows, char *column, struct nn_error *err)
{
	size_t size = nn_dtype_size(h->dtype);

	for (size_t e = 0; e < wide; e++) {
		uint64_t place = column_of(&h->shape, e) * h->shape.dim[0] + first;

		if (turn->read(turn->arg, place * size, column, n * size, err) < 0)
			return -1;
		for (size_t i = 0; i < n; i++)
			memcpy(rows + (i * wide + e) * size, column + i * size, size);
	}
	return 0;
}

int nn_turn_rows(const struct nn_npy_header *h, size_t memory, const struct nn_turn *turn,
		 struct nn_error *err)
{
	size_t size = nn_dtype_size(h->dtype), rows = h->shape.dim[0], row = h->bytes / rows,
	       wide = row / size, most = 1 + memory / row;
	char *block = nn_alloc(most, row, err), *column = nn_alloc(most, size, err);
	bool columns = h->fortran && h->shape.rank > 1;
	int status = block && column ? 0 : -1;

	for (size_t first = 0, n; status == 0 && first < rows; first += n) {
		n = rows - first < most ? rows - first : most;
		status = columns ? read_columns(h, turn, wide, first, n, block, column, err)
				 : turn->read(turn->arg, first * row, block, n * row, err);
		if (status == 0 && h->swap)
			nn_swap_bytes(block, n * wide, size);
		if (status == 0)
			status = turn->put(turn->arg, block, first * wide, n * wide, err);
	}
	nn_free(block);
	nn_free(column);
	return status;
}
