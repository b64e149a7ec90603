/* The table of ops. */
#include <string.h>

#include "onnx/ops.h"

static const struct {
	const char *name;
	nn_onnx_import_op *import;
} ops[] = {
	{ "Add", nn_onnx_add },
	{ "AveragePool", nn_onnx_averagepool },
	{ "BatchNormalization", nn_onnx_batchnorm },
	{ "Cast", nn_onnx_cast },
	{ "Clip", nn_onnx_clip },
	{ "Concat", nn_onnx_concat },
	{ "Conv", nn_onnx_conv },
	{ "ConvTranspose", nn_onnx_conv_transpose },
	{ "Div", nn_onnx_div },
	{ "Dropout", nn_onnx_dropout },
	{ "Elu", nn_onnx_activation },
	{ "Flatten", nn_onnx_flatten },
	{ "Gather", nn_onnx_gather },
	{ "Gelu", nn_onnx_activation },
	{ "Gemm", nn_onnx_gemm },
	{ "GlobalAveragePool", nn_onnx_global_average },
	{ "GlobalMaxPool", nn_onnx_global_max },
	{ "Identity", nn_onnx_identity },
	{ "LayerNormalization", nn_onnx_layernorm },
	{ "LeakyRelu", nn_onnx_activation },
	{ "LogSoftmax", nn_onnx_softmax },
	{ "MatMul", nn_onnx_matmul },
	{ "MaxPool", nn_onnx_maxpool },
	{ "Mul", nn_onnx_mul },
	{ "Pad", nn_onnx_pad },
	{ "ReduceMean", nn_onnx_reduce_mean },
	{ "ReduceSum", nn_onnx_reduce_sum },
	{ "Relu", nn_onnx_activation },
	{ "Reshape", nn_onnx_reshape },
	{ "Resize", nn_onnx_resize },
	{ "Sigmoid", nn_onnx_activation },
	{ "Slice", nn_onnx_slice },
	{ "Softmax", nn_onnx_softmax },
	{ "Softplus", nn_onnx_activation },
	{ "Squeeze", nn_onnx_squeeze },
	{ "Sub", nn_onnx_sub },
	{ "Sum", nn_onnx_sum },
	{ "Tanh", nn_onnx_activation },
	{ "Transpose", nn_onnx_transposed },
	{ "Unsqueeze", nn_onnx_unsqueeze },
	{ "Upsample", nn_onnx_upsample },
};

nn_onnx_import_op *nn_onnx_op_find(const Onnx__Node *node)
{
	bool standard = !node->domain || !*node->domain || strcmp(node->domain, "ai.onnx") == 0;

	for (size_t i = 0; standard && i < sizeof ops / sizeof *ops; i++)
		if (node->op_type && strcmp(ops[i].name, node->op_type) == 0)
			return ops[i].import;
	return NULL;
}
