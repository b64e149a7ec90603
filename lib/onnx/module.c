/* The module nn-onnx: ONNX files into the tensors and text of a model file, and back. */
#include "base/module.h"
#include "onnx/module.h"

static const struct nn_onnx table = { nn_onnx_read, nn_onnx_write, nn_onnx_each_external };

const struct nn_module nn_module = { NN_MODULE_ABI, "onnx", &table };
