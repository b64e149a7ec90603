/* What a reduction found in its result: values that do not fit, NaN. */
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"
#include "reduce/arrays.h"

/* A place as numpy writes it: [2,5]. */
static void place_text(char *buffer, size_t room, const struct nn_shape *shape, size_t index)
{
	size_t place[NN_MAX_RANK], at = 1;

	for (int i = shape->rank - 1; i >= 0; i--) {
		place[i] = index % shape->dim[i];
		index /= shape->dim[i];
	}
	snprintf(buffer, room, "[]");
	for (int i = 0; i < shape->rank; i++)
		at += (size_t)snprintf(buffer + at, room - at, "%zu%c", place[i],
				       i + 1 < shape->rank ? ',' : ']');
}

int nn_arrays_found(const struct nn_allreduce_host *host, const struct nn_reduce *reduce,
		    const struct nn_st_tensor *tensor, const struct nn_reduce_found *found,
		    struct nn_error *err)
{
	char label[NN_TENSOR_LABEL], place[NN_MAX_RANK * 21 + 2], text[NN_TENSOR_LABEL + 80];

	nn_tensor_label(label, tensor);
	if (found->overflow != SIZE_MAX) {
		place_text(place, sizeof place, &tensor->shape, found->overflow);
		return nn_fail(err, NN_EFAIL,
			       "--op=%s: %svalue %s does not fit into %s; use --op=mean or files "
			       "of a wider type",
			       nn_reduce_ops[reduce->op], label, place,
			       nn_dtype_name(tensor->dtype));
	}
	if (found->nan) {
		snprintf(text, sizeof text, "%s%zu of %zu value%s of the result %s NaN", label,
			 found->nan, nn_shape_count(&tensor->shape),
			 nn_s(nn_shape_count(&tensor->shape)), found->nan == 1 ? "is" : "are");
		host->warn(host->arg, text);
	}
	return 0;
}
