/* SHA-256 as FIPS 180-4 writes it down, and with the instructions that many CPUs have for it. */
#include <stdbool.h>
#include <string.h>

#include "base/cpu.h"
#include "base/sha256.h"

#if defined __x86_64__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#include <sys/auxv.h>
#endif

static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static inline uint32_t rotate(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void add_plain(struct nn_sha256 *sha, const unsigned char *p)
{
	uint32_t w[64], s[8];

	for (int i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
	memcpy(s, sha->h, sizeof s);
	for (int i = 0; i < 64; i++) {
		uint32_t t1 = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
			      ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
		uint32_t t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
			      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof *s);
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		sha->h[i] += s[i];
}

#if defined __x86_64__
/*
 * Four rounds at a time: abef and cdgh hold the state as sha256rnds2 wants it, w[i % 4] the words
 * of rounds 4 i to 4 i + 3, which from the fifth on are made from the last sixteen.
 */
__attribute__((target("sha,sse4.1"))) static void add_wide(struct nn_sha256 *sha,
							   const unsigned char *p)
{
	const __m128i big_endian =
		_mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
	uint32_t *h = sha->h, end[8];
	__m128i abef = _mm_set_epi32((int)h[0], (int)h[1], (int)h[4], (int)h[5]);
	__m128i cdgh = _mm_set_epi32((int)h[2], (int)h[3], (int)h[6], (int)h[7]), w[4], m;

	for (int i = 0; i < 4; i++)
		w[i] = _mm_shuffle_epi8(
			_mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i)), big_endian);
	for (int i = 0; i < 16; i++) {
		__m128i last = w[(i + 3) % 4];

		if (i >= 4) {
			m = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]),
					  _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
			w[i % 4] = _mm_sha256msg2_epu32(m, last);
		}
		m = _mm_add_epi32(w[i % 4],
				  _mm_loadu_si128((const __m128i *)(const void *)(k + 4 * i)));
		cdgh = _mm_sha256rnds2_epu32(cdgh, abef, m);
		abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(m, 0x0e));
	}
	_mm_storeu_si128((__m128i *)(void *)end, abef);
	_mm_storeu_si128((__m128i *)(void *)(end + 4), cdgh);
	for (int i = 0; i < 2; i++) {
		h[i] += end[3 - i];
		h[4 + i] += end[1 - i];
		h[2 + i] += end[7 - i];
		h[6 + i] += end[5 - i];
	}
}

static bool has_wide(void)
{
	return NN_CPU_HAS(SSE4_1) && NN_CPU_HAS(SHA);
}
#elif defined __aarch64__
#define EXTENDED ".arch_extension sha2\n\t" /* instructions that not every Arm has */

/* Four rounds at a time; the words of later ones as above. */
static void add_wide(struct nn_sha256 *sha, const unsigned char *p)
{
	const uint32x4_t before[2] = { vld1q_u32(sha->h), vld1q_u32(sha->h + 4) };
	uint32x4_t abcd = before[0], efgh = before[1], w[4];

	for (int i = 0; i < 4; i++)
		w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(p + 16 * i)));
	for (int i = 0; i < 16; i++) {
		uint32x4_t m, last = abcd;

		if (i >= 4) {
			__asm__(EXTENDED "sha256su0 %0.4s, %1.4s"
				: "+w"(w[i % 4])
				: "w"(w[(i + 1) % 4]));
			__asm__(EXTENDED "sha256su1 %0.4s, %1.4s, %2.4s"
				: "+w"(w[i % 4])
				: "w"(w[(i + 2) % 4]), "w"(w[(i + 3) % 4]));
		}
		m = vaddq_u32(w[i % 4], vld1q_u32(k + 4 * i));
		__asm__(EXTENDED "sha256h %q0, %q1, %2.4s" : "+w"(abcd) : "w"(efgh), "w"(m));
		__asm__(EXTENDED "sha256h2 %q0, %q1, %2.4s" : "+w"(efgh) : "w"(last), "w"(m));
	}
	vst1q_u32(sha->h, vaddq_u32(before[0], abcd));
	vst1q_u32(sha->h + 4, vaddq_u32(before[1], efgh));
}

static bool has_wide(void)
{
	return getauxval(AT_HWCAP) & HWCAP_SHA2;
}
#else
#define add_wide add_plain

static bool has_wide(void)
{
	return false;
}
#endif

void nn_sha256_init(struct nn_sha256 *sha)
{
	static const uint32_t start[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};

	memcpy(sha->h, start, sizeof start);
	sha->length = 0;
	sha->wide = 0;
}

void nn_sha256_add(struct nn_sha256 *sha, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	size_t held = sha->length % 64;
	void (*add_block)(struct nn_sha256 * sha, const unsigned char *p) = add_plain;

	/* asking the CPU takes as long as some blocks, most of all in a virtual machine */
	if (n >= 4096 && sha->wide == 0)
		sha->wide = has_wide() ? 1 : -1;
	if (sha->wide > 0)
		add_block = add_wide;
	sha->length += n;
	if (held) {
		size_t take = n < 64 - held ? n : 64 - held;

		memcpy(sha->block + held, p, take);
		if (held + take < 64)
			return;
		add_block(sha, sha->block);
		p += take;
		n -= take;
	}
	for (; n >= 64; p += 64, n -= 64)
		add_block(sha, p);
	if (n > 0)
		memcpy(sha->block, p, n);
}

void nn_sha256_hex(struct nn_sha256 *sha, char hex[NN_SHA256_HEX])
{
	static const unsigned char pad[64] = { 0x80 };
	static const char digits[] = "0123456789abcdef";
	uint64_t bits = sha->length * 8;
	unsigned char tail[8];

	for (int i = 0; i < 8; i++)
		tail[i] = (unsigned char)(bits >> (56 - 8 * i));
	nn_sha256_add(sha, pad, 1 + (119 - sha->length % 64) % 64);
	nn_sha256_add(sha, tail, 8);
	for (int i = 0; i < 32; i++) {
		unsigned byte = sha->h[i / 4] >> (24 - 8 * (i % 4)) & 0xff;

		hex[2 * i] = digits[byte >> 4];
		hex[2 * i + 1] = digits[byte & 15];
	}
	hex[64] = '\0';
}
