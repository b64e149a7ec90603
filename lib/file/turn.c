/* Values of a file one block of rows after another: each of its columns is read by itself. */
#include <string.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "file/convert.h"
#include "file/turn.h"

#define BLOCK ((size_t)4 << 20) /* bytes of rows at once, at least one row */

/* The first dimension of a row counts fastest. */
size_t nn_turn_column(const struct nn_shape *s, size_t e)
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
static bool read_turned(int from, uint64_t at, const struct nn_npy_header *h, size_t wide,
			size_t first, size_t n, char *rows, char *column)
{
	size_t size = nn_dtype_size(h->dtype);

	for (size_t e = 0; e < wide; e++) {
		uint64_t place = nn_turn_column(&h->shape, e) * h->shape.dim[0] + first;

		if (!nn_read_at(from, column, n * size, at + place * size))
			return false;
		for (size_t i = 0; i < n; i++)
			memcpy(rows + (i * wide + e) * size, column + i * size, size);
	}
	return true;
}

bool nn_turn_file(int from, uint64_t at, const struct nn_npy_header *h, int to)
{
	size_t size = nn_dtype_size(h->dtype), rows = h->shape.dim[0], row = h->bytes / rows,
	       most = 1 + BLOCK / row, n;
	bool turned = h->fortran && h->shape.rank > 1, good;
	struct nn_error why;
	char *block = nn_alloc(most, row, &why), *column = nn_alloc(most, size, &why);

	good = block && column;
	for (size_t first = 0; good && first < rows; first += n) {
		n = rows - first < most ? rows - first : most;
		good = turned ? read_turned(from, at, h, row / size, first, n, block, column)
			      : nn_read_at(from, block, n * row, at + first * row);
		if (good && h->swap)
			nn_swap_bytes(block, n * row / size, size);
		good = good && nn_write_all(to, block, n * row);
	}
	nn_free(block);
	nn_free(column);
	return good;
}
