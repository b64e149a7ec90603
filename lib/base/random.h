/*
 * Random numbers by counter: Philox4x32-10 (Salmon et al., SC'11), so that any number can be had
 * alone.
 *
 * The stream of an initial value is NN_STREAM_INIT + 16 times the number of the parameter in its
 * line + 256 times its canonical line.
 */
#ifndef NN_BASE_RANDOM_H
#define NN_BASE_RANDOM_H

#include <stdint.h>

/*
 * The streams: one constant below 16 per use, + 256 * canonical line number; initial values + 16 *
 * number of the parameter in its line (weight 0, bias 1), modulo 16: element e is lane e % 4 of
 * index e / 4, block that number / 16.
 */
enum nn_stream {
	NN_STREAM_INIT = 1,
	NN_STREAM_DROPOUT = 2,
	NN_STREAM_SHUFFLE = 3,
	NN_STREAM_SPLIT = 4,
	NN_STREAM_AUGMENT = 5,
	NN_STREAM_NOISE = 6,
	NN_STREAM_ARRIVALS = 7,
	NN_STREAM_GENERATE = 8,
	NN_STREAM_REPLAY = 9,
};

/* out = philox(key = seed, counter = (index low, index high, stream, block)) */
void nn_philox(uint64_t seed, uint64_t index, uint32_t stream, uint32_t block, uint32_t out[4]);

/* [0, 1), 24 bits */
static inline float nn_uniform(uint32_t x)
{
	return (float)(x >> 8) * 0x1p-24f;
}

/*
 * Numbers that only fill arrays or pick places, one after the other (a linear congruential
 * generator, Knuth's MMIX): the high bits are random.
 */
static inline uint64_t nn_lcg(uint64_t *state)
{
	return *state = *state * 6364136223846793005u + 1442695040888963407u;
}

/* Element `lane element % 4` of the block `element / 4`. */
uint32_t nn_random_u32(uint64_t seed, uint64_t index, uint32_t stream, uint64_t element);

#endif
