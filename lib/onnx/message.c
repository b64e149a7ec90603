/*
 * Reading: all bytes, then the message without its weights, unpacked with bounded memory.
 *
 * A message of two bytes becomes a struct of some hundred, so what unpacking may take is bounded
 * beside the number of nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "onnx/message.h"

#define MOST_BYTES ((size_t)INT32_MAX) /* of a message: protobuf's own limit */
#define CHUNK ((size_t)1 << 20)
#define BUDGET ((size_t)256 << 20)
#define BUDGET_RATIO 32 /* times the bytes of the graph, beside BUDGET */

static int read_known(struct nn_onnx_file *f, struct nn_input *input, size_t n,
		      struct nn_error *err)
{
	return nn_input_load(input, &f->bytes, 0, n, "the model", err);
}

static int read_pipe(struct nn_onnx_file *f, struct nn_input *input, size_t *n,
		     struct nn_error *err)
{
	size_t got;

	*n = 0;
	do {
		if (nn_block_reserve(&f->bytes, *n + CHUNK, err) < 0 ||
		    nn_input_read(input, nn_block_at(&f->bytes, *n), CHUNK, &got, err) < 0)
			return -1;
		*n += got;
	} while (got > 0 && *n <= MOST_BYTES);
	return 0;
}

static int read_bytes(struct nn_onnx_file *f, struct nn_input *input, size_t *n,
		      struct nn_error *err)
{
	int64_t left = nn_input_left(input);

	*n = left > 0 ? (size_t)left : 0;
	if (*n <= MOST_BYTES &&
	    (left >= 0 ? read_known(f, input, *n, err) : read_pipe(f, input, n, err)) < 0)
		return -1;
	if (*n > MOST_BYTES)
		return nn_fail(err, NN_EFORMAT,
			       "%s: an ONNX file has at most 2 GiB; larger models have their "
			       "weights in files beside it",
			       f->path);
	return 0;
}

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
	size_t n;

	if (read_bytes(f, input, &n, err) < 0)
		return -1;
	if (nn_onnx_skeleton(&f->skeleton, f->bytes.data, n, err) < 0)
		return nn_fail_at(err, "%s", f->path);
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
	nn_block_free(&f->bytes);
}
