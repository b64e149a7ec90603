/*
 * Reading: the message without its weights, unpacked with bounded memory.
 *
 * A message of two bytes becomes a struct of some hundred, so what unpacking may take is bounded
 * beside the number of nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "onnx/message.h"

#define BUDGET ((size_t)256 << 20)
#define BUDGET_RATIO 32 /* times the bytes of the graph, beside BUDGET */

static void *take(void *arg, size_t n)
{
	struct nn_onnx_file *f = arg;

	if (n > f->budget - f->spent)
		return NULL;
	f->spent += n;
	return malloc(n);
}

static void give(void *arg, void *memory)
{
	(void)arg;
	free(memory);
}

int nn_onnx_file_read(struct nn_onnx_file *f, struct nn_input *input, struct nn_error *err)
{
	ProtobufCAllocator allocator = { take, give, f };
	const struct nn_text *bytes = &f->skeleton.bytes;

	if (nn_onnx_skeleton(&f->skeleton, input, f->later, err) < 0)
		return -1;
	f->budget = BUDGET + BUDGET_RATIO * bytes->length;
	f->model = bytes->length == 0 ? NULL
				      : onnx__model__unpack(&allocator, bytes->length,
							    (const uint8_t *)bytes->data);
	if (!f->model)
		return nn_fail(err, NN_EFORMAT, "%s: is no ONNX model, or damaged", f->path);
	if (!f->model->graph)
		return nn_fail(err, NN_EFORMAT, "%s: an ONNX file without a graph", f->path);
	return 0;
}

void nn_onnx_file_free(struct nn_onnx_file *f)
{
	ProtobufCAllocator allocator = { take, give, f };

	if (f->model)
		onnx__model__free_unpacked(f->model, &allocator);
	nn_onnx_skeleton_free(&f->skeleton);
}
