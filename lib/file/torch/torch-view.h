/* Inside the reader of PyTorch's files: tensors as views of storages. */
#ifndef NN_FILE_TORCH_VIEW_H
#define NN_FILE_TORCH_VIEW_H

#include "base/shape.h"

/* Where a tensor lies in its storage; offset and strides in elements. */
struct nn_torch_view {
	enum nn_dtype dtype;
	struct nn_shape shape;
	size_t offset, stride[NN_MAX_RANK];
};

/* Does every element lie inside the storage, of `room` elements? */
bool nn_torch_inside(const struct nn_torch_view *view, size_t room);
/* In C order without gaps? For shapes whose product fits. */
bool nn_torch_contiguous(const struct nn_torch_view *view);
/* The elements, of `size` bytes, in C order. */
void nn_torch_copy(char *to, const unsigned char *from, const struct nn_torch_view *view,
		   size_t size);

#endif
