/* Bytes of tensors that lie in files beside the model. */
#ifndef NN_ONNX_EXTERNAL_H
#define NN_ONNX_EXTERNAL_H

#include "file/bytes.h"
#include "onnx/message.h"

/*
 * n bytes of the tensor into block: from a regular file in the model's folder or below it, reached
 * over no link, which has one name. Errors say what is wrong, not where.
 */
int nn_onnx_external(const struct nn_onnx_file *file, const Onnx__Tensor *tensor, size_t n,
		     struct nn_block *block, struct nn_error *err);

#endif
