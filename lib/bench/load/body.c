/* Bodies of requests, value by value. */
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "base/number.h"
#include "base/random.h"
#include "bench/load/body.h"

#define MOST_BODY ((size_t)1 << 30) /* bytes of one */
#define KEPT ((size_t)32 << 20)     /* bytes of all: further ones are not made */

const char *const nn_load_forms[] = {
	[NN_LOAD_JSON] = "json", [NN_LOAD_V2] = "v2", [NN_LOAD_BINARY] = "binary", NULL
};

/* ---- values ---- */

/* In [0, 1). */
static float uniform(uint64_t *state)
{
	return nn_uniform((uint32_t)(nn_lcg(state) >> 32));
}

static unsigned whole(const struct nn_load_datatype *type, uint64_t *state)
{
	unsigned bits = (unsigned)(nn_lcg(state) >> 56);

	return strcmp(type->name, "UINT8") == 0 ? bits : bits & 1;
}

static char letter(uint64_t *state)
{
	return (char)('a' + (nn_lcg(state) >> 56) % 26);
}

static void add_json_value(struct nn_text *t, const struct nn_load_datatype *type, uint64_t *state)
{
	char digits[NN_NUMBER];

	switch (type->kind) {
	case NN_LOAD_BOOL:
		nn_text_add(t, nn_lcg(state) >> 63 ? "true" : "false");
		break;
	case NN_LOAD_WHOLE:
		nn_text_addf(t, "%u", whole(type, state));
		break;
	case NN_LOAD_BYTES:
		nn_text_addf(t, "\"%c\"", letter(state));
		break;
	default:
		nn_format_f32(digits, uniform(state));
		nn_text_add(t, digits);
	}
}

/* The low bytes of bits, little-endian. */
static void add_bytes(struct nn_text *t, uint64_t bits, int n)
{
	char bytes[8];

	for (int i = 0; i < n; i++)
		bytes[i] = (char)(bits >> 8 * i & 255);
	nn_text_add_bytes(t, bytes, (size_t)n);
}

static void add_real(struct nn_text *t, const struct nn_load_datatype *type, float value)
{
	double wide = value;
	uint64_t bits = 0;

	if (type->kind == NN_LOAD_HALF)
		nn_half(strcmp(type->name, "BF16") == 0 ? NN_BF16 : NN_F16, true)
			->narrow(&value, &bits, 1, 1);
	else if (type->size == 4)
		memcpy(&bits, &value, 4);
	else
		memcpy(&bits, &wide, 8);
	add_bytes(t, bits, type->size);
}

static void add_binary_value(struct nn_text *t, const struct nn_load_datatype *type,
			     uint64_t *state)
{
	switch (type->kind) {
	case NN_LOAD_BOOL:
	case NN_LOAD_WHOLE:
		add_bytes(t, whole(type, state), type->size);
		break;
	case NN_LOAD_BYTES:
		add_bytes(t, 1, 4);
		add_bytes(t, (unsigned char)letter(state), 1);
		break;
	default:
		add_real(t, type, uniform(state));
	}
}

/* ---- TensorFlow Serving ---- */

/* One row of an input, a list in a list for each dimension. */
static void add_nested(struct nn_text *t, const struct nn_load_input *in, uint64_t *state)
{
	for (size_t i = 0; i < in->values; i++) {
		size_t block = 1;
		int opened = 0, closed = 0;

		/* The lists, from the innermost on, that value i begins and ends. */
		for (int d = in->n; d-- > 0;) {
			block *= in->dims[d];
			opened += i % block == 0;
			closed += (i + 1) % block == 0;
		}
		nn_text_add(t, i > 0 ? "," : "");
		while (opened-- > 0)
			nn_text_add(t, "[");
		add_json_value(t, in->datatype, state);
		while (closed-- > 0)
			nn_text_add(t, "]");
	}
}

/* Rows as lists, of several inputs as objects by name. */
static void add_instances(struct nn_text *t, const struct nn_load_model *m, size_t rows,
			  uint64_t *state)
{
	nn_text_add(t, "{\"instances\":[");
	for (size_t r = 0; r < rows && !t->failed; r++) {
		nn_text_add(t, r > 0 ? "," : "");
		for (size_t k = 0; k < m->n_inputs; k++) {
			if (m->n_inputs > 1) {
				nn_text_add(t, k > 0 ? "," : "{");
				nn_text_add_json(t, m->inputs[k].name, strlen(m->inputs[k].name));
				nn_text_add(t, ":");
			}
			add_nested(t, &m->inputs[k], state);
		}
		nn_text_add(t, m->n_inputs > 1 ? "}" : "");
	}
	nn_text_add(t, "]}");
}

/* ---- Open Inference Protocol ---- */

static size_t binary_size(const struct nn_load_input *in, size_t rows)
{
	return rows * in->values * (size_t)(in->datatype->size ? in->datatype->size : 5);
}

static void add_input(struct nn_text *t, const struct nn_load_input *in, size_t rows, bool binary,
		      uint64_t *state)
{
	nn_text_add(t, "{\"name\":");
	nn_text_add_json(t, in->name, strlen(in->name));
	nn_text_addf(t, ",\"datatype\":\"%s\",\"shape\":[", in->datatype->name);
	if (!in->one)
		nn_text_addf(t, "%zu%s", rows, in->n > 0 ? "," : "");
	for (int d = 0; d < in->n; d++)
		nn_text_addf(t, "%s%llu", d > 0 ? "," : "", (unsigned long long)in->dims[d]);
	if (binary) {
		nn_text_addf(t, "],\"parameters\":{\"binary_data_size\":%zu}}",
			     binary_size(in, rows));
		return;
	}
	nn_text_add(t, "],\"data\":[");
	for (size_t i = 0; i < rows * in->values && !t->failed; i++) {
		nn_text_add(t, i > 0 ? "," : "");
		add_json_value(t, in->datatype, state);
	}
	nn_text_add(t, "]}");
}

/* The JSON of a request; binary: without data, which are asked for in that form too. */
static void add_v2(struct nn_text *t, const struct nn_load_model *m, size_t rows, bool binary,
		   uint64_t *state)
{
	nn_text_add(t, binary ? "{\"parameters\":{\"binary_data_output\":true},\"inputs\":["
			      : "{\"inputs\":[");
	for (size_t k = 0; k < m->n_inputs; k++) {
		nn_text_add(t, k > 0 ? "," : "");
		add_input(t, &m->inputs[k], rows, binary, state);
	}
	nn_text_add(t, "]}");
}

static void add_tensors(struct nn_text *t, const struct nn_load_model *m, size_t rows,
			uint64_t *state)
{
	for (size_t k = 0; k < m->n_inputs; k++)
		for (size_t i = 0; i < rows * m->inputs[k].values && !t->failed; i++)
			add_binary_value(t, m->inputs[k].datatype, state);
}

/* ---- requests ---- */

static int make(struct nn_text *request, const struct nn_load_server *s,
		const struct nn_load_model *m, const struct nn_load_body *b, uint64_t *state,
		struct nn_error *err)
{
	struct nn_text body = { 0 };
	size_t json;
	bool failed;

	if (b->form == NN_LOAD_JSON)
		add_instances(&body, m, b->rows, state);
	else
		add_v2(&body, m, b->rows, b->form == NN_LOAD_BINARY, state);
	json = body.length;
	if (b->form == NN_LOAD_BINARY)
		add_tensors(&body, m, b->rows, state);
	nn_text_addf(request, "POST /%s/models/%s%s%s HTTP/1.1\r\nHost: %s\r\n%s",
		     b->form == NN_LOAD_JSON ? "v1" : "v2", m->name, b->null ? ":null" : "",
		     b->form == NN_LOAD_JSON ? ":predict" : "/infer", s->host, s->headers);
	if (b->form == NN_LOAD_BINARY)
		nn_text_addf(request,
			     "Content-Type: application/octet-stream\r\n"
			     "Inference-Header-Content-Length: %zu\r\n",
			     json);
	else
		nn_text_add(request, "Content-Type: application/json\r\n");
	nn_text_addf(request, "Content-Length: %zu\r\n\r\n", body.length);
	if (body.length > 0)
		nn_text_add_bytes(request, body.data, body.length);
	failed = body.failed || request->failed;
	nn_text_free(&body);
	return failed ? nn_fail(err, NN_ENOMEM, "out of memory for a request") : 0;
}

/* Can such a model be asked in this form for so many rows? */
static int check(const struct nn_load_model *m, const struct nn_load_body *b, struct nn_error *err)
{
	size_t values = 0;

	for (size_t k = 0; k < m->n_inputs; k++) {
		const struct nn_load_input *in = &m->inputs[k];

		if (in->datatype->kind == NN_LOAD_HALF && b->form == NN_LOAD_V2)
			return nn_fail(err, NN_EUSAGE,
				       "--body=v2: input %s of model %s is %s, which only "
				       "--body=binary can carry",
				       in->name, m->name, in->datatype->name);
		if (in->one && b->rows > 1)
			return nn_fail(err, NN_EUSAGE,
				       "--rows=%zu: input %s of model %s takes one row a request",
				       b->rows, in->name, m->name);
		values += in->values;
	}
	if (values > 0 && b->rows > MOST_BODY / 16 / values)
		return nn_fail(err, NN_EUSAGE,
			       "--rows=%zu: a request of %zu values a row is too large", b->rows,
			       values);
	return 0;
}

int nn_load_requests_make(struct nn_load_requests *r, const struct nn_load_server *s,
			  const struct nn_load_model *m, const struct nn_load_body *b,
			  struct nn_error *err)
{
	uint64_t state = b->seed;
	size_t bytes = 0;

	*r = (struct nn_load_requests){ 0 };
	if (check(m, b, err) < 0)
		return -1;
	nn_lcg(&state);
	while (r->n < NN_LOAD_REQUESTS && (r->n == 0 || bytes + bytes / r->n <= KEPT)) {
		if (make(&r->text[r->n++], s, m, b, &state, err) < 0) {
			nn_load_requests_free(r);
			return -1;
		}
		bytes += r->text[r->n - 1].length;
	}
	return 0;
}

void nn_load_requests_free(struct nn_load_requests *r)
{
	for (size_t i = 0; i < NN_LOAD_REQUESTS; i++)
		nn_text_free(&r->text[i]);
	r->n = 0;
}
