/* .../infer: the JSON of a request, and where the bytes behind it go. */
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "serve/protocol/feed.h"
#include "serve/protocol/v2-members.h"
#include "serve/protocol/v2.h"

/* ---- an output ---- */

static int take_output_name(struct nn_query *q, void *arg)
{
	struct nn_wanted *w = arg;
	char quoted[NN_QUOTED];

	if (nn_pull_next(&q->pull) != NN_PULL_STRING)
		return nn_pull_fail(&q->pull, "expected the name of an output");
	for (w->port = 0; w->port < q->served->n_outputs; w->port++)
		if (nn_pull_is(&q->pull, q->served->outputs[w->port].name))
			break;
	if (w->port == q->served->n_outputs)
		return nn_query_fail(q, 400, "the model has no output \"%s\"",
				     nn_quote(quoted, q->pull.text, q->pull.length));
	for (size_t i = 0; i < q->n_wanted; i++)
		if (nn_query_wanted(q, i)->port == w->port)
			return nn_pull_fail(&q->pull, "found the output \"%s\" twice",
					    q->served->outputs[w->port].name);
	return 0;
}

static int take_binary_data(struct nn_query *q, void *arg)
{
	struct nn_wanted *w = arg;
	bool binary = false;

	if (nn_v2_take_bool(q, &binary) < 0)
		return -1;
	w->binary = binary;
	return 0;
}

static int take_classification(struct nn_query *q, void *arg)
{
	return nn_v2_take_count(q, &((struct nn_wanted *)arg)->classes);
}

static int take_output_parameters(struct nn_query *q, void *arg)
{
	static const struct nn_v2_member members[] = { { "binary_data", take_binary_data },
						       { "classification", take_classification } };

	return NN_V2_TAKE_OBJECT(q, members, arg);
}

static int add_wanted(struct nn_query *q, const struct nn_wanted *w)
{
	/* the best classes are found in the room of cells, which are not needed by then */
	if (nn_block_reserve(&q->wanted, (q->n_wanted + 1) * sizeof *w, &q->error) < 0 ||
	    nn_block_reserve(&q->offsets, q->served->outputs[w->port].size * sizeof(size_t),
			     &q->error) < 0)
		return -1;
	*nn_query_wanted(q, q->n_wanted++) = *w;
	return 0;
}

static int take_output(struct nn_query *q, void *arg)
{
	static const struct nn_v2_member members[] = { { "name", take_output_name },
						       { "parameters", take_output_parameters } };
	struct nn_wanted w = { .port = SIZE_MAX, .binary = -1 };

	(void)arg;
	if (NN_V2_TAKE_OBJECT(q, members, &w) < 0)
		return -1;
	if (w.port == SIZE_MAX)
		return nn_query_fail(q, 400, "an output has no \"name\"");
	if (w.classes && q->served->outputs[w.port].text)
		return nn_query_fail(q, 400,
				     "output \"%s\": classification needs an output of numbers",
				     q->served->outputs[w.port].name);
	return add_wanted(q, &w);
}

static int take_outputs(struct nn_query *q, void *arg)
{
	return nn_v2_take_array(q, take_output, arg);
}

/* ---- the request ---- */

static int take_id(struct nn_query *q, void *arg)
{
	(void)arg;
	if (nn_pull_next(&q->pull) != NN_PULL_STRING)
		return nn_pull_fail(&q->pull, "expected an id, a string");
	q->id = q->pull.text;
	q->id_length = q->pull.length;
	return 0;
}

/* Who waits in one queue is served in its order; a priority is checked, no more. */
static int take_priority(struct nn_query *q, void *arg)
{
	size_t priority;

	(void)arg;
	return nn_v2_take_count(q, &priority);
}

static int take_timeout(struct nn_query *q, void *arg)
{
	size_t us = 0;

	(void)arg;
	if (nn_v2_take_count(q, &us) < 0)
		return -1;
	if (us > 0)
		nn_query_deadline(q, (double)us * 1e-6);
	return 0;
}

static int take_binary_output(struct nn_query *q, void *arg)
{
	return nn_v2_take_bool(q, &((struct nn_v2_bodies *)arg)->binary);
}

static int take_parameters(struct nn_query *q, void *arg)
{
	static const struct nn_v2_member members[] = { { "priority", take_priority },
						       { "timeout", take_timeout },
						       { "binary_data_output",
							 take_binary_output } };

	return NN_V2_TAKE_OBJECT(q, members, arg);
}

static int want_all(struct nn_query *q)
{
	for (size_t o = 0; q->n_wanted < q->served->n_outputs; o++)
		if (add_wanted(q, &(struct nn_wanted){ .port = o, .binary = -1 }) < 0)
			return -1;
	return 0;
}

static void settle_outputs(struct nn_query *q, bool binary)
{
	for (size_t i = 0; i < q->n_wanted; i++)
		if (nn_query_wanted(q, i)->binary < 0)
			nn_query_wanted(q, i)->binary = binary;
}

static int parse(struct nn_query *q, size_t json)
{
	static const struct nn_v2_member members[] = {
		{ "inputs", nn_v2_take_inputs },
		{ "outputs", take_outputs },
		{ "id", take_id },
		{ "parameters", take_parameters },
	};
	struct nn_v2_bodies infer = { .raw = q->exchange->body + json,
				      .left = q->exchange->bytes - json };

	nn_query_pull(q, json, false);
	if (NN_V2_TAKE_OBJECT(q, members, &infer) < 0 || nn_pull_next(&q->pull) != NN_PULL_END)
		return -1;
	if (infer.left > 0)
		return nn_query_fail(q, 400, "%zu byte%s of the body belong%s to no input",
				     infer.left, nn_s(infer.left), infer.left == 1 ? "s" : "");
	if (q->n_wanted == 0 && want_all(q) < 0)
		return -1;
	settle_outputs(q, infer.binary);
	return nn_feed_finish(q);
}

/* Nothing says where a row ends: there is one. */
static int take_raw_row(struct nn_query *q, size_t steps)
{
	struct nn_shape shape = q->served->inputs->shape;
	size_t dims[1 + NN_MAX_RANK] = { 1, steps };

	for (int i = 1; i < shape.rank; i++)
		dims[1 + i] = shape.dim[i];
	return nn_feed_shape(q, 0, dims, 1 + (unsigned)shape.rank);
}

/* The body is the one input tensor itself; what comes back is binary too. */
static int parse_raw(struct nn_query *q)
{
	const struct nn_port *port = q->served->inputs;
	struct nn_exchange *x = q->exchange;
	size_t values = port->steps ? port->size / port->steps : port->size;
	size_t row = (values ? values : 1) * sizeof(float);

	if (q->served->n_inputs != 1)
		return nn_query_fail(
			q, 400, "a body without JSON is the tensor of one input, the model has %zu",
			q->served->n_inputs);
	if (port->text || x->bytes % row)
		return nn_query_fail(
			q, 400,
			"input \"%s\": found %zu byte%s, expected %s of FP32, %zu byte%s each",
			port->name, x->bytes, nn_s(x->bytes), port->steps ? "steps" : "rows", row,
			nn_s(row));
	nn_query_fed(q, 0)->rows = port->steps ? 1 : x->bytes / row;
	if (port->steps && take_raw_row(q, x->bytes / row) < 0)
		return -1;
	if (want_all(q) < 0)
		return -1;
	settle_outputs(q, true);
	return nn_feed_binary(q, 0, NN_DT_FP32, x->body, x->bytes, x->bytes / sizeof(float)) < 0
		       ? -1
		       : nn_feed_finish(q);
}

static int parse_body(struct nn_query *q)
{
	const char *header = nn_exchange_header(q->exchange, "Inference-Header-Content-Length");
	uint64_t json = q->exchange->bytes;

	if (header && !nn_parse_u64(header, strlen(header), &json))
		return nn_query_fail(q, 400,
				     "Inference-Header-Content-Length: expected a number of bytes");
	if (json > q->exchange->bytes)
		return nn_query_fail(
			q, 400,
			"Inference-Header-Content-Length: found %llu, the body has %zu byte%s",
			(unsigned long long)json, q->exchange->bytes, nn_s(q->exchange->bytes));
	return header && json == 0 ? parse_raw(q) : parse(q, json);
}

void nn_v2_infer(struct nn_query *q)
{
	if (nn_query_find(q) < 0 || nn_feed_begin(q) < 0 || parse_body(q) < 0)
		nn_query_refuse(q);
	else
		nn_query_submit(q, nn_v2_format);
}
