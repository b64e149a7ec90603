/* The table of ops. */
#include <string.h>

#include "onnx/ops.h"

static const struct {
	const char *name;
	nn_onnx_import_op *import;
	bool moves;
} ops[] = {
	{ "Add", nn_onnx_add, false },
	{ "AveragePool", nn_onnx_averagepool, false },
	{ "BatchNormalization", nn_onnx_batchnorm, false },
	{ "Cast", nn_onnx_cast, false },
	{ "Clip", nn_onnx_clip, false },
	{ "Concat", nn_onnx_concat, true },
	{ "Conv", nn_onnx_conv, false },
	{ "ConvTranspose", nn_onnx_conv_transpose, false },
	{ "Div", nn_onnx_div, false },
	{ "Dropout", nn_onnx_dropout, false },
	{ "Elu", nn_onnx_activation, false },
	{ "Flatten", nn_onnx_flatten, false },
	{ "Gather", nn_onnx_gather, true },
	{ "Gelu", nn_onnx_activation, false },
	{ "GRU", nn_onnx_recurrent, true },
	{ "Gemm", nn_onnx_gemm, false },
	{ "GlobalAveragePool", nn_onnx_global_average, false },
	{ "GlobalMaxPool", nn_onnx_global_max, false },
	{ "Identity", nn_onnx_identity, true },
	{ "LSTM", nn_onnx_recurrent, true },
	{ "LayerNormalization", nn_onnx_layernorm, false },
	{ "LeakyRelu", nn_onnx_activation, false },
	{ "LogSoftmax", nn_onnx_softmax, false },
	{ "MatMul", nn_onnx_matmul, false },
	{ "MaxPool", nn_onnx_maxpool, false },
	{ "Mul", nn_onnx_mul, false },
	{ "Pad", nn_onnx_pad, false },
	{ "RNN", nn_onnx_recurrent, true },
	{ "ReduceMean", nn_onnx_reduce_mean, false },
	{ "ReduceSum", nn_onnx_reduce_sum, false },
	{ "Relu", nn_onnx_activation, false },
	{ "Reshape", nn_onnx_reshape, true },
	{ "Resize", nn_onnx_resize, false },
	{ "Sigmoid", nn_onnx_activation, false },
	{ "Slice", nn_onnx_slice, true },
	{ "Softmax", nn_onnx_softmax, false },
	{ "Softplus", nn_onnx_activation, false },
	{ "Squeeze", nn_onnx_squeeze, true },
	{ "Sub", nn_onnx_sub, false },
	{ "Sum", nn_onnx_sum, false },
	{ "Tanh", nn_onnx_activation, false },
	{ "Transpose", nn_onnx_transposed, true },
	{ "Unsqueeze", nn_onnx_unsqueeze, false },
	{ "Upsample", nn_onnx_upsample, false },
};

static size_t find(const Onnx__Node *node)
{
	bool standard = !node->domain || !*node->domain || strcmp(node->domain, "ai.onnx") == 0;
	size_t n = sizeof ops / sizeof *ops;

	for (size_t i = 0; standard && i < n; i++)
		if (node->op_type && strcmp(ops[i].name, node->op_type) == 0)
			return i;
	return n;
}

nn_onnx_import_op *nn_onnx_op_find(const Onnx__Node *node)
{
	size_t i = find(node);

	return i < sizeof ops / sizeof *ops ? ops[i].import : NULL;
}

bool nn_onnx_op_moves(const Onnx__Node *node)
{
	size_t i = find(node);

	return i < sizeof ops / sizeof *ops && ops[i].moves;
}
