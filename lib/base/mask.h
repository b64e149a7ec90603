/* Bytes that equal one, as bits: 64 at a time. */
#ifndef NN_BASE_MASK_H
#define NN_BASE_MASK_H

#include <stdint.h>

#if defined __SSE2__
#include <emmintrin.h>
#endif

/* Bit i: p[i] == byte, of 64 bytes that may be read. */
static inline uint64_t nn_mask_equal(const char *p, char byte)
{
	uint64_t mask = 0;

#if defined __SSE2__
	for (int i = 0; i < 4; i++) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));

		mask |= (uint64_t)(unsigned)_mm_movemask_epi8(
				_mm_cmpeq_epi8(v, _mm_set1_epi8(byte)))
			<< (16 * i);
	}
#else
	for (int i = 0; i < 64; i++)
		mask |= (uint64_t)(p[i] == byte) << i;
#endif
	return mask;
}

/* Bit i: p[i] is 128 or more. */
static inline uint64_t nn_mask_high(const char *p)
{
	uint64_t mask = 0;

#if defined __SSE2__
	for (int i = 0; i < 4; i++)
		mask |= (uint64_t)(unsigned)_mm_movemask_epi8(
				_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i)))
			<< (16 * i);
#else
	for (int i = 0; i < 64; i++)
		mask |= (uint64_t)((unsigned char)p[i] >> 7) << i;
#endif
	return mask;
}

/* Bit i: an odd number of bits 0..i is set. */
static inline uint64_t nn_mask_odd(uint64_t mask)
{
	for (int shift = 1; shift < 64; shift *= 2)
		mask ^= mask << shift;
	return mask;
}

#endif
