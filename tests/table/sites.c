/* Where the ops are tried: at least one site for each, odd sizes, and what fusion puts behind them. */
#include "table/sites.h"

#define V(n) { 1, { n } }
#define M(a, b) { 2, { a, b } }
#define I(c, h, w) { 3, { c, h, w } }
#define A(type) &(const struct type)

#define RELU { NN_ACT_RELU, 0, false }
#define CONV(o, k, s, p, d, g, ...) \
	A(nn_conv2d) { .out = o, .kernel = { k, k }, .stride = { s, s }, .pad = { p, p }, .dilation = { d, d }, .groups = g, \
		       __VA_ARGS__ }
#define WINDOW(k, s, p) { { k, k }, { s, s }, { p, p } }
#define ACT(kind, slope) A(nn_activation_attrs) { kind, slope }

const struct site sites[] = {
	{ "relu", NN_OP_activation, ACT(NN_ACT_RELU, 0), { V(3700) }, 1, 15, 2 },
	{ "leaky-relu", NN_OP_activation, ACT(NN_ACT_LEAKY_RELU, 0.01), { I(3, 5, 4) }, 1, 5, 2 },
	{ "leaky-relu of slope -1", NN_OP_activation, ACT(NN_ACT_LEAKY_RELU, -1), { V(37) }, 1, 5, 2 },
	{ "elu", NN_OP_activation, ACT(NN_ACT_ELU, 1), { V(37) }, 1, 5, 2 },
	{ "elu of alpha -2", NN_OP_activation, ACT(NN_ACT_ELU, -2), { V(37) }, 1, 5, 2 },
	{ "gelu", NN_OP_activation, ACT(NN_ACT_GELU, 0), { V(37) }, 1, 5, 2 },
	{ "silu", NN_OP_activation, ACT(NN_ACT_SILU, 0), { V(37) }, 1, 5, 2 },
	{ "sigmoid", NN_OP_activation, ACT(NN_ACT_SIGMOID, 0), { V(3000) }, 1, 32, 2 },
	{ "tanh", NN_OP_activation, ACT(NN_ACT_TANH, 0), { V(37) }, 1, 5, 2 },
	{ "softplus", NN_OP_activation, ACT(NN_ACT_SOFTPLUS, 0), { V(37) }, 1, 5, 2 },
	{ "identity", NN_OP_activation, ACT(NN_ACT_NONE, 0), { V(37) }, 1, 5, 2 },

	{ "dense", NN_OP_dense, A(nn_dense) { .out = 10, .bias = true }, { V(37) }, 1, 33, 4 },
	{ "dense without bias", NN_OP_dense, A(nn_dense) { .out = 33 }, { V(5) }, 1, 7, 1 },
	{ "dense of one row", NN_OP_dense, A(nn_dense) { .out = 130, .bias = true, .epilogue = RELU }, { V(70) }, 1, 1, 1 },
	{ "dense of 300 inputs", NN_OP_dense, A(nn_dense) { .out = 70, .bias = true, .epilogue = RELU }, { V(300) }, 1, 130, 8 },
	{ "dense of a sequence", NN_OP_dense, A(nn_dense) { .out = 9, .bias = true, .epilogue = { NN_ACT_TANH, 0, false } },
	  { M(4, 11) }, 1, 17, 2 },
	{ "dense of an image", NN_OP_dense, A(nn_dense) { .out = 6, .bias = true, .channels = 5, .positions = 6 }, { V(30) }, 1, 20, 4 },
	{ "dense, residual, elu", NN_OP_dense, A(nn_dense) { .out = 20, .bias = true, .epilogue = { NN_ACT_ELU, 1, true } },
	  { V(20), V(20) }, 2, 20, 4 },
	{ "dense, residual, relu", NN_OP_dense, A(nn_dense) { .out = 40, .bias = true, .epilogue = { NN_ACT_RELU, 0, true } },
	  { V(300), V(40) }, 2, 20, 4 },

	{ "conv2d", NN_OP_conv2d, CONV(8, 3, 1, 1, 1, 1, .bias = true), { I(3, 7, 6) }, 1, 9, 4 },
	{ "conv2d of stride 2", NN_OP_conv2d, CONV(40, 3, 2, 1, 1, 1, .bias = true, .epilogue = RELU), { I(17, 9, 9) }, 1, 8, 2 },
	{ "conv2d 1x1", NN_OP_conv2d, CONV(20, 1, 1, 0, 1, 1, .bias = false), { I(33, 4, 5) }, 1, 5, 1 },
	{ "conv2d of 4 groups, dilation 2", NN_OP_conv2d, CONV(12, 3, 1, 2, 2, 4, .bias = true), { I(8, 7, 7) }, 1, 6, 2 },
	{ "conv2d by depth", NN_OP_conv2d, CONV(18, 3, 1, 1, 1, 18, .bias = true, .epilogue = RELU), { I(18, 6, 7) }, 1, 6, 2 },
	{ "conv2d, residual, sigmoid", NN_OP_conv2d, CONV(5, 3, 1, 1, 1, 1, .bias = true, .epilogue = { NN_ACT_SIGMOID, 0, true }),
	  { I(4, 5, 5), I(5, 5, 5) }, 2, 6, 2 },
	{ "conv2d, relu, maxpool2d", NN_OP_conv2d,
	  CONV(34, 3, 1, 0, 1, 1, .bias = true, .epilogue = RELU, .pooled = true, .pool = WINDOW(2, 2, 0)), { I(2, 10, 11) }, 1, 16, 4 },
	{ "conv2d, tanh, overlapping maxpool2d", NN_OP_conv2d,
	  CONV(6, 3, 1, 1, 1, 1, .bias = true, .epilogue = { NN_ACT_TANH, 0, false },
	       .pooled = true, .pool = WINDOW(3, 2, 1)), { I(3, 8, 8) }, 1, 16, 16 },
	{ "conv2d, residual, maxpool2d", NN_OP_conv2d,
	  CONV(6, 3, 1, 1, 1, 1, .bias = true, .epilogue = { NN_ACT_RELU, 0, true },
	       .pooled = true, .pool = WINDOW(2, 2, 0)), { I(3, 6, 6), I(6, 6, 6) }, 2, 12, 1 },

	{ "maxpool2d", NN_OP_maxpool2d, A(nn_pool2d) { WINDOW(2, 2, 0) }, { I(20, 8, 6) }, 1, 50, 2 },
	{ "maxpool2d, overlapping", NN_OP_maxpool2d, A(nn_pool2d) { WINDOW(3, 2, 1) }, { I(5, 9, 8) }, 1, 5, 2 },
	{ "maxpool2d of 17x17", NN_OP_maxpool2d, A(nn_pool2d) { WINDOW(17, 3, 0) }, { I(300, 20, 20) }, 1, 2, 1 },
	{ "avgpool2d", NN_OP_avgpool2d, A(nn_pool2d) { WINDOW(3, 2, 1) }, { I(20, 9, 8) }, 1, 40, 2 },
	{ "global-avgpool", NN_OP_global_avgpool, NULL, { I(20, 9, 8) }, 1, 40, 2 },

	{ "batchnorm of images", NN_OP_batchnorm, A(nn_batchnorm) { 4, 1e-5, 0.1, { 0 } }, { I(20, 9, 8) }, 1, 17, 4 },
	{ "batchnorm of many places", NN_OP_batchnorm, A(nn_batchnorm) { 8, 1e-5, 0.1, RELU }, { I(7, 32, 32) }, 1, 8, 1 },
	{ "batchnorm of vectors", NN_OP_batchnorm, A(nn_batchnorm) { 8, 1e-5, 0.1, RELU }, { V(37) }, 1, 43, 2 },
	{ "batchnorm, leaky-relu", NN_OP_batchnorm, A(nn_batchnorm) { 4, 1e-5, 0.1, { NN_ACT_LEAKY_RELU, 0.1, false } },
	  { I(18, 5, 5) }, 1, 17, 2 },
	{ "batchnorm, tanh", NN_OP_batchnorm, A(nn_batchnorm) { 4, 1e-5, 0.1, { NN_ACT_TANH, 0, false } }, { V(18) }, 1, 17, 2 },
	{ "batchnorm, residual, relu", NN_OP_batchnorm, A(nn_batchnorm) { 5, 1e-3, 0.3, { NN_ACT_RELU, 0, true } },
	  { I(33, 4, 4), I(33, 4, 4) }, 2, 20, 4 },
	{ "layernorm", NN_OP_layernorm, A(nn_layernorm) { 1e-5 }, { M(3, 37) }, 1, 170, 4 },
	{ "layernorm of 5000", NN_OP_layernorm, A(nn_layernorm) { 1e-5 }, { V(5000) }, 1, 4, 2 },

	{ "dropout", NN_OP_dropout, A(nn_dropout) { 0.3, 2 + 256 * 5 }, { V(300) }, 1, 70, 4 },
	{ "dropout of everything", NN_OP_dropout, A(nn_dropout) { 1, 2 }, { V(30) }, 1, 7, 1 },
	{ "embedding", NN_OP_embedding, A(nn_embedding) { 7, 5, NN_NO_ROW, false, false }, { V(3) }, 1, 33, 4 },
	{ "embedding of many rows", NN_OP_embedding, A(nn_embedding) { 70000, 16, NN_NO_ROW, false, true }, { V(20) }, 1, 130, 16 },
	{ "embedding with padding", NN_OP_embedding, A(nn_embedding) { 9, 37, 4, false, false }, { M(4, 5) }, 1, 50, 8 },
	{ "embedding, sum", NN_OP_embedding, A(nn_embedding) { 300, 1, NN_NO_ROW, true, false }, { V(26) }, 1, 100, 4 },
	{ "embedding, sum, padding", NN_OP_embedding, A(nn_embedding) { 12, 33, 3, true, false }, { M(3, 4) }, 1, 100, 2 },
	{ "softmax", NN_OP_softmax, A(nn_softmax) { false }, { V(10) }, 1, 333, 2 },
	{ "softmax of images", NN_OP_softmax, A(nn_softmax) { false }, { I(5, 4, 3) }, 1, 5, 2 },
	{ "log-softmax", NN_OP_softmax, A(nn_softmax) { true }, { M(3, 37) }, 1, 5, 2 },
	{ "log-softmax of 9000", NN_OP_softmax, A(nn_softmax) { true }, { V(9000) }, 1, 2, 1 },
	{ "add", NN_OP_add, NULL, { V(37), V(37) }, 2, 5, 2 },
	{ "add of three", NN_OP_add, NULL, { I(3, 4, 5), I(3, 4, 5), I(3, 4, 5) }, 3, 500, 2 },
	{ "mul of three", NN_OP_mul, NULL, { V(3700), V(3700), V(3700) }, 3, 5, 2 },
	{ "concat of vectors", NN_OP_concat, A(nn_concat) { 0 }, { V(37), V(1), V(20) }, 3, 5, 2 },
	{ "concat of channels", NN_OP_concat, A(nn_concat) { 0 }, { I(3, 4, 5), I(17, 4, 5) }, 2, 100, 2 },
	{ "concat of rows", NN_OP_concat, A(nn_concat) { 1 }, { I(3, 4, 5), I(3, 2, 5) }, 2, 5, 2 },
	{ "concat of columns", NN_OP_concat, A(nn_concat) { 2 }, { I(3, 4, 5), I(3, 4, 2) }, 2, 5, 2 },
	{ "concat of matrices", NN_OP_concat, A(nn_concat) { 1 }, { M(3, 4), M(3, 2) }, 2, 5, 2 },
	{ "reshape", NN_OP_reshape, A(nn_reshape) { V(60) }, { I(3, 4, 5) }, 1, 500, 2 },
	{ "permute to channels last", NN_OP_permute, A(nn_permute) { 17, 20, true }, { I(17, 4, 5) }, 1, 90, 2 },
	{ "permute to language order", NN_OP_permute, A(nn_permute) { 3, 35, false }, { I(3, 5, 7) }, 1, 5, 2 },
};

const size_t n_sites = sizeof sites / sizeof sites[0];
