/* Bytes that equal one, as bits: 64 at a time. */
#ifndef NN_BASE_MASK_H
#define NN_BASE_MASK_H

#include <stdint.h>

#if defined __SSE2__
#include <emmintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>

/* Bit i: byte i of v[] is not 0 (all ones, or 128). */
static inline uint64_t nn_mask_of(const uint8x16_t v[4])
{
	static const uint8_t bits[16] = {
		1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128
	};
	const uint8x16_t b = vld1q_u8(bits);
	uint8x16_t low = vpaddq_u8(vandq_u8(vtstq_u8(v[0], v[0]), b),
				   vandq_u8(vtstq_u8(v[1], v[1]), b)),
		   high = vpaddq_u8(vandq_u8(vtstq_u8(v[2], v[2]), b),
				    vandq_u8(vtstq_u8(v[3], v[3]), b));

	low = vpaddq_u8(low, high);
	return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
}
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
#elif defined __aarch64__
	uint8x16_t v[4];

	for (int i = 0; i < 4; i++)
		v[i] = vceqq_u8(vld1q_u8((const uint8_t *)p + 16 * i), vdupq_n_u8((uint8_t)byte));
	mask = nn_mask_of(v);
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
#elif defined __aarch64__
	uint8x16_t v[4];

	for (int i = 0; i < 4; i++)
		v[i] = vandq_u8(vld1q_u8((const uint8_t *)p + 16 * i), vdupq_n_u8(128));
	mask = nn_mask_of(v);
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
