/* What the files of the dense layer share: block sizes and scratch. */
#ifndef NN_DEVICE_CPU_PRODUCT_DENSE_H
#define NN_DEVICE_CPU_PRODUCT_DENSE_H

#include "device/cpu/product.h"

/* Blocks of the input gradient: rows, out-channels, inputs. */
#define NN_DENSE_DX_ROWS ((size_t) 256)
#define NN_DENSE_DX_OUT ((size_t) 256)
#define NN_DENSE_DX_IN ((size_t) 256)

static inline size_t nn_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t nn_round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

#endif
