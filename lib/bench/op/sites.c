/*
 * The sites: of each op some at sizes of common networks, which are timed, and some of odd sizes
 * with what fusion puts behind the op, at which kernels are tried in every way.
 */
#include "bench/op/site.h"

/* clang-format off */
#define V(n) { 1, { n } }
#define M(a, b) { 2, { a, b } }
#define I(c, h, w) { 3, { c, h, w } }
#define WINDOW(k, s, p) { { k, k }, { s, s }, { p, p } }
#define RELU { NN_ACT_RELU, 0, false }
#define A(type) &(const struct type)
#define ACT(kind, slope) A(nn_activation_attrs){ kind, slope }
#define DENSE(n) A(nn_dense){ .out = n, .bias = true }
#define CONV(o, k, s, p, d, g, ...) \
	A(nn_conv2d){ .out = o, .kernel = { k, k }, .stride = { s, s }, .pad = { p, p }, \
		      .dilation = { d, d }, .groups = g, __VA_ARGS__ }
#define CELL(cell, units) A(nn_recurrent){ NN_CELL_##cell, units, true, false, 0 }
#define PART3(b0, b1, b2, n0, n1, n2, s0, s1, s2, v) \
	A(nn_slice){ 3, { b0, b1, b2 }, { n0, n1, n2 }, { s0, s1, s2 }, v }
#define UPCONV(o, k, s, p, q, g, ...) \
	A(nn_conv_transpose2d){ .out = o, .kernel = { k, k }, .stride = { s, s }, .pad = { p, p }, \
				.dilation = { 1, 1 }, .more = { q, q }, .groups = g, __VA_ARGS__ }
#define IN(...) \
	(const struct nn_shape[]){ __VA_ARGS__ }, \
		sizeof((const struct nn_shape[]){ __VA_ARGS__ }) / sizeof(struct nn_shape)
#define TIME(op, rows, in, ...) { NULL, NN_OP_##op, __VA_ARGS__, in, rows, 0 }
#define TRY(name, op, rows, leaves, in, ...) \
	{ name, NN_OP_##op, __VA_ARGS__, in, rows, leaves }

const struct nn_op_site nn_op_sites[] = {
	TIME(dense, 1, IN(V(784)), DENSE(128)),
	TIME(dense, 128, IN(V(784)), DENSE(128)),
	TIME(dense, 1024, IN(V(784)), DENSE(128)),
	TIME(dense, 128, IN(V(128)), DENSE(10)),
	TIME(dense, 256, IN(V(2048)), DENSE(2048)),
	TRY("dense", dense, 33, 4, IN(V(37)), A(nn_dense){ .out = 10, .bias = true }),
	TRY("dense without bias", dense, 7, 1, IN(V(5)), A(nn_dense){ .out = 33 }),
	TRY("dense of one row", dense, 1, 1, IN(V(70)),
	    A(nn_dense){ .out = 130, .bias = true, .epilogue = RELU }),
	TRY("dense of 300 inputs", dense, 130, 8, IN(V(300)),
	    A(nn_dense){ .out = 70, .bias = true, .epilogue = RELU }),
	TRY("dense of 516 inputs", dense, 17, 4, IN(V(516)), A(nn_dense){ .out = 40, .bias = true }),
	TRY("dense of 523 outputs", dense, 17, 2, IN(V(36)), A(nn_dense){ .out = 523, .bias = true }),
	TRY("dense of 516 outputs", dense, 9, 1, IN(V(533)), A(nn_dense){ .out = 516 }),
	TRY("dense of a sequence", dense, 17, 2, IN(M(4, 11)),
	    A(nn_dense){ .out = 9, .bias = true, .epilogue = { NN_ACT_TANH, 0, false } }),
	TRY("dense of an image", dense, 20, 4, IN(V(30)),
	    A(nn_dense){ .out = 6, .bias = true, .channels = 5, .positions = 6 }),
	TRY("dense, residual, elu", dense, 20, 4, IN(V(20), V(20)),
	    A(nn_dense){ .out = 20, .bias = true, .epilogue = { NN_ACT_ELU, 1, true } }),
	TRY("dense, residual, relu", dense, 20, 4, IN(V(300), V(40)),
	    A(nn_dense){ .out = 40, .bias = true, .epilogue = { NN_ACT_RELU, 0, true } }),

	TIME(conv2d, 64, IN(I(1, 28, 28)), CONV(32, 3, 1, 0, 1, 1, .bias = true)),
	TIME(conv2d, 64, IN(I(32, 13, 13)), CONV(64, 3, 1, 0, 1, 1, .bias = true)),
	TIME(conv2d, 64, IN(I(64, 8, 8)), CONV(128, 3, 1, 1, 1, 1, .bias = true)),
	TIME(conv2d, 32, IN(I(16, 32, 32)), CONV(32, 3, 2, 1, 1, 1, .bias = true)),
	TRY("conv2d", conv2d, 9, 4, IN(I(3, 7, 6)), CONV(8, 3, 1, 1, 1, 1, .bias = true)),
	TRY("conv2d of stride 2", conv2d, 8, 2, IN(I(17, 9, 9)),
	    CONV(40, 3, 2, 1, 1, 1, .bias = true, .epilogue = RELU)),
	TRY("conv2d 1x1", conv2d, 5, 1, IN(I(33, 4, 5)), CONV(20, 1, 1, 0, 1, 1, .bias = false)),
	TRY("conv2d of 4 groups, dilation 2", conv2d, 6, 2, IN(I(8, 7, 7)),
	    CONV(12, 3, 1, 2, 2, 4, .bias = true)),
	TRY("conv2d by depth", conv2d, 6, 2, IN(I(18, 6, 7)),
	    CONV(18, 3, 1, 1, 1, 18, .bias = true, .epilogue = RELU)),
	TRY("conv2d, residual, sigmoid", conv2d, 6, 2, IN(I(4, 5, 5), I(5, 5, 5)),
	    CONV(5, 3, 1, 1, 1, 1, .bias = true, .epilogue = { NN_ACT_SIGMOID, 0, true })),
	TRY("conv2d, relu, maxpool2d", conv2d, 16, 4, IN(I(2, 10, 11)),
	    CONV(34, 3, 1, 0, 1, 1, .bias = true, .epilogue = RELU,
		 .pooling = { true, WINDOW(2, 2, 0) })),
	TRY("conv2d, tanh, overlapping maxpool2d", conv2d, 16, 16, IN(I(3, 8, 8)),
	    CONV(6, 3, 1, 1, 1, 1, .bias = true, .epilogue = { NN_ACT_TANH, 0, false },
		 .pooling = { true, WINDOW(3, 2, 1) })),
	TRY("conv2d, residual, maxpool2d", conv2d, 12, 1, IN(I(3, 6, 6), I(6, 6, 6)),
	    CONV(6, 3, 1, 1, 1, 1, .bias = true, .epilogue = { NN_ACT_RELU, 0, true },
		 .pooling = { true, WINDOW(2, 2, 0) })),

	TIME(conv_transpose2d, 16, IN(I(32, 24, 24)), UPCONV(16, 2, 2, 0, 0, 1, .bias = true)),
	TIME(conv_transpose2d, 16, IN(I(32, 24, 24)), UPCONV(16, 3, 2, 1, 1, 1, .bias = true)),
	TRY("conv-transpose2d", conv_transpose2d, 9, 4, IN(I(17, 4, 3)),
	    UPCONV(20, 2, 2, 0, 0, 1, .bias = true)),
	TRY("conv-transpose2d of one row", conv_transpose2d, 1, 1, IN(I(3, 7, 6)),
	    UPCONV(8, 3, 1, 1, 0, 1, .epilogue = RELU)),
	TRY("conv-transpose2d, padded, leaky-relu", conv_transpose2d, 8, 2, IN(I(33, 5, 4)),
	    UPCONV(40, 3, 2, 1, 1, 1, .bias = true, .epilogue = { NN_ACT_LEAKY_RELU, 0.1, false })),
	TRY("conv-transpose2d of stride 3, groups", conv_transpose2d, 8, 8, IN(I(6, 3, 4)),
	    UPCONV(9, 2, 3, 0, 2, 3, .bias = true, .epilogue = RELU)),
	TRY("conv-transpose2d by depth, residual", conv_transpose2d, 6, 2, IN(I(18, 3, 4), I(18, 6, 8)),
	    UPCONV(18, 4, 2, 1, 0, 18, .bias = true, .epilogue = { NN_ACT_RELU, 0, true })),
	TRY("conv-transpose2d, dilation, residual, sigmoid", conv_transpose2d, 6, 2,
	    IN(I(4, 5, 3), I(5, 8, 6)),
	    A(nn_conv_transpose2d){ .out = 5, .kernel = { 2, 2 }, .stride = { 1, 1 }, .dilation = { 3, 3 },
				    .groups = 1, .bias = true,
				    .epilogue = { NN_ACT_SIGMOID, 0, true } }),

	TIME(maxpool2d, 32, IN(I(32, 26, 26)), A(nn_pool2d){ WINDOW(2, 2, 0) }),
	TRY("maxpool2d", maxpool2d, 50, 2, IN(I(20, 8, 6)), A(nn_pool2d){ WINDOW(2, 2, 0) }),
	TRY("maxpool2d, overlapping", maxpool2d, 5, 2, IN(I(5, 9, 8)),
	    A(nn_pool2d){ WINDOW(3, 2, 1) }),
	TRY("maxpool2d, a rest", maxpool2d, 5, 2, IN(I(8, 7, 9)), A(nn_pool2d){ WINDOW(2, 2, 0) }),
	TRY("maxpool2d, gaps", maxpool2d, 5, 2, IN(I(4, 8, 7)), A(nn_pool2d){ WINDOW(2, 3, 0) }),
	TRY("maxpool2d of 8 channels, overlapping", maxpool2d, 5, 2, IN(I(8, 9, 8)),
	    A(nn_pool2d){ WINDOW(3, 2, 1) }),
	TRY("maxpool2d of 17x17", maxpool2d, 2, 1, IN(I(300, 20, 20)),
	    A(nn_pool2d){ WINDOW(17, 3, 0) }),

	TIME(avgpool2d, 32, IN(I(32, 26, 26)), A(nn_pool2d){ WINDOW(2, 2, 0) }),
	TRY("avgpool2d", avgpool2d, 40, 2, IN(I(20, 9, 8)), A(nn_pool2d){ WINDOW(3, 2, 1) }),

	TIME(global_avgpool, 128, IN(I(64, 8, 8)), NULL),
	TRY("global-avgpool", global_avgpool, 40, 2, IN(I(20, 9, 8)), NULL),

	TIME(batchnorm, 128, IN(I(16, 32, 32)), A(nn_batchnorm){ 32, 1e-5, 0.1, { 0 } }),
	TIME(batchnorm, 128, IN(V(512)), A(nn_batchnorm){ 32, 1e-5, 0.1, { 0 } }),
	TRY("batchnorm of images", batchnorm, 17, 4, IN(I(20, 9, 8)),
	    A(nn_batchnorm){ 4, 1e-5, 0.1, { 0 } }),
	TRY("batchnorm of many places", batchnorm, 8, 1, IN(I(7, 32, 32)),
	    A(nn_batchnorm){ 8, 1e-5, 0.1, RELU }),
	TRY("batchnorm of vectors", batchnorm, 43, 2, IN(V(37)),
	    A(nn_batchnorm){ 8, 1e-5, 0.1, RELU }),
	TRY("batchnorm, leaky-relu", batchnorm, 17, 2, IN(I(18, 5, 5)),
	    A(nn_batchnorm){ 4, 1e-5, 0.1, { NN_ACT_LEAKY_RELU, 0.1, false } }),
	TRY("batchnorm of 24 channels, relu", batchnorm, 17, 2, IN(I(24, 5, 6)),
	    A(nn_batchnorm){ 4, 1e-5, 0.1, RELU }),
	TRY("batchnorm of 12 channels, residual", batchnorm, 17, 2, IN(I(12, 5, 6), I(12, 5, 6)),
	    A(nn_batchnorm){ 4, 1e-5, 0.1, { NN_ACT_LEAKY_RELU, 0.1, true } }),
	TRY("batchnorm, tanh", batchnorm, 17, 2, IN(V(18)),
	    A(nn_batchnorm){ 4, 1e-5, 0.1, { NN_ACT_TANH, 0, false } }),
	TRY("batchnorm, residual, relu", batchnorm, 20, 4, IN(I(33, 4, 4), I(33, 4, 4)),
	    A(nn_batchnorm){ 5, 1e-3, 0.3, { NN_ACT_RELU, 0, true } }),

	TIME(layernorm, 128, IN(V(512)), A(nn_layernorm){ 1e-5 }),
	TRY("layernorm", layernorm, 170, 4, IN(M(3, 37)), A(nn_layernorm){ 1e-5 }),
	TRY("layernorm of many positions", layernorm, 230, 1, IN(M(3, 20)), A(nn_layernorm){ 1e-5 }),
	TRY("layernorm of 9000", layernorm, 4, 2, IN(V(9000)), A(nn_layernorm){ 1e-5 }),

	TIME(dropout, 128, IN(V(512)), A(nn_dropout){ 0.5, 2 }),
	TRY("dropout", dropout, 70, 4, IN(V(300)), A(nn_dropout){ 0.3, 2 + 256 * 5 }),
	TRY("dropout of everything", dropout, 7, 1, IN(V(30)), A(nn_dropout){ 1, 2 }),

	TIME(embedding, 256, IN(V(20)), A(nn_embedding){ 100000, 16, NN_NO_ROW, false, true }),
	TRY("embedding", embedding, 33, 4, IN(V(3)),
	    A(nn_embedding){ 7, 5, NN_NO_ROW, false, false }),
	TRY("embedding of many rows", embedding, 130, 16, IN(V(20)),
	    A(nn_embedding){ 70000, 16, NN_NO_ROW, false, true }),
	TRY("embedding with padding", embedding, 50, 8, IN(M(4, 5)),
	    A(nn_embedding){ 9, 37, 4, false, false }),
	TRY("embedding, sum", embedding, 100, 4, IN(V(26)),
	    A(nn_embedding){ 300, 1, NN_NO_ROW, true, false }),
	TRY("embedding, sum, padding", embedding, 100, 2, IN(M(3, 4)),
	    A(nn_embedding){ 12, 33, 3, true, false }),

	TIME(recurrent, 32, IN(M(64, 128)), CELL(LSTM, 128)),
	TIME(recurrent, 32, IN(M(64, 128)), CELL(GRU, 128)),
	TIME(recurrent, 32, IN(M(64, 128)), CELL(RNN, 128)),
	TRY("rnn", recurrent, 17, 4, IN(M(5, 7)), CELL(RNN, 11)),
	TRY("rnn, relu", recurrent, 9, 2, IN(M(4, 3)), CELL(RNN_RELU, 33)),
	TRY("lstm", recurrent, 33, 4, IN(M(6, 5)), CELL(LSTM, 9)),
	TRY("lstm of one step", recurrent, 5, 1, IN(M(1, 4)), CELL(LSTM, 8)),
	TRY("lstm of many rows and steps", recurrent, 130, 8, IN(M(20, 2)), CELL(LSTM, 17)),
	TRY("lstm, back", recurrent, 7, 2, IN(M(18, 3)),
	    A(nn_recurrent){ NN_CELL_LSTM, 5, false, true, 1 }),
	TRY("lstm of 140 units", recurrent, 9, 2, IN(M(5, 5)), CELL(LSTM, 140)),
	TRY("gru of 20 units, back", recurrent, 19, 2, IN(M(6, 3)),
	    A(nn_recurrent){ NN_CELL_GRU, 20, true, true, 0 }),
	TRY("rnn of 12 units", recurrent, 10, 1, IN(M(7, 8)),
	    A(nn_recurrent){ NN_CELL_RNN, 12, false, false, 0 }),
	TRY("rnn of 8 units, relu", recurrent, 17, 2, IN(M(6, 3)), CELL(RNN_RELU, 8)),
	TRY("gru", recurrent, 33, 4, IN(M(6, 5)), CELL(GRU, 9)),
	TRY("gru, back", recurrent, 20, 2, IN(M(19, 1)),
	    A(nn_recurrent){ NN_CELL_GRU, 34, true, true, 0 }),

	TIME(last, 32, IN(M(64, 128)), NULL),
	TRY("last", last, 9, 2, IN(M(4, 37)), NULL),

	TIME(position, 16, IN(M(128, 128)), A(nn_position){ 0 }),
	TRY("position", position, 70, 4, IN(M(5, 19)), A(nn_position){ 0 }),

	TIME(attention, 16, IN(M(128, 384)), A(nn_attention){ .heads = 4, .causal = true }),
	TIME(attention, 16, IN(M(128, 384)), A(nn_attention){ .heads = 4, .causal = false }),
	TRY("attention", attention, 5, 2, IN(M(70, 120)), A(nn_attention){ .heads = 2, .causal = false }),
	TRY("attention, causal", attention, 5, 2, IN(M(70, 120)), A(nn_attention){ .heads = 2, .causal = true }),
	TRY("attention of a long sequence", attention, 2, 1, IN(M(200, 51)),
	    A(nn_attention){ .heads = 1, .causal = true }),
	TRY("attention of a wide head", attention, 2, 1, IN(M(20, 216)),
	    A(nn_attention){ .heads = 1, .causal = false }),
	TRY("attention of many heads", attention, 33, 4, IN(M(9, 96)), A(nn_attention){ .heads = 32, .causal = true }),
	TRY("attention of one position", attention, 3, 1, IN(M(1, 9)), A(nn_attention){ .heads = 3, .causal = true }),

	TIME(activation, 128, IN(V(512)), ACT(NN_ACT_RELU, 0)),
	TIME(activation, 128, IN(V(512)), ACT(NN_ACT_GELU, 0)),
	TIME(activation, 128, IN(V(512)), ACT(NN_ACT_SIGMOID, 0)),
	TIME(activation, 128, IN(V(512)), ACT(NN_ACT_TANH, 0)),
#define NN_ACTIVATION(ID, id, name, argument, slope, ...) \
	TRY(name, activation, 5, 2, IN(V(37)), ACT(NN_ACT_##ID, slope)),
#include "op/activations.def"
	TRY("relu of 3700", activation, 15, 2, IN(V(3700)), ACT(NN_ACT_RELU, 0)),
	TRY("leaky-relu of slope -1", activation, 5, 2, IN(I(3, 5, 4)), ACT(NN_ACT_LEAKY_RELU, -1)),
	TRY("elu of alpha -2", activation, 5, 2, IN(V(37)), ACT(NN_ACT_ELU, -2)),
	TRY("sigmoid of 3000", activation, 32, 2, IN(V(3000)), ACT(NN_ACT_SIGMOID, 0)),
	TRY("identity", activation, 5, 2, IN(V(37)), ACT(NN_ACT_NONE, 0)),

	TIME(softmax, 4096, IN(V(10)), A(nn_softmax){ false }),
	TIME(softmax, 128, IN(V(1000)), A(nn_softmax){ false }),
	TRY("softmax", softmax, 333, 2, IN(V(10)), A(nn_softmax){ false }),
	TRY("softmax of images", softmax, 5, 2, IN(I(5, 4, 3)), A(nn_softmax){ false }),
	TRY("log-softmax", softmax, 5, 2, IN(M(3, 37)), A(nn_softmax){ true }),
	TRY("log-softmax of 9000", softmax, 2, 1, IN(V(9000)), A(nn_softmax){ true }),

	TIME(add, 32, IN(V(16384), V(16384)), NULL),
	TRY("add", add, 5, 2, IN(V(37), V(37)), NULL),
	TRY("add of three", add, 500, 2, IN(I(3, 4, 5), I(3, 4, 5), I(3, 4, 5)), NULL),

	TIME(mul, 32, IN(V(16384), V(16384)), NULL),
	TRY("mul of three", mul, 5, 2, IN(V(3700), V(3700), V(3700)), NULL),

	TIME(concat, 32, IN(V(16384), V(16384)), A(nn_concat){ 0 }),
	TRY("concat of vectors", concat, 5, 2, IN(V(37), V(1), V(20)), A(nn_concat){ 0 }),
	TRY("concat of channels", concat, 100, 2, IN(I(3, 4, 5), I(17, 4, 5)), A(nn_concat){ 0 }),
	TRY("concat of rows", concat, 5, 2, IN(I(3, 4, 5), I(3, 2, 5)), A(nn_concat){ 1 }),
	TRY("concat of columns", concat, 5, 2, IN(I(3, 4, 5), I(3, 4, 2)), A(nn_concat){ 2 }),
	TRY("concat of matrices", concat, 5, 2, IN(M(3, 4), M(3, 2)), A(nn_concat){ 1 }),

	TIME(reshape, 64, IN(I(32, 32, 32)), A(nn_reshape){ V(32768) }),
	TRY("reshape", reshape, 500, 2, IN(I(3, 4, 5)), A(nn_reshape){ V(60) }),

	TIME(permute, 64, IN(I(32, 32, 32)), A(nn_permute){ 32, 1024, true }),
	TRY("permute to channels last", permute, 90, 2, IN(I(17, 4, 5)),
	    A(nn_permute){ 17, 20, true }),
	TRY("permute to language order", permute, 5, 2, IN(I(3, 5, 7)),
	    A(nn_permute){ 3, 35, false }),

	TIME(slice, 64, IN(I(32, 32, 32)), PART3(0, -1, -1, 32, 34, 34, 1, 1, 1, 0)),
	TRY("slice that pads", slice, 40, 2, IN(I(3, 5, 4)), PART3(0, -2, -1, 3, 8, 8, 1, 1, 1, 0.5)),
	TRY("slice that crops", slice, 40, 2, IN(I(3, 9, 8)), PART3(0, 2, 1, 3, 4, 6, 1, 1, 1, 0)),
	TRY("slice of channels", slice, 40, 2, IN(I(19, 3, 5)), PART3(1, 0, 0, 17, 3, 5, 1, 1, 1, 0)),
	TRY("slice by steps", slice, 5, 2, IN(I(7, 9, 8)), PART3(1, -3, 7, 3, 6, 2, 2, 2, 3, -1)),
	TRY("slice of nothing", slice, 5, 2, IN(I(2, 3, 3)), PART3(0, 5, -9, 2, 3, 4, 1, 1, 1, 2)),
	TRY("slice of vectors", slice, 100, 2, IN(V(40)),
	    A(nn_slice){ 1, { -3 }, { 37 }, { 1 }, 1 }),
	TRY("slice of matrices", slice, 5, 2, IN(M(5, 7)),
	    A(nn_slice){ 2, { 1, 0 }, { 2, 7 }, { 2, 1 }, 0 }),

	TIME(transpose, 64, IN(M(128, 256)), A(nn_transpose){ { 0, 1 } }),
	TRY("transpose", transpose, 90, 2, IN(M(17, 35)), A(nn_transpose){ { 1, 0 } }),
	TRY("transpose of height and width", transpose, 5, 2, IN(I(3, 4, 5)), A(nn_transpose){ { 1, 2 } }),
	TRY("transpose of channels and width", transpose, 5, 2, IN(I(3, 4, 5)),
	    A(nn_transpose){ { 0, 2 } }),
	TRY("transpose of channels and height", transpose, 5, 2, IN(I(3, 20, 5)),
	    A(nn_transpose){ { 1, 0 } }),
	TRY("transpose of itself", transpose, 5, 2, IN(I(3, 4, 5)), A(nn_transpose){ { 1, 1 } }),

	TIME(upsample, 16, IN(I(32, 24, 24)), A(nn_upsample){ { 2, 2 }, false, false }),
	TIME(upsample, 16, IN(I(32, 24, 24)), A(nn_upsample){ { 2, 2 }, true, false }),
	TRY("upsample", upsample, 40, 2, IN(I(17, 3, 5)), A(nn_upsample){ { 2, 3 }, false, false }),
	TRY("upsample, bilinear", upsample, 40, 2, IN(I(17, 3, 5)),
	    A(nn_upsample){ { 2, 3 }, true, false }),
	TRY("upsample, bilinear, corners", upsample, 5, 2, IN(I(3, 1, 4)),
	    A(nn_upsample){ { 3, 2 }, true, true }),
};
/* clang-format on */

const size_t nn_op_n_sites = sizeof nn_op_sites / sizeof *nn_op_sites;
