/* The values of an .npy or IDX array in this machine's order of bytes and of dimensions. */
#include "base/memory.h"
#include "base/text.h"
#include "file/convert.h"
#include "file/npy.h"

#define TILE 32

/* Column-major to row-major, in tiles over the first and the last dimension; rank >= 2. */
#define TRANSPOSE(name, T) \
	static void name(const T *from, T *to, const struct nn_shape *s) \
	{ \
		size_t first = s->dim[0], last = s->dim[s->rank - 1], middle = 1, row, column; \
		for (int d = 1; d < s->rank - 1; d++) \
			middle *= s->dim[d]; \
		row = middle * last;     /* step of the first dimension in `to` */ \
		column = first * middle; /* step of the last dimension in `from` */ \
		for (size_t m = 0; m < middle; m++) { \
			size_t at = 0, rest = m; \
			for (int d = s->rank - 2; d >= 1; \
			     d--) { /* m counts row-major, `at` column-major */ \
				size_t below = 1; \
				for (int e = 1; e < d; e++) \
					below *= s->dim[e]; \
				at += rest % s->dim[d] * below; \
				rest /= s->dim[d]; \
			} \
			for (size_t i0 = 0; i0 < first; i0 += TILE) \
				for (size_t j0 = 0; j0 < last; j0 += TILE) \
					for (size_t i = i0; i < first && i < i0 + TILE; i++) \
						for (size_t j = j0; j < last && j < j0 + TILE; \
						     j++) \
							to[i * row + m * last + j] = \
								from[j * column + at * first + i]; \
		} \
	}

TRANSPOSE(transpose_8, uint8_t)
TRANSPOSE(transpose_16, uint16_t)
TRANSPOSE(transpose_32, uint32_t)
TRANSPOSE(transpose_64, uint64_t)

static int to_row_major(const struct nn_npy_header *h, struct nn_block *block, struct nn_error *err)
{
	struct nn_block to = { 0 };

	if (nn_block_reserve(&to, h->bytes, err) < 0)
		return -1;
	switch (nn_dtype_size(h->dtype)) {
	case 1:
		transpose_8(block->data, to.data, &h->shape);
		break;
	case 2:
		transpose_16((const uint16_t *)block->data, (uint16_t *)to.data, &h->shape);
		break;
	case 4:
		transpose_32((const uint32_t *)block->data, (uint32_t *)to.data, &h->shape);
		break;
	default:
		transpose_64((const uint64_t *)block->data, (uint64_t *)to.data, &h->shape);
		break;
	}
	nn_block_free(block);
	*block = to;
	return 0;
}

int nn_npy_read(struct nn_input *input, const struct nn_npy_header *h, struct nn_block *block,
		struct nn_error *err)
{
	size_t size = nn_dtype_size(h->dtype);

	if (nn_input_load(input, block, 0, h->bytes, "the array", err) < 0 ||
	    nn_block_reserve(block, 1, err) < 0)
		return -1;
	if (h->swap)
		nn_swap_bytes(block->data, h->bytes / size, size);
	if (h->fortran && h->shape.rank > 1 && h->bytes > 0 && to_row_major(h, block, err) < 0)
		return nn_fail_at(err, "%s", nn_input_name(input));
	return 0;
}

int nn_npy_read_values(struct nn_input *input, const struct nn_npy_header *h, size_t n, void *data,
		       struct nn_error *err)
{
	size_t size = nn_dtype_size(h->dtype), bytes, got;

	if (!nn_mul(n, size, &bytes))
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory for %zu values",
			       nn_input_name(input), n);
	if (nn_input_read(input, data, bytes, &got, err) < 0)
		return -1;
	if (got < bytes)
		return nn_fail(err, NN_EFORMAT,
			       "%s: the array ends early: expected %zu byte%s, found %zu",
			       nn_input_name(input), bytes, nn_s(bytes), got);
	if (h->swap)
		nn_swap_bytes(data, n, size);
	return 0;
}
