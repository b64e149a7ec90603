/*
 * Philox4x32-10: ten rounds of two 32-bit products and a key that grows by Weyl constants (Salmon
 * et al., SC'11).
 */
#include "base/random.h"

void nn_philox(uint64_t seed, uint64_t index, uint32_t stream, uint32_t block, uint32_t out[4])
{
	uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32), c2 = stream, c3 = block;
	uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

	for (int round = 0; round < 10; round++) {
		uint64_t a = (uint64_t)0xD2511F53 * c0, b = (uint64_t)0xCD9E8D57 * c2;

		c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
		c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
		c1 = (uint32_t)b;
		c3 = (uint32_t)a;
		k0 += 0x9E3779B9;
		k1 += 0xBB67AE85;
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

uint32_t nn_random_u32(uint64_t seed, uint64_t index, uint32_t stream, uint64_t element)
{
	uint32_t out[4];

	nn_philox(seed, index, stream, (uint32_t)(element / 4), out);
	return out[element % 4];
}
