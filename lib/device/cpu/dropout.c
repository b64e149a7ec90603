/*
 * dropout: an element is kept where its Philox number says so (numerics.md), and scaled by 1 / (1 -
 * p); backward draws again.
 */
#include <math.h>
#include "device/cpu/cpu.h"
#include "device/cpu/kernels.h"

#define NN_BLOCKS 64 /* of four numbers, made at once */

/*
 * Numbers 4 * block.. of the row with this index: the same as nn_philox, one round over all blocks
 * after the other.
 */
static void draw(uint64_t seed, uint64_t index, uint32_t stream, uint32_t block,
		 uint32_t numbers[4 * NN_BLOCKS])
{
	uint32_t c0[NN_BLOCKS], c1[NN_BLOCKS], c2[NN_BLOCKS], c3[NN_BLOCKS];
	uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
	for (uint32_t i = 0; i < NN_BLOCKS; i++) {
		c0[i] = (uint32_t)index;
		c1[i] = (uint32_t)(index >> 32);
		c2[i] = stream;
		c3[i] = block + i;
	}
	for (int round = 0; round < 10; round++, k0 += 0x9E3779B9, k1 += 0xBB67AE85)
		for (int i = 0; i < NN_BLOCKS; i++) {
			uint64_t a = (uint64_t)0xD2511F53 * c0[i], b = (uint64_t)0xCD9E8D57 * c2[i];
			c0[i] = (uint32_t)(b >> 32) ^ c1[i] ^ k0;
			c2[i] = (uint32_t)(a >> 32) ^ c3[i] ^ k1;
			c1[i] = (uint32_t)b;
			c3[i] = (uint32_t)a;
		}
	for (int i = 0; i < NN_BLOCKS; i++) {
		numbers[4 * i] = c0[i];
		numbers[4 * i + 1] = c1[i];
		numbers[4 * i + 2] = c2[i];
		numbers[4 * i + 3] = c3[i];
	}
}

struct dropout_mask {
	uint32_t below; /* of 2^24: dropped */
	real scale;
};

/* A uniform number x < p is dropped; numbers have 24 bits, so that p may be rounded up to those. */
static struct dropout_mask mask_of(double p)
{
	struct dropout_mask mask = { (uint32_t)ceil(p * 0x1p24), p < 1 ? (real)(1 / (1 - p)) : 0 };
	return mask;
}

/* to = from * mask, of one row; NaN stays NaN, as in PyTorch. */
static void drop_row(const struct nn_call *call, size_t row, const real *from, real *to, size_t n,
		     bool add)
{
	const struct nn_dropout *dropout = call->site.attrs;
	const struct dropout_mask mask = mask_of(dropout->p);
	uint64_t first = call->sample + (call->now ? call->now->sample : 0);
	uint32_t numbers[4 * NN_BLOCKS];
	for (size_t at = 0; at < n; at += 4 * NN_BLOCKS) {
		size_t count = n - at < 4 * NN_BLOCKS ? n - at : 4 * NN_BLOCKS;
		draw(call->seed, first + row, dropout->stream, (uint32_t)(at / 4), numbers);
		if (add)
			for (size_t i = 0; i < count; i++)
				to[at + i] += from[at + i] *
					      ((numbers[i] >> 8) < mask.below ? 0 : mask.scale);
		else
			for (size_t i = 0; i < count; i++)
				to[at + i] = from[at + i] *
					     ((numbers[i] >> 8) < mask.below ? 0 : mask.scale);
	}
}

static void forward_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	size_t n = nn_shape_count(&call->site.out);
	(void)thread;
	for (size_t r = begin; r < end; r++)
		drop_row(call, r, (const real *)call->x[0] + r * n, (real *)call->y + r * n, n,
			 false);
}

static void backward_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	size_t n = nn_shape_count(&call->site.out);
	(void)thread;
	for (size_t r = begin; r < end; r++)
		drop_row(call, r, (const real *)call->dy + r * n, (real *)call->dx[0] + r * n, n,
			 call->dx_add[0]);
}

static void forward(const struct nn_call *call)
{
	nn_cpu_split(call->pool, call->rows, 1, 16 * sizeof(real) * nn_shape_count(&call->site.out),
		     forward_piece, (void *)call);
}

static void backward(const struct nn_call *call)
{
	if (call->dx[0])
		nn_cpu_split(call->pool, call->rows, 1,
			     16 * sizeof(real) * nn_shape_count(&call->site.out), backward_piece,
			     (void *)call);
}

const struct nn_kernel NN_K(dropout) = { .forward = forward, .backward = backward };
