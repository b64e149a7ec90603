/* The nets that bench.c times, the same as in peers.py. */
#ifndef TESTS_BENCH_NETS_H
#define TESTS_BENCH_NETS_H

#include "base/shape.h"

static const struct net {
	const char *name, *text;
	struct nn_shape input; /* the first */
	size_t classes;
} nets[] = {
	{ "mlp", "input 784, dense 128, relu, dense 10", { 1, { 784 } }, 10 },
	{ "big",
	  "input 1024, dense 2048, relu, dense 2048, relu, dense 1000",
	  { 1, { 1024 } },
	  1000 },
	{ "tiny", "input 100, dense 2", { 1, { 100 } }, 2 },
	{ "mnist-cnn",
	  "input 1x28x28, conv2d 32 3x3, relu, maxpool2d 2, conv2d 64 3x3, relu, maxpool2d 2, "
	  "flatten, "
	  "dense 128, relu, dense 10",
	  { 3, { 1, 28, 28 } },
	  10 },
	{ "cifar-cnn",
	  "input 3x32x32, conv2d 32 3x3 pad=1, relu, maxpool2d 2, conv2d 64 3x3 pad=1, relu, "
	  "maxpool2d 2, "
	  "conv2d 128 3x3 pad=1, relu, maxpool2d 2, flatten, dense 256, relu, dense 10",
	  { 3, { 3, 32, 32 } },
	  10 },
	{ "vgg",
	  "input 3x32x32, conv2d 32 3x3 pad=1, relu, conv2d 32 3x3 pad=1, relu, maxpool2d 2, "
	  "conv2d 64 3x3 pad=1, relu, conv2d 64 3x3 pad=1, relu, maxpool2d 2, "
	  "conv2d 128 3x3 pad=1, relu, conv2d 128 3x3 pad=1, relu, maxpool2d 2, "
	  "flatten, dense 256, relu, dense 10",
	  { 3, { 3, 32, 32 } },
	  10 },
	{ "inception",
	  "input 3x32x32, conv2d 32 3x3 pad=1, relu, i1: maxpool2d 2, "
	  "conv2d 16 1x1, a1: relu, conv2d 16 1x1 from=i1, relu, conv2d 32 3x3 pad=1, b1: relu, "
	  "conv2d 8 1x1 from=i1, relu, conv2d 16 5x5 pad=2, c1: relu, "
	  "maxpool2d 3 stride=1 pad=1 from=i1, conv2d 16 1x1, d1: relu, "
	  "concat from=a1+b1+c1+d1, i2: maxpool2d 2, "
	  "conv2d 32 1x1, a2: relu, conv2d 32 1x1 from=i2, relu, conv2d 64 3x3 pad=1, b2: relu, "
	  "conv2d 16 1x1 from=i2, relu, conv2d 32 5x5 pad=2, c2: relu, "
	  "maxpool2d 3 stride=1 pad=1 from=i2, conv2d 32 1x1, d2: relu, "
	  "concat from=a2+b2+c2+d2, global-avgpool, dense 10",
	  { 3, { 3, 32, 32 } },
	  10 },
	{ "unet",
	  "input 3x96x96, conv2d 16 3x3 pad=1, relu, conv2d 16 3x3 pad=1, d1: relu, maxpool2d 2, "
	  "conv2d 32 3x3 pad=1, relu, conv2d 32 3x3 pad=1, d2: relu, maxpool2d 2, "
	  "conv2d 64 3x3 pad=1, relu, conv2d 64 3x3 pad=1, d3: relu, maxpool2d 2, "
	  "conv2d 128 3x3 pad=1, relu, conv2d 128 3x3 pad=1, relu, "
	  "u3: conv-transpose2d 64 2x2 stride=2, concat from=u3+d3, "
	  "conv2d 64 3x3 pad=1, relu, conv2d 64 3x3 pad=1, relu, "
	  "u2: conv-transpose2d 32 2x2 stride=2, concat from=u2+d2, "
	  "conv2d 32 3x3 pad=1, relu, conv2d 32 3x3 pad=1, relu, "
	  "u1: conv-transpose2d 16 2x2 stride=2, concat from=u1+d1, "
	  "conv2d 16 3x3 pad=1, relu, conv2d 16 3x3 pad=1, relu, conv2d 3 1x1",
	  { 3, { 3, 96, 96 } },
	  3 },
	{ "resnet8",
	  "input 3x32x32, conv2d 16 3x3 pad=1 bias=no, batchnorm, s0: relu, "
	  "conv2d 16 3x3 pad=1 bias=no, batchnorm, relu, conv2d 16 3x3 pad=1 bias=no, b1: "
	  "batchnorm, a1: add from=b1+s0, s1: relu, "
	  "conv2d 32 3x3 stride=2 pad=1 bias=no, batchnorm, relu, conv2d 32 3x3 pad=1 bias=no, b2: "
	  "batchnorm, "
	  "conv2d 32 1x1 stride=2 bias=no from=s1, d2: batchnorm, a2: add from=b2+d2, s2: relu, "
	  "conv2d 64 3x3 stride=2 pad=1 bias=no, batchnorm, relu, conv2d 64 3x3 pad=1 bias=no, b3: "
	  "batchnorm, "
	  "conv2d 64 1x1 stride=2 bias=no from=s2, d3: batchnorm, a3: add from=b3+d3, relu, "
	  "global-avgpool, flatten, dense 10",
	  { 3, { 3, 32, 32 } },
	  10 },
	{ "lstm", "input 64x128, lstm 128, last, dense 10", { 2, { 64, 128 } }, 10 },
	{ "gru", "input 64x128, gru 128, last, dense 10", { 2, { 64, 128 } }, 10 },
	{ "transformer",
	  "input 128x128, layernorm, a: attention 4 causal=yes, b: add from=input+a, layernorm, "
	  "dense 512, gelu, c: dense 128, add from=b+c, last, dense 10",
	  { 2, { 128, 128 } },
	  10 },
	/* that of share/examples with as many columns as Criteo's clicks, hashed to one table */
	{ "wide-and-deep",
	  "c: input 26 index=yes, number: input 13, "
	  "wide: embedding 2 rows=65536 mode=sum init=zeros sparse=yes from=c, "
	  "embedding 16 rows=65536 sparse=yes from=c, deep: flatten, concat from=deep+number, "
	  "dense 256, relu, dense 128, relu, top: dense 2, add from=wide+top",
	  { 1, { 26 } },
	  2 },
};

#endif
