/*
 * CRC-32, eight bytes at a time: tables[k] is what a byte does that k others follow. Where an x86
 * multiplies without carry, 64 at a time; most Arms have an instruction for eight.
 */
#include <pthread.h>
#include <stdbool.h>

#include "base/cpu.h"
#include "base/crc32.h"

#if defined __x86_64__
#include <immintrin.h>
#elif defined __aarch64__
#include <string.h>
#include <sys/auxv.h>
#endif

static uint32_t tables[8][256];

static void fill(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t c = b;

		for (int i = 0; i < 8; i++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
		tables[0][b] = c;
	}
	for (int k = 1; k < 8; k++)
		for (int b = 0; b < 256; b++)
			tables[k][b] = tables[k - 1][b] >> 8 ^ tables[0][tables[k - 1][b] & 255];
}

static uint32_t by_table(uint32_t crc, const void *bytes, size_t n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const unsigned char *b = bytes;
	uint32_t c = ~crc;

	pthread_once(&once, fill);
	for (; n >= 8; b += 8, n -= 8) {
		c ^= (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
		     (uint32_t)b[3] << 24;
		c = tables[7][c & 255] ^ tables[6][c >> 8 & 255] ^ tables[5][c >> 16 & 255] ^
		    tables[4][c >> 24] ^ tables[3][b[4]] ^ tables[2][b[5]] ^ tables[1][b[6]] ^
		    tables[0][b[7]];
	}
	for (; n; b++, n--)
		c = c >> 8 ^ tables[0][(c ^ *b) & 255];
	return ~c;
}

/*
 * A block of 128 bits stands for a polynomial whose place in the message is D bits further on, so
 * it may be replaced by the remainder of block * x^D, added to the block that is there. Four blocks
 * go side by side, and one is left in the end. (Gopal et al. 2009, Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction.)
 */
#if defined __x86_64__
#define LANES 4
#define BLOCK 16
#define WORTH 1024 /* bytes */

/*
 * x^n modulo the polynomial; bit 63 - e of the result stands for x^e, as in the halves of a block.
 */
static uint64_t power(int n)
{
	uint32_t r = (uint32_t)1 << 31;

	while (n-- > 0)
		r = r >> 1 ^ (r & 1 ? 0xedb88320 : 0);
	return (uint64_t)r << 32;
}

/* The product of two halves has one factor x too many: the constants have one less. */
__attribute__((target("pclmul,sse4.1"))) static inline __m128i constants(int distance)
{
	return _mm_set_epi64x((long long)power(distance - 1), (long long)power(distance + 64 - 1));
}

__attribute__((target("pclmul,sse4.1"))) static inline __m128i fold(__m128i block, __m128i by,
								    __m128i onto)
{
	return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(block, by, 0x00),
					   _mm_clmulepi64_si128(block, by, 0x11)),
			     onto);
}

__attribute__((target("pclmul,sse4.1"))) static inline __m128i load(const unsigned char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* Of whole blocks, at least LANES of them; n is a multiple of BLOCK. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t
crc_of_blocks(uint32_t crc, const unsigned char *p, size_t n)
{
	const __m128i far = constants(LANES * BLOCK * 8), near = constants(BLOCK * 8);
	unsigned char last[BLOCK];
	__m128i lane[LANES], sum;

	for (int i = 0; i < LANES; i++, p += BLOCK, n -= BLOCK)
		lane[i] = load(p);
	lane[0] = _mm_xor_si128(lane[0], _mm_cvtsi32_si128((int)~crc));
	for (; n >= LANES * BLOCK; n -= LANES * BLOCK)
		for (int i = 0; i < LANES; i++, p += BLOCK)
			lane[i] = fold(lane[i], far, load(p));
	sum = lane[0];
	for (int i = 1; i < LANES; i++)
		sum = fold(sum, near, lane[i]);
	for (; n > 0; p += BLOCK, n -= BLOCK)
		sum = fold(sum, near, load(p));
	_mm_storeu_si128((__m128i *)(void *)last, sum);
	return by_table(0xffffffff, last,
			BLOCK); /* what came before is in the block, and is not to be added again */
}

static bool has_blocks(void)
{
	return NN_CPU_HAS(PCLMULQDQ) && NN_CPU_HAS(SSE4_1);
}
#elif defined __aarch64__
#define WORTH 64
#define BLOCK 8

static uint32_t crc_of_blocks(uint32_t crc, const unsigned char *p, size_t n)
{
	uint32_t c = ~crc;

	for (; n > 0; p += BLOCK, n -= BLOCK) {
		uint64_t block;

		memcpy(&block, p, sizeof block);
		__asm__(".arch_extension crc\n\tcrc32x %w0, %w0, %1" : "+r"(c) : "r"(block));
	}
	return ~c;
}

static bool has_blocks(void)
{
	return getauxval(AT_HWCAP) & HWCAP_CRC32;
}
#else
#define WORTH SIZE_MAX
#define BLOCK 1

static uint32_t crc_of_blocks(uint32_t crc, const unsigned char *p, size_t n)
{
	return by_table(crc, p, n);
}

static bool has_blocks(void)
{
	return false;
}
#endif

uint32_t nn_crc32(uint32_t crc, const void *bytes, size_t n)
{
	size_t whole = n >= WORTH && has_blocks() ? n / BLOCK * BLOCK : 0;

	if (whole)
		crc = crc_of_blocks(crc, bytes, whole);
	return by_table(crc, (const unsigned char *)bytes + whole, n - whole);
}
