/* Tensors as views of storages: is one inside, and its elements in C order. */
#include <string.h>

#include "base/memory.h"
#include "file/torch/torch-view.h"

/* Does the last element lie inside the storage, of `room` elements? */
bool nn_torch_inside(const struct nn_torch_view *view, size_t room)
{
	size_t last = view->offset, part;

	for (int d = 0; d < view->shape.rank; d++) {
		if (view->shape.dim[d] == 0)
			return view->offset <= room;
		if (!nn_mul(view->shape.dim[d] - 1, view->stride[d], &part) ||
		    !nn_add(last, part, &last))
			return false;
	}
	return last < room;
}

bool nn_torch_contiguous(const struct nn_torch_view *view)
{
	size_t wanted = 1;

	for (int d = view->shape.rank; d-- > 0;) {
		if (view->shape.dim[d] != 1 && view->stride[d] != wanted)
			return false;
		wanted *= view->shape.dim[d];
	}
	return true;
}

void nn_torch_copy(char *to, const unsigned char *from, const struct nn_torch_view *view,
		   size_t size)
{
	size_t n = nn_shape_count(&view->shape), at = view->offset, index[NN_MAX_RANK] = { 0 };

	for (size_t i = 0; i < n; i++) {
		memcpy(to + i * size, from + at * size, size);
		for (int d = view->shape.rank; d-- > 0;) {
			at += view->stride[d];
			if (++index[d] < view->shape.dim[d])
				break;
			at -= view->stride[d] * index[d];
			index[d] = 0;
		}
	}
}
