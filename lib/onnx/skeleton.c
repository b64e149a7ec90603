/* A walk over the fields of an ONNX model that copies all but its weights. */
#include <string.h>

#include "base/memory.h"
#include "onnx/skeleton.h"

/* Numbers of fields, as onnx.proto has them. */
enum { MODEL_GRAPH = 7, GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, TENSOR_RAW = 9 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct span {
	const unsigned char *at, *end;
};

struct field {
	uint64_t number;
	struct span whole;   /* with its tag */
	struct span content; /* of BYTES */
	bool bytes;
};

static bool next_varint(struct span *s, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 70 && s->at < s->end; shift += 7) {
		unsigned char byte = *s->at++;

		if (shift < 64)
			*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* 1: a field; 0: the end; -1: no field. */
static int next_field(struct span *s, struct field *f)
{
	uint64_t tag, n = 0;

	if (s->at == s->end)
		return 0;
	*f = (struct field){ .whole = *s };
	if (!next_varint(s, &tag))
		return -1;
	f->number = tag >> 3;
	f->bytes = (tag & 7) == BYTES;
	switch (tag & 7) {
	case VARINT:
		if (!next_varint(s, &n))
			return -1;
		n = 0;
		break;
	case FIXED64:
		n = 8;
		break;
	case FIXED32:
		n = 4;
		break;
	case BYTES:
		if (!next_varint(s, &n))
			return -1;
		break;
	default:
		return -1;
	}
	if (n > (size_t)(s->end - s->at) || f->number == 0)
		return -1;
	f->content = (struct span){ s->at, s->at + n };
	s->at += n;
	f->whole.end = s->at;
	return 1;
}

static void add_span(struct nn_text *text, struct span s)
{
	nn_text_add_bytes(text, (const char *)s.at, (size_t)(s.end - s.at));
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

static int damaged(const char *what, struct nn_error *err)
{
	return nn_fail(err, NN_EFORMAT, "%s is damaged or ends early", what);
}

static int too_many(const char *what, struct nn_error *err)
{
	return nn_fail(err, NN_EFORMAT, "the graph has more than %zu %s", NN_ONNX_MOST, what);
}

/* A tensor into `text` but for its raw_data. */
static int strip_tensor(struct span s, struct nn_text *text, struct nn_onnx_raw *raw,
			struct nn_error *err)
{
	struct field f;
	int more;

	while ((more = next_field(&s, &f)) > 0)
		if (f.number == TENSOR_RAW && f.bytes)
			*raw = (struct nn_onnx_raw){ f.content.at,
						     (size_t)(f.content.end - f.content.at) };
		else
			add_span(text, f.whole);
	return more < 0 ? damaged("a tensor", err) : 0;
}

static int count_graph(struct span s, size_t *n_tensors, struct nn_error *err)
{
	struct field f;
	size_t n_nodes = 0;
	int more;

	while ((more = next_field(&s, &f)) > 0) {
		*n_tensors += f.number == GRAPH_INITIALIZER && f.bytes;
		n_nodes += f.number == GRAPH_NODE;
	}
	if (more < 0)
		return damaged("the graph", err);
	if (n_nodes > NN_ONNX_MOST)
		return too_many("nodes", err);
	return *n_tensors > NN_ONNX_MOST ? too_many("tensors", err) : 0;
}

static int strip_graph(struct nn_onnx_skeleton *k, struct span s, struct nn_text *graph,
		       struct nn_error *err)
{
	struct nn_text tensor = { 0 };
	struct field f;
	size_t n, i = 0;
	int status;

	if (k->raw)
		return nn_fail(err, NN_EFORMAT, "there are two graphs");
	if (count_graph(s, &k->n_raw, err) < 0)
		return -1;
	k->raw = nn_alloc(k->n_raw, sizeof *k->raw, err);
	status = k->raw ? 0 : -1;
	while (status == 0 && next_field(&s, &f) > 0) {
		if (f.number != GRAPH_INITIALIZER || !f.bytes) {
			add_span(graph, f.whole);
			continue;
		}
		nn_text_clear(&tensor);
		status = strip_tensor(f.content, &tensor, &k->raw[i++], err);
		add_message(graph, GRAPH_INITIALIZER, &tensor);
	}
	n = graph->length;
	nn_text_free(&tensor);
	return status == 0 && graph->failed
		       ? nn_fail(err, NN_ENOMEM, "cannot allocate %zu bytes for a graph", n)
		       : status;
}

int nn_onnx_skeleton(struct nn_onnx_skeleton *k, const unsigned char *bytes, size_t n,
		     struct nn_error *err)
{
	struct span s = { bytes, bytes + n };
	struct nn_text graph = { 0 };
	struct field f;
	int more, status = 0;

	while (status == 0 && (more = next_field(&s, &f)) != 0) {
		if (more < 0) {
			status = damaged("the model", err);
		} else if (f.number == MODEL_GRAPH && f.bytes) {
			status = strip_graph(k, f.content, &graph, err);
			if (status == 0)
				add_message(&k->bytes, MODEL_GRAPH, &graph);
		} else {
			add_span(&k->bytes, f.whole);
		}
	}
	nn_text_free(&graph);
	if (status == 0 && k->bytes.failed)
		return nn_fail(err, NN_ENOMEM, "cannot allocate a model's graph");
	return status;
}

void nn_onnx_skeleton_free(struct nn_onnx_skeleton *k)
{
	nn_text_free(&k->bytes);
	nn_free(k->raw);
	*k = (struct nn_onnx_skeleton){ 0 };
}
