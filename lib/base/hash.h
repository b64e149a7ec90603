/*
 * A fast hash of bytes, for tables in memory and to distinguish things where nobody
 * tries to make them collide.
 */
#ifndef NN_BASE_HASH_H
#define NN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * FNV-1a, 64 bits (Fowler, Noll and Vo): of the bytes after those that gave `hash`; NN_FNV1A at
 * first. Its low bits are weak.
 */
#define NN_FNV1A UINT64_C(0xcbf29ce484222325)
static inline uint64_t nn_fnv1a(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
