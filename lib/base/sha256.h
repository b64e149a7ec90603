/* SHA-256 (FIPS 180-4). */
#ifndef NN_BASE_SHA256_H
#define NN_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct nn_sha256 {
	uint32_t h[8];
	uint64_t length; /* bytes so far */
	unsigned char block[64];
	int wide; /* has the CPU instructions for it? 1, -1; 0: not asked yet */
};

#define NN_SHA256_HEX 65 /* 64 lower-case digits and NUL */

void nn_sha256_init(struct nn_sha256 *sha);
void nn_sha256_add(struct nn_sha256 *sha, const void *bytes, size_t n);
void nn_sha256_hex(struct nn_sha256 *sha, char hex[NN_SHA256_HEX]); /* ends it */

#endif
