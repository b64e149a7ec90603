/*
 * What the machine multiplies bytes by, for product/int8.c.
 *
 * i8v: int32 of I8_LANES out-channels; byte_dot: each plus the sum of four products of bytes of x
 * and q. A way is what only some processors of an instruction set have: i8_way() of I8_WAYS.
 */
#ifndef NN_DEVICE_CPU_PRODUCT_BYTES_H
#define NN_DEVICE_CPU_PRODUCT_BYTES_H

#include <string.h>
#ifdef NN_ISA_neon
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "device/cpu/int8.h"

#if defined NN_ISA_avx512
#define I8_LANES 16
#define I8_ROWS 6
#define I8_PANELS 4
#define I8_TARGET __attribute__((target("avx512vnni")))
typedef __m512i i8v;
typedef __m512i i8x;
NN_INLINE i8x byte_x(int32_t four)
{
	return _mm512_set1_epi32(four);
}
NN_INLINE i8v byte_load(const int8_t *w)
{
	return _mm512_loadu_si512(w);
}
#define byte_dot(sum, x, w, way) _mm512_dpbusd_epi32(sum, x, w)
#define byte_store(to, a) _mm512_storeu_si512(to, a)

#elif defined NN_ISA_avx2
/*
 * |x| and q with the sign of x: pairs of products are at most 2 * 128 * 127, which 16 bits hold; so
 * nothing saturates.
 */
#define I8_LANES 8
#define I8_ROWS 4
#define I8_PANELS 1
#define I8_TARGET
typedef __m256i i8v;
typedef __m256i i8x;
NN_INLINE i8x byte_x(int32_t four)
{
	return _mm256_set1_epi32(four);
}
NN_INLINE i8v byte_load(const int8_t *w)
{
	return _mm256_loadu_si256((const __m256i *)w);
}
NN_INLINE i8v byte_dot(i8v sum, i8x x, i8v w, int way)
{
	(void)way;
	const i8v pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(w, x));
	return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
#define byte_store(to, a) _mm256_storeu_si256((__m256i *)(to), a)

#elif defined NN_ISA_neon
#define I8_LANES 4
#define I8_ROWS 4
#define I8_PANELS 1
#define I8_TARGET
#define I8_WAYS 3 /* with all, with dotprod, with dotprod and i8mm */
typedef int32x4_t i8v;
typedef int8x16_t i8x;
NN_INLINE i8x byte_x(int32_t four)
{
	return vreinterpretq_s8_s32(vdupq_n_s32(four));
}
NN_INLINE i8v byte_load(const int8_t *w)
{
	return vreinterpretq_s32_s8(vld1q_s8(w));
}
/*
 * Instructions of some processors alone, as numbers: assemblers take the names in code for ARMv8.2
 * and later alone.
 */
__asm__(".irp "
	"n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
	".equ .Lnumber_of_v\\n, \\n\n"
	".endr");
#define SDOT "0x4e809400"
#define SMMLA "0x4e80a400"
#define BY_NUMBER(instruction, sum, a, b) \
	__asm__(".inst " instruction \
		" | .Lnumber_of_%0 | .Lnumber_of_%1 << 5 | .Lnumber_of_%2 << 16" \
		: "+w"(sum) \
		: "w"(a), "w"(b))
NN_INLINE i8v byte_dot(i8v sum, i8x x, i8v weights, int way)
{
	const int8x16_t w = vreinterpretq_s8_s32(weights);
	if (way) {
		BY_NUMBER(SDOT, sum, w, x);
		return sum;
	}
	const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(x)), high = vmull_high_s8(w, x);
	return vaddq_s32(sum, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
}
/* Two rows of eight bytes times two out-channels: four sums. */
NN_INLINE i8v byte_pairs(i8v sum, i8x x, i8x w)
{
	BY_NUMBER(SMMLA, sum, x, w);
	return sum;
}
NN_INLINE int i8_way(void)
{
	if (!(getauxval(AT_HWCAP) & HWCAP_ASIMDDP))
		return 0;
	return getauxval(AT_HWCAP2) & HWCAP2_I8MM ? 2 : 1;
}
#define byte_store(to, a) vst1q_s32(to, a)

#else
#define I8_LANES 1
#define I8_ROWS 1
#define I8_PANELS 1
#define I8_TARGET
typedef int32_t i8v;
typedef int32_t i8x;
NN_INLINE i8x byte_x(int32_t four)
{
	return four;
}
NN_INLINE i8v byte_load(const int8_t *w)
{
	i8v four;
	memcpy(&four, w, 4);
	return four;
}
NN_INLINE i8v byte_dot(i8v sum, i8x x, i8v w, int way)
{
	(void)way;
	int8_t a[4], b[4];
	memcpy(a, &x, 4);
	memcpy(b, &w, 4);
	return sum + a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}
#define byte_store(to, a) (*(to) = (a))
#endif

#ifndef I8_WAYS
#define I8_WAYS 1
#define i8_way() 0
#endif
#define I8_VECTORS ((int)NN_INT8_WIDTH / I8_LANES) /* of a panel */

#endif
