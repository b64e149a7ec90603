/* The answer to an infer request: JSON, and behind it the outputs that are binary. */
#include <string.h>

#include "base/number.h"
#include "serve/protocol/give.h"
#include "serve/protocol/v2.h"

/* A whole number between two texts. */
static void put_count(struct nn_text *text, const char *before, uint64_t n, const char *after)
{
	char digits[NN_NUMBER];

	nn_text_add(text, before);
	nn_text_add_bytes(text, digits, nn_format_u64(digits, n));
	nn_text_add(text, after);
}

/* VALUE:INDEX:LABEL */
static void put_class(struct nn_query *q, struct nn_text *text, const struct nn_given *given,
		      size_t c)
{
	char buffer[24];

	nn_text_clear(text);
	nn_give_float(text, given->values[c], NN_STYLE_V1);
	put_count(text, ":", c, "");
	if (given->classes)
		nn_text_addf(text, ":%s", nn_give_label(q, given, c, buffer));
}

/* Strings of an output, one after the other. */
struct strings {
	struct nn_query *q;
	bool binary;
	size_t n;
};

/* Binary ones are collected in q->cells, behind their lengths. */
static void add_string(struct strings *s, const char *string, size_t n)
{
	uint32_t length = (uint32_t)n;

	if (s->binary) {
		nn_text_add_bytes(&s->q->cells, (const char *)&length, sizeof length);
		nn_text_add_bytes(&s->q->cells, string, n);
	} else {
		nn_text_add(&s->q->exchange->answer, s->n++ ? "," : "");
		nn_text_add_json(&s->q->exchange->answer, string, n);
	}
}

static size_t classes_of(const struct nn_query *q, const struct nn_wanted *w)
{
	struct nn_shape shape = nn_give_shape(q, w->port, 0);
	size_t n = nn_shape_count(&shape);

	return w->classes < n ? w->classes : n;
}

static void add_classes(struct strings *s, const struct nn_wanted *w)
{
	struct nn_query *q = s->q;
	size_t k = classes_of(q, w), *order = q->offsets.data;
	struct nn_text text = { 0 };

	for (size_t r = 0; r < q->job.rows; r++) {
		struct nn_given given = nn_give_row(q, w->port, r);

		nn_give_top(&given, k, order);
		for (size_t i = 0; i < k; i++) {
			put_class(q, &text, &given, order[i]);
			add_string(s, text.failed ? "" : text.data, text.length);
		}
	}
	nn_text_free(&text);
}

static void add_labels(struct strings *s, const struct nn_wanted *w)
{
	struct nn_query *q = s->q;
	char buffer[24];

	for (size_t r = 0; r < q->job.rows; r++) {
		struct nn_given given = nn_give_row(q, w->port, r);
		const char *label = nn_give_label(q, &given, nn_give_best(q, &given), buffer);

		add_string(s, label, strlen(label));
	}
}

static void add_floats(struct nn_query *q, const struct nn_wanted *w)
{
	struct nn_text *text = &q->exchange->answer;

	for (size_t r = 0; r < q->job.rows; r++) {
		struct nn_given given = nn_give_row(q, w->port, r);

		if (w->binary) {
			nn_text_add_bytes(&q->cells, (const char *)given.values,
					  given.n * sizeof *given.values);
			continue;
		}
		for (size_t i = 0; i < given.n; i++) {
			if (r || i)
				nn_text_add_bytes(text, ",", 1);
			nn_give_float(text, given.values[i], NN_STYLE_V2);
		}
	}
}

static void add_values(struct nn_query *q, const struct nn_wanted *w)
{
	struct strings strings = { .q = q, .binary = w->binary };

	if (w->classes)
		add_classes(&strings, w);
	else if (q->served->outputs[w->port].text)
		add_labels(&strings, w);
	else
		add_floats(q, w);
}

static void add_output(struct nn_query *q, const struct nn_wanted *w)
{
	const struct nn_port *port = &q->served->outputs[w->port];
	struct nn_shape shape = nn_give_shape(q, w->port, 0); /* of all: one shape came in */
	struct nn_text *text = &q->exchange->answer;
	size_t before = q->cells.length;

	nn_text_add(text, "{\"name\":");
	nn_text_add_json(text, port->name, strlen(port->name));
	nn_text_add(text, ",\"datatype\":\"");
	nn_text_add(text, port->text || w->classes ? "BYTES" : "FP32");
	put_count(text, "\",\"shape\":[", q->job.rows, "");
	if (w->classes)
		put_count(text, ",", classes_of(q, w), "");
	else
		for (int i = 0; port->fixed && i < shape.rank; i++)
			put_count(text, ",", shape.dim[i], "");
	nn_text_add(text, w->binary ? "]" : "],\"data\":[");
	add_values(q, w);
	if (w->binary)
		put_count(text, ",\"parameters\":{\"binary_data_size\":", q->cells.length - before,
			  "}}");
	else
		nn_text_add(text, "]}");
}

static void answer_binary(struct nn_query *q)
{
	struct nn_text *text = &q->exchange->answer;
	char length[NN_NUMBER];

	nn_format_u64(length, text->length);
	nn_exchange_set_header(q->exchange, "Inference-Header-Content-Length", length);
	nn_text_add_bytes(text, q->cells.data ? q->cells.data : "", q->cells.length);
	text->failed |= q->cells.failed;
	nn_query_answer(q, 200, "application/octet-stream");
}

void nn_v2_format(struct nn_query *q)
{
	struct nn_text *text = &q->exchange->answer;
	bool binary = false;

	nn_text_clear(&q->cells); /* what came in was encoded long ago */
	nn_text_add(text, "{\"model_name\":");
	nn_text_add_json(text, q->named.name, strlen(q->named.name));
	put_count(text, ",\"model_version\":\"", q->served->version, "\"");
	if (q->id) {
		nn_text_add(text, ",\"id\":");
		nn_text_add_json(text, q->id, q->id_length);
	}
	nn_text_add(text, ",\"outputs\":[");
	for (size_t i = 0; i < q->n_wanted; i++) {
		nn_text_add(text, i ? "," : "");
		add_output(q, nn_query_wanted(q, i));
		binary |= nn_query_wanted(q, i)->binary;
	}
	nn_text_add(text, "]}");
	if (binary)
		answer_binary(q);
	else
		nn_query_answer_json(q);
}
