/* Between the types of files and real numbers: one loop per pair. */
#include <byteswap.h>

#include "base/wide.h"
#include "file/convert.h"

#define SAME(x) (x)
#define LOOP(S, T, F) \
	do { \
		const S *s = values; \
		T *t = real; \
		for (size_t i = 0; i < n; i++) \
			t[i] = (T)F(s[i]); \
		return; \
	} while (0)
#define PAIR(S, F) \
	do { \
		if (to == NN_F64) \
			LOOP(S, double, F); \
		LOOP(S, float, F); \
	} while (0)

void nn_convert(enum nn_dtype from, const void *values, size_t n, enum nn_dtype to, void *real)
{
	switch (from) {
	case NN_F32:
		PAIR(float, SAME);
	case NN_F64:
		PAIR(double, SAME);
	case NN_F16:
		PAIR(uint16_t, nn_f16_to_f32);
	case NN_BF16:
		PAIR(uint16_t, nn_bf16_to_f32);
	case NN_I8:
		PAIR(int8_t, SAME);
	case NN_BOOL:
	case NN_U8:
		PAIR(uint8_t, SAME);
	case NN_I16:
		PAIR(int16_t, SAME);
	case NN_U16:
		PAIR(uint16_t, SAME);
	case NN_I32:
		PAIR(int32_t, SAME);
	case NN_U32:
		PAIR(uint32_t, SAME);
	case NN_I64:
		PAIR(int64_t, SAME);
	case NN_U64:
		PAIR(uint64_t, SAME);
	}
}

void nn_swap_bytes(void *values, size_t n, size_t size)
{
	if (size == 2) {
		uint16_t *v = values;

		for (size_t i = 0; i < n; i++)
			v[i] = bswap_16(v[i]);
	} else if (size == 4) {
		uint32_t *v = values;

		for (size_t i = 0; i < n; i++)
			v[i] = bswap_32(v[i]);
	} else if (size == 8) {
		uint64_t *v = values;

		for (size_t i = 0; i < n; i++)
			v[i] = bswap_64(v[i]);
	}
}

/*
 * A value is not finite when all bits of its exponent are set, so that one more goes into the sign:
 * found by block, whose size the compiler knows, so that it takes several at once; then looked for.
 */
#define BLOCK 64
#define FIND(T, MASK, LOWEST) \
	do { \
		const T *v = values; \
		size_t i = 0; \
		for (; n - i >= BLOCK; i += BLOCK) { \
			T bad = 0; \
			for (size_t j = 0; j < BLOCK; j++) \
				bad |= (v[i + j] & MASK) + (LOWEST); \
			if (bad > (MASK)) \
				break; \
		} \
		while (i < n && (v[i] & MASK) != MASK) \
			i++; \
		return i; \
	} while (0)

NN_WIDE(size_t, find_f32, (const void *values, size_t n), (values, n))
{
	FIND(uint32_t, UINT32_C(0x7f800000), UINT32_C(1) << 23);
}

NN_WIDE(size_t, find_f64, (const void *values, size_t n), (values, n))
{
	FIND(uint64_t, UINT64_C(0x7ff0000000000000), UINT64_C(1) << 52);
}

size_t nn_find_not_finite(enum nn_dtype real, const void *values, size_t n)
{
	return (real == NN_F64 ? find_f64 : find_f32)(values, n);
}
