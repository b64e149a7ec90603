/* A walk over the fields of an ONNX model as they come, which keeps weights apart from the rest. */
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/limit.h"
#include "base/memory.h"
#include "file/safetensors.h"
#include "onnx/skeleton.h"

#define MOST_BYTES ((uint64_t)INT32_MAX) /* of a message: protobuf's own limit */

/* Numbers of fields, as onnx.proto has them. */
enum { MODEL_GRAPH = 7, GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, TENSOR_RAW = 9 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { HEAD = 20 }; /* two varints */

/* A message on its way in. */
struct span {
	struct nn_input *input;
	uint64_t left;
	const char *what;
};

struct field {
	uint64_t number;
	bool bytes;
	unsigned char head[HEAD]; /* its tag, with its length or value */
	size_t n_head;
	uint64_t size; /* of what follows the head, which is the caller's to take */
};

static int damaged(const struct span *s, struct nn_error *err)
{
	return nn_fail(err, NN_EFORMAT, "%s: %s is damaged or ends early", nn_input_name(s->input),
		       s->what);
}

static int too_many(const struct span *s, enum nn_limit_id what, struct nn_error *err)
{
	char said[NN_LIMIT_TEXT];

	return nn_fail(err, NN_EFORMAT, "%s: the graph has more than %s", nn_input_name(s->input),
		       nn_limit_said(what, 0, said));
}

static bool next_varint(const unsigned char *bytes, size_t n, size_t *at, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 70 && *at < n; shift += 7) {
		unsigned char byte = bytes[(*at)++];

		if (shift < 64)
			*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* What comes before a field's content; false: it is no field. */
static bool read_head(struct field *f, const unsigned char *bytes, size_t n)
{
	uint64_t tag, value;

	*f = (struct field){ 0 };
	if (!next_varint(bytes, n, &f->n_head, &tag) || tag >> 3 == 0)
		return false;
	f->number = tag >> 3;
	f->bytes = (tag & 7) == BYTES;
	f->size = (tag & 7) == FIXED64 ? 8 : (tag & 7) == FIXED32 ? 4 : 0;
	if ((tag & 7) != VARINT && !f->bytes && f->size == 0)
		return false;
	if (f->size == 0 && !next_varint(bytes, n, &f->n_head, &value))
		return false;
	if (f->bytes)
		f->size = value;
	memcpy(f->head, bytes, f->n_head);
	return true;
}

/* 1: a field; 0: the end, which of a pipe is where it ends. */
static int next_field(struct span *s, struct field *f, struct nn_error *err)
{
	const unsigned char *bytes;
	size_t got;

	if (s->left == 0)
		return 0;
	if (nn_input_peek(s->input, &bytes, HEAD, &got, err) < 0)
		return -1;
	if (got == 0 && s->left > MOST_BYTES)
		return 0;
	if (!read_head(f, bytes, got < s->left ? got : (size_t)s->left))
		return damaged(s, err);
	nn_input_take(s->input, f->n_head);
	s->left -= f->n_head;
	if (f->size > s->left)
		return damaged(s, err);
	s->left -= f->size;
	return 1;
}

/* The field as it is. */
static int keep_field(const struct span *s, const struct field *f, struct nn_text *text,
		      struct nn_error *err)
{
	const unsigned char *bytes;
	size_t got;

	nn_text_add_bytes(text, (const char *)f->head, f->n_head);
	for (uint64_t left = f->size; left > 0; left -= got) {
		if (nn_input_some(s->input, &bytes, &got, err) < 0)
			return -1;
		if (got == 0)
			return damaged(s, err);
		got = got < left ? got : (size_t)left;
		nn_text_add_bytes(text, (const char *)bytes, got);
		nn_input_take(s->input, got);
	}
	return 0;
}

static void add_varint(struct nn_text *text, uint64_t value)
{
	for (; value >= 0x80; value >>= 7) {
		char byte = (char)(value | 0x80);

		nn_text_add_bytes(text, &byte, 1);
	}
	nn_text_add_bytes(text, (const char[]){ (char)value }, 1);
}

static void add_message(struct nn_text *text, unsigned number, const struct nn_text *message)
{
	add_varint(text, number << 3 | BYTES);
	add_varint(text, message->length);
	if (message->length > 0)
		nn_text_add_bytes(text, message->data, message->length);
	text->failed |= message->failed;
}

static int take_weights(struct nn_onnx_skeleton *k, const struct span *s, size_t n,
			struct nn_onnx_raw *raw, struct nn_error *err)
{
	size_t at = (k->used + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN;

	if (k->fd >= 0 && n >= NN_ST_LATER) {
		*raw = (struct nn_onnx_raw){ .n = n, .found = true, .waits = true };
		raw->begin = k->size - (uint64_t)nn_input_left(s->input);
		return nn_input_skip(s->input, n, err);
	}
	*raw = (struct nn_onnx_raw){ .n = n, .at = at, .found = true };
	k->used = at + n;
	return nn_input_load(s->input, &k->weights, at, n, "a tensor", err);
}

static struct nn_onnx_raw *next_raw(struct nn_onnx_skeleton *k, const struct span *s,
				    struct nn_error *err)
{
	size_t room = k->raw_room ? 2 * k->raw_room : 64, size = sizeof *k->raw;

	if (k->n_raw == nn_limit(NN_LIMIT_TENSORS)) {
		too_many(s, NN_LIMIT_TENSORS, err);
		return NULL;
	}
	if (k->n_raw == k->raw_room) {
		struct nn_onnx_raw *more = nn_realloc(k->raw, k->raw_room * size, room * size, err);

		if (!more)
			return NULL;
		k->raw = more;
		k->raw_room = room;
	}
	k->raw[k->n_raw] = (struct nn_onnx_raw){ 0 };
	return &k->raw[k->n_raw++];
}

/* A tensor into `text` but for its raw_data. */
static int take_tensor(struct nn_onnx_skeleton *k, struct span s, struct nn_text *text,
		       struct nn_error *err)
{
	struct nn_onnx_raw *raw = next_raw(k, &s, err);
	struct field f;
	int more = 0, status = raw ? 0 : -1;

	while (status == 0 && (more = next_field(&s, &f, err)) > 0)
		status = f.number == TENSOR_RAW && f.bytes
				 ? take_weights(k, &s, (size_t)f.size, raw, err)
				 : keep_field(&s, &f, text, err);
	return status < 0 || more < 0 ? -1 : 0;
}

static int take_graph(struct nn_onnx_skeleton *k, struct span s, struct nn_text *graph,
		      struct nn_error *err)
{
	struct nn_text tensor = { 0 };
	struct field f;
	size_t n_nodes = 0;
	int more = 0, status = 0;

	while (status == 0 && (more = next_field(&s, &f, err)) > 0) {
		if (f.number != GRAPH_INITIALIZER || !f.bytes) {
			n_nodes += f.number == GRAPH_NODE;
			status = n_nodes > nn_limit(NN_LIMIT_NODES)
					 ? too_many(&s, NN_LIMIT_NODES, err)
					 : keep_field(&s, &f, graph, err);
			continue;
		}
		nn_text_clear(&tensor);
		status = take_tensor(k, (struct span){ s.input, f.size, "a tensor" }, &tensor, err);
		add_message(graph, GRAPH_INITIALIZER, &tensor);
	}
	nn_text_free(&tensor);
	return status < 0 || more < 0 ? -1 : 0;
}

static int take_model(struct nn_onnx_skeleton *k, struct span s, struct nn_error *err)
{
	uint64_t whole = s.left;
	struct nn_text graph = { 0 };
	bool has_graph = false;
	struct field f;
	int more = 0, status = 0;

	while (status == 0 && (more = next_field(&s, &f, err)) > 0) {
		if (whole - s.left > MOST_BYTES) {
			status = nn_fail(err, NN_EFORMAT,
					 "%s: an ONNX file has at most 2 GiB; larger models have "
					 "their weights in files beside it",
					 nn_input_name(s.input));
		} else if (f.number != MODEL_GRAPH || !f.bytes) {
			status = keep_field(&s, &f, &k->bytes, err);
		} else if (has_graph) {
			status = nn_fail(err, NN_EFORMAT, "%s: there are two graphs",
					 nn_input_name(s.input));
		} else {
			has_graph = true;
			status = take_graph(k, (struct span){ s.input, f.size, "the graph" },
					    &graph, err);
			add_message(&k->bytes, MODEL_GRAPH, &graph);
		}
	}
	nn_text_free(&graph);
	return status < 0 || more < 0 ? -1 : 0;
}

/* Places for what waits, behind the others, whose memory nothing touches until it is loaded. */
static int place_waiting(struct nn_onnx_skeleton *k, struct nn_error *err)
{
	for (size_t i = 0; i < k->n_raw; i++) {
		struct nn_onnx_raw *raw = &k->raw[i];

		if (!raw->waits)
			continue;
		raw->at = (k->used + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN;
		if (!nn_add(raw->at, raw->n, &k->used))
			return nn_fail(err, NN_ENOMEM, "the tensors are larger than memory can be");
	}
	return nn_block_reserve(&k->weights, k->used, err);
}

int nn_onnx_skeleton(struct nn_onnx_skeleton *k, struct nn_input *input, bool later,
		     struct nn_error *err)
{
	int64_t left = nn_input_left(input);
	struct span s = { input, left < 0 ? UINT64_MAX : (uint64_t)left, "the model" };
	uint64_t begin = 0;

	k->fd = later ? nn_input_reopen(input, &begin) : -1;
	k->size = begin + (left < 0 ? 0 : (uint64_t)left);
	if (take_model(k, s, err) < 0)
		return -1;
	if (k->bytes.failed)
		return nn_fail(err, NN_ENOMEM, "%s: cannot allocate a model's graph",
			       nn_input_name(input));
	if (place_waiting(k, err) < 0)
		return nn_fail_at(err, "%s", nn_input_name(input));
	for (size_t i = 0; i < k->n_raw; i++)
		if (k->raw[i].found)
			k->raw[i].data = nn_block_at(&k->weights, k->raw[i].at);
	return 0;
}

void nn_onnx_skeleton_load(struct nn_onnx_skeleton *k, struct nn_onnx_raw *raw)
{
	if (!raw->waits)
		return;
	raw->waits = false;
	k->failed |= !nn_read_at(k->fd, nn_block_at(&k->weights, raw->at), raw->n, raw->begin);
}

void nn_onnx_skeleton_free(struct nn_onnx_skeleton *k)
{
	nn_text_free(&k->bytes);
	nn_free(k->raw);
	nn_block_free(&k->weights);
	if (k->fd >= 0)
		close(k->fd);
	*k = (struct nn_onnx_skeleton){ 0 };
}
