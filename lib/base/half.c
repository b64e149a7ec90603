/*
 * f16 and bf16 to f32 and back: plain loops, and steps of eight values with the instructions that
 * most CPUs have for them.
 *
 * AVX2 and F16C, or NEON, are used where the CPU has them, whatever NN_CPU says: the bytes are
 * those of the plain loops, which a test compares.
 */
#include <stdint.h>
#include <string.h>

#include "base/cpu.h"
#include "base/half.h"
#include "base/wide.h"

/*
 * Its bits with the exponent of f32, where there are two biases; below the normal halves a whole
 * number times 2^-24, which no f32 is too small for.
 */
static inline uint32_t f16_to_bits(uint16_t h)
{
	uint32_t low = h & 0x7fff, bits = (low << 13) + (112u << 23), tiny;
	float f = (float)(int32_t)low * 0x1p-24f;

	memcpy(&tiny, &f, 4);
	bits = low < 0x400 ? tiny : bits;
	bits = low >= 0x7c00 ? bits + (112u << 23) : bits;
	return bits | (uint32_t)(h & 0x8000) << 16;
}

/*
 * No NaN. Round to nearest even by adding half of the last place; below the normal halves by adding
 * 2^-1 to what has the weight 2^-24.
 */
static inline uint16_t bits_to_f16(uint32_t bits)
{
	uint32_t sign = bits >> 16 & 0x8000, low = bits & 0x7fffffff, normal, tiny;
	float f;

	normal = (low + 0xfff + (low >> 13 & 1) - (112u << 23)) >> 13;
	memcpy(&f, &low, 4);
	f += 0.5f;
	memcpy(&tiny, &f, 4);
	tiny -= 0x3f000000;
	normal = low < (113u << 23) ? tiny : normal;
	normal = low >= 0x47800000 ? 0x7c00 : normal;
	return (uint16_t)(sign | normal);
}

static inline uint32_t bf16_to_bits(uint16_t h)
{
	return (uint32_t)h << 16;
}

static inline uint16_t bits_to_bf16(uint32_t bits)
{
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define LOOPS(t, to_bits, to_half, QUIET) \
	NN_WIDE(void, widen_##t, (const void *half, void *wide, size_t n), (half, wide, n)) \
	{ \
		const uint16_t *h = half; \
		uint32_t *w = wide; \
		NN_NO_CARRY for (size_t i = 0; i < n; i++) w[i] = to_bits(h[i]); \
	} \
	NN_WIDE(size_t, narrow_##t, (const void *wide, void *half, float divisor, size_t n), \
		(wide, half, divisor, n)) \
	{ \
		const float *w = wide; \
		uint16_t *h = half; \
		uint32_t nan = 0; \
		NN_NO_CARRY for (size_t i = 0; i < n; i++) \
		{ \
			float x = w[i] / divisor; \
			uint32_t bits; \
			memcpy(&bits, &x, 4); \
			nan += x != x; \
			h[i] = x != x ? QUIET : to_half(bits); \
		} \
		return nan; \
	}

LOOPS(f16, f16_to_bits, bits_to_f16, 0x7e00)
LOOPS(bf16, bf16_to_bits, bits_to_bf16, 0x7fc0)

/* ---- by AVX2 and F16C, whatever else the library is compiled for ---- */

#if defined __x86_64__
#include <immintrin.h>

#define EIGHT __attribute__((target("avx2,f16c")))

EIGHT static void widen_f16c(const void *half, void *wide, size_t n)
{
	const uint16_t *h = half;
	float *w = wide;
	size_t i = 0;

	for (; i + 8 <= n; i += 8)
		_mm256_storeu_ps(w + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(h + i))));
	widen_f16(h + i, w + i, n - i);
}

EIGHT static size_t narrow_f16c(const void *wide, void *half, float divisor, size_t n)
{
	const __m256 d = _mm256_set1_ps(divisor),
		     quiet = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000));
	const float *w = wide;
	uint16_t *h = half;
	size_t i = 0, nan = 0;

	for (; i + 8 <= n; i += 8) {
		__m256 x = _mm256_div_ps(_mm256_loadu_ps(w + i), d),
		       is_nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);

		nan += (size_t)__builtin_popcount((unsigned)_mm256_movemask_ps(is_nan));
		x = _mm256_blendv_ps(x, quiet, is_nan);
		_mm_storeu_si128((__m128i *)(h + i),
				 _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
	}
	return nan + narrow_f16(w + i, h + i, divisor, n - i);
}

EIGHT static void widen_bf16_avx2(const void *half, void *wide, size_t n)
{
	const uint16_t *h = half;
	uint32_t *w = wide;
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		__m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(h + i)));

		_mm256_storeu_si256((__m256i *)(w + i), _mm256_slli_epi32(bits, 16));
	}
	widen_bf16(h + i, w + i, n - i);
}

/* The bf16 of eight f32 in the lower halves of 32 bits; NaN counted. */
EIGHT static inline __m256i round_bf16(const float *w, __m256 divisor, size_t *nan)
{
	const __m256i half = _mm256_set1_epi32(0x7fff), one = _mm256_set1_epi32(1),
		      quiet = _mm256_set1_epi32(0x7fc0);
	__m256 x = _mm256_div_ps(_mm256_loadu_ps(w), divisor),
	       is_nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
	__m256i bits = _mm256_castps_si256(x),
		odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);

	*nan += (size_t)__builtin_popcount((unsigned)_mm256_movemask_ps(is_nan));
	bits = _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, half), odd), 16);
	return _mm256_blendv_epi8(bits, quiet, _mm256_castps_si256(is_nan));
}

EIGHT static size_t narrow_bf16_avx2(const void *wide, void *half, float divisor, size_t n)
{
	const __m256 d = _mm256_set1_ps(divisor);
	const float *w = wide;
	uint16_t *h = half;
	size_t i = 0, nan = 0;

	for (; i + 16 <= n; i += 16) {
		__m256i low = round_bf16(w + i, d, &nan), high = round_bf16(w + i + 8, d, &nan);

		_mm256_storeu_si256((__m256i *)(h + i),
				    _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8));
	}
	return nan + narrow_bf16(w + i, h + i, divisor, n - i);
}

static bool has_f16c(void)
{
	return NN_CPU_HAS(AVX2) && NN_CPU_HAS(F16C);
}

/* ---- by the conversions that every Arm of 64 bits has; bf16 is left to the compiler ---- */

#elif defined __aarch64__
#include <arm_neon.h>

static void widen_f16_neon(const void *half, void *wide, size_t n)
{
	const uint16_t *h = half;
	float *w = wide;
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
		vst1q_f32(w + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(h + i))));
	widen_f16(h + i, w + i, n - i);
}

static size_t narrow_f16_neon(const void *wide, void *half, float divisor, size_t n)
{
	const float32x4_t d = vdupq_n_f32(divisor),
			  quiet = vreinterpretq_f32_u32(vdupq_n_u32(0x7fc00000));
	const float *w = wide;
	uint16_t *h = half;
	size_t i = 0, nan = 0;

	for (; i + 4 <= n; i += 4) {
		float32x4_t x = vdivq_f32(vld1q_f32(w + i), d);
		uint32x4_t is_number = vceqq_f32(x, x);

		nan += 4 - vaddvq_u32(vshrq_n_u32(is_number, 31));
		x = vbslq_f32(is_number, x, quiet);
		vst1_u16(h + i, vreinterpret_u16_f16(vcvt_f16_f32(x)));
	}
	return nan + narrow_f16(w + i, h + i, divisor, n - i);
}
#endif

const struct nn_half *nn_half(enum nn_dtype dtype, bool plain)
{
	static const struct nn_half f16 = { widen_f16, narrow_f16 },
				    bf16 = { widen_bf16, narrow_bf16 };
#if defined __x86_64__
	static const struct nn_half f16c = { widen_f16c, narrow_f16c },
				    bf16_avx2 = { widen_bf16_avx2, narrow_bf16_avx2 };

	if (!plain && has_f16c())
		return dtype == NN_F16 ? &f16c : &bf16_avx2;
#elif defined __aarch64__
	static const struct nn_half f16_neon = { widen_f16_neon, narrow_f16_neon };

	if (!plain && dtype == NN_F16)
		return &f16_neon;
#else
	(void)plain;
#endif
	return dtype == NN_F16 ? &f16 : &bf16;
}
