/* A table of datatypes; whole numbers by width and sign, floats by their own conversions. */
#include <string.h>

#include "base/half.h"
#include "base/number.h"
#include "serve/protocol/datatype.h"

const char *const nn_datatype_names[NN_DATATYPES] = {
	"",      "BOOL",  "UINT8", "UINT16", "UINT32", "UINT64", "INT8",  "INT16",
	"INT32", "INT64", "FP16",  "BF16",   "FP32",   "FP64",   "BYTES",
};

static const unsigned char sizes[NN_DATATYPES] = { 0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 0 };

enum nn_datatype nn_datatype_find(const char *name, size_t n)
{
	enum nn_datatype type = NN_DT_BOOL;

	while (type < NN_DATATYPES && (strlen(nn_datatype_names[type]) != n ||
				       memcmp(nn_datatype_names[type], name, n) != 0))
		type++;
	return type;
}

size_t nn_datatype_size(enum nn_datatype type)
{
	return sizes[type];
}

bool nn_datatype_holds(enum nn_datatype type, const char *text, size_t n)
{
	unsigned bits = 8u * sizes[type];
	uint64_t u;
	int64_t i;

	if (type == NN_DT_BOOL)
		return nn_parse_u64(text, n, &u) && u <= 1;
	if (type >= NN_DT_UINT8 && type <= NN_DT_UINT64)
		return nn_parse_u64(text, n, &u) && (bits == 64 || u >> bits == 0);
	if (type >= NN_DT_INT8 && type <= NN_DT_INT64)
		return nn_parse_i64(text, n, &i) &&
		       (bits == 64 ||
			(i >= -(INT64_C(1) << (bits - 1)) && i < INT64_C(1) << (bits - 1)));
	return true;
}

static uint64_t raw_bits(const void *raw, size_t size)
{
	const unsigned char *bytes = raw;
	uint64_t bits = 0;

	for (size_t i = 0; i < size; i++)
		bits |= (uint64_t)bytes[i] << (8 * i);
	return bits;
}

/* A whole number with its sign. */
static int64_t whole(enum nn_datatype type, uint64_t bits)
{
	unsigned unused = 64 - 8u * sizes[type];

	return (int64_t)(bits << unused) >> unused;
}

double nn_datatype_value(enum nn_datatype type, const void *raw)
{
	uint64_t bits = raw_bits(raw, sizes[type]);
	uint32_t word = (uint32_t)bits;
	uint16_t half = (uint16_t)bits;
	double wide;
	float value;

	switch (type) {
	case NN_DT_FP64:
		memcpy(&wide, &bits, sizeof wide);
		return wide;
	case NN_DT_FP32:
		memcpy(&value, &word, sizeof value);
		return (double)value;
	case NN_DT_FP16:
	case NN_DT_BF16:
		nn_half(type == NN_DT_FP16 ? NN_F16 : NN_BF16, true)->widen(&half, &value, 1);
		return (double)value;
	case NN_DT_BOOL:
		return bits != 0;
	default:
		return type >= NN_DT_INT8 ? (double)whole(type, bits) : (double)bits;
	}
}

size_t nn_datatype_text(enum nn_datatype type, const void *raw, char *text)
{
	uint64_t bits = raw_bits(raw, sizes[type]);
	bool negative = false;

	if (type == NN_DT_FP64)
		return nn_format_f64(text, nn_datatype_value(type, raw));
	if (type == NN_DT_BOOL)
		bits = bits != 0;
	if (type >= NN_DT_FP16)
		return nn_format_f32(text, (float)nn_datatype_value(type, raw));
	if (type >= NN_DT_INT8) {
		negative = whole(type, bits) < 0;
		bits = negative ? -(uint64_t)whole(type, bits) : bits;
	}
	*text = '-';
	return negative + nn_format_u64(text + negative, bits);
}
