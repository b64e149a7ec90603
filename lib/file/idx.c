/* IDX headers (http://yann.lecun.com/exdb/mnist/): type, rank, and dimensions of 32 bits. */
#include "base/text.h"
#include "file/idx.h"

static const struct {
	int code;
	enum nn_dtype dtype;
} types[] = {
	{ 0x08, NN_U8 },  { 0x09, NN_I8 },  { 0x0b, NN_I16 },
	{ 0x0c, NN_I32 }, { 0x0d, NN_F32 }, { 0x0e, NN_F64 },
};

int nn_idx_header(struct nn_input *input, struct nn_npy_header *header, struct nn_error *err)
{
	const char *name = nn_input_name(input);
	const unsigned char *b;
	size_t got, rank, i = 0;
	int64_t left;

	if (nn_input_peek(input, &b, 4, &got, err) < 0)
		return -1;
	if (got < 4)
		return nn_fail(err, NN_EFORMAT, "%s: the IDX header ends early", name);
	while (i < sizeof types / sizeof *types && types[i].code != b[2])
		i++;
	if (b[0] || b[1] || i == sizeof types / sizeof *types)
		return nn_fail(err, NN_EFORMAT, "%s: IDX type 0x%02x is not known", name, b[2]);
	*header = (struct nn_npy_header){ .dtype = types[i].dtype,
					  .swap = nn_dtype_size(types[i].dtype) > 1 };
	rank = b[3];
	if (rank == 0 || rank > NN_MAX_RANK)
		return nn_fail(err, NN_EFORMAT, "%s: IDX rank %zu, expected 1 to %d", name, rank,
			       NN_MAX_RANK);
	if (nn_input_peek(input, &b, 4 + 4 * rank, &got, err) < 0)
		return -1;
	if (got < 4 + 4 * rank)
		return nn_fail(err, NN_EFORMAT, "%s: the IDX header ends early", name);
	header->shape.rank = (int)rank;
	for (size_t d = 0; d < rank; d++) {
		const unsigned char *p = b + 4 + 4 * d;

		header->shape.dim[d] =
			(size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
	}
	nn_input_take(input, got);
	if (!nn_shape_check(&header->shape, nn_dtype_size(header->dtype), &header->bytes))
		return nn_fail(err, NN_EFORMAT, "%s: the product of the IDX dimensions overflows",
			       name);
	left = nn_input_left(input);
	if (left >= 0 && (uint64_t)left < header->bytes)
		return nn_fail(
			err, NN_EFORMAT,
			"%s: ends early: the IDX header promises %zu byte%s of data, found %lld",
			name, header->bytes, nn_s(header->bytes), (long long)left);
	return 1;
}
