/* .../infer: the JSON of a request, and where the bytes behind it go. */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "serve/feed.h"
#include "serve/v2.h"

/* Raw bytes behind the JSON that no tensor has taken yet; what holds for all outputs. */
struct infer {
	const char *raw;
	size_t left;
	bool binary;
};

/* ---- objects of known members ---- */

struct member {
	const char *name;
	int (*take)(struct nn_query *q, void *arg);
};

/* The object that comes next; members that are not in the list are passed over. */
static int take_object(struct nn_query *q, const struct member *members, size_t n, void *arg)
{
	enum nn_pull_kind kind;
	unsigned seen = 0;

	if (nn_pull_next(&q->pull) != NN_PULL_OBJECT)
		return nn_pull_fail(&q->pull, "expected an object");
	while ((kind = nn_pull_next(&q->pull)) == NN_PULL_KEY) {
		size_t i = 0;

		while (i < n && !nn_pull_is(&q->pull, members[i].name))
			i++;
		if (i < n && seen >> i & 1)
			return nn_pull_fail(&q->pull, "found \"%s\" twice", members[i].name);
		seen |= i < n ? 1u << i : 0;
		if ((i < n ? members[i].take(q, arg) : nn_pull_skip(&q->pull)) < 0)
			return -1;
	}
	return kind == NN_PULL_BAD ? -1 : 0;
}
#define TAKE_OBJECT(q, members, arg) take_object(q, members, sizeof members / sizeof *members, arg)

static int take_array(struct nn_query *q, int (*take)(struct nn_query *q, void *arg), void *arg)
{
	if (nn_pull_next(&q->pull) != NN_PULL_ARRAY)
		return nn_pull_fail(&q->pull, "expected an array");
	while (nn_pull_peek(&q->pull) != NN_PULL_ARRAY_END)
		if (take(q, arg) < 0)
			return -1;
	return nn_pull_next(&q->pull) == NN_PULL_BAD ? -1 : 0;
}

static int take_count(struct nn_query *q, size_t *count)
{
	uint64_t value;

	if (nn_pull_next(&q->pull) != NN_PULL_NUMBER || !nn_pull_u64(&q->pull, &value))
		return nn_pull_fail(&q->pull, "expected a whole number that is not negative");
	*count = value;
	return 0;
}

static int take_bool(struct nn_query *q, bool *value)
{
	enum nn_pull_kind kind = nn_pull_next(&q->pull);

	if (kind != NN_PULL_TRUE && kind != NN_PULL_FALSE)
		return nn_pull_fail(&q->pull, "expected true or false");
	*value = kind == NN_PULL_TRUE;
	return 0;
}

/* ---- an input ---- */

struct tensor {
	struct infer *infer;
	size_t input; /* SIZE_MAX: its name has not come yet */
	enum nn_datatype type;
	size_t dims[NN_PULL_RANK], count;
	unsigned rank;
	bool shaped, read, cells, binary; /* read: data have come; cells: as such */
	size_t first, bytes;
	struct nn_pull_dims nesting;
};

static int take_input_name(struct nn_query *q, void *arg)
{
	struct tensor *t = arg;

	if (nn_pull_next(&q->pull) != NN_PULL_STRING)
		return nn_pull_fail(&q->pull, "expected the name of an input");
	if (nn_feed_find(q, q->pull.text, q->pull.length, &t->input) < 0)
		return -1;
	if (nn_query_fed(q, t->input)->kind != NN_FED_NOT)
		return nn_pull_fail(&q->pull, "found the input \"%s\" twice",
				    q->served->inputs[t->input].name);
	return 0;
}

static int take_shape(struct nn_query *q, void *arg)
{
	struct tensor *t = arg;
	uint64_t dims[NN_PULL_RANK];
	struct nn_pull_dims nesting;

	if (nn_pull_u64s(&q->pull, dims, NN_PULL_RANK, &nesting) < 0)
		return -1;
	if (nesting.rank != 1)
		return nn_pull_fail(&q->pull, "expected a shape, an array of whole numbers");
	t->shaped = true;
	t->rank = (unsigned)nesting.count;
	t->count = 1;
	for (unsigned i = 0; i < t->rank; i++) {
		t->dims[i] = dims[i];
		if (!nn_mul(t->count, t->dims[i], &t->count))
			return nn_pull_fail(&q->pull,
					    "the shape has more values than can be counted");
	}
	return 0;
}

static int take_datatype(struct nn_query *q, void *arg)
{
	struct tensor *t = arg;
	char quoted[NN_QUOTED];

	if (nn_pull_next(&q->pull) != NN_PULL_STRING)
		return nn_pull_fail(&q->pull, "expected a datatype");
	t->type = nn_datatype_find(q->pull.text, q->pull.length);
	if (t->type == NN_DATATYPES)
		return nn_pull_fail(
			&q->pull,
			"found the datatype %s, expected FP32, BYTES or another of the protocol",
			nn_quote(quoted, q->pull.text, q->pull.length));
	return 0;
}

static int take_binary_size(struct nn_query *q, void *arg)
{
	struct tensor *t = arg;

	t->binary = true;
	return take_count(q, &t->bytes);
}

static int take_input_parameters(struct nn_query *q, void *arg)
{
	static const struct member members[] = { { "binary_data_size", take_binary_size } };

	return TAKE_OBJECT(q, members, arg);
}

/* Floats go to their place where it is known by then that they are; else they are kept. */
static int take_data(struct nn_query *q, void *arg)
{
	struct tensor *t = arg;

	t->read = true;
	if (t->input != SIZE_MAX && (t->type == NN_DT_FP32 || t->type == NN_DT_FP64) &&
	    !q->served->table)
		return nn_feed_json(q, t->input, &t->nesting);
	t->cells = true;
	return nn_feed_any(q, &t->first, &t->nesting);
}

/* Data are flat or nested as the shape says. */
static int check_data(struct nn_query *q, const struct tensor *t)
{
	const struct nn_pull_dims *nesting = &t->nesting;
	bool same = nesting->rank == t->rank;

	for (unsigned i = 0; same && i < t->rank; i++)
		same = nesting->size[i] == t->dims[i];
	if (nesting->count == t->count && (same || nesting->rank == 1))
		return 0;
	return nn_query_fail(
		q, 400, "input \"%s\": the data (%zu values) do not have its shape (%zu values)",
		q->served->inputs[t->input].name, nesting->count, t->count);
}

static int finish_tensor(struct nn_query *q, struct tensor *t)
{
	const char *name = t->input < q->served->n_inputs ? q->served->inputs[t->input].name : NULL;

	if (!name || !t->shaped || t->type == NN_DT_ANY)
		return nn_query_fail(q, 400, "an input has no \"%s\"",
				     !name        ? "name"
				     : !t->shaped ? "shape"
						  : "datatype");
	if (t->read == t->binary)
		return nn_query_fail(q, 400,
				     "input \"%s\": expected \"data\" or \"binary_data_size\", %s",
				     name, t->read ? "not both" : "found neither");
	if (nn_feed_shape(q, t->input, t->dims, t->rank) < 0)
		return -1;
	if (t->binary) {
		if (t->bytes > t->infer->left)
			return nn_query_fail(
				q, 400,
				"input \"%s\": expected %zu bytes behind the JSON, found %zu", name,
				t->bytes, t->infer->left);
		t->infer->raw += t->bytes;
		t->infer->left -= t->bytes;
		return nn_feed_binary(q, t->input, t->type, t->infer->raw - t->bytes, t->bytes,
				      t->count);
	}
	if (t->type == NN_DT_FP16 || t->type == NN_DT_BF16)
		return nn_query_fail(q, 400,
				     "input \"%s\": %s has no JSON form, send it as binary data",
				     name, nn_datatype_names[t->type]);
	if (check_data(q, t) < 0)
		return -1;
	return t->cells ? nn_feed_cells(q, t->input, t->type, t->first, t->count) : 0;
}

static int take_input(struct nn_query *q, void *arg)
{
	static const struct member members[] = {
		{ "name", take_input_name },   { "shape", take_shape },
		{ "datatype", take_datatype }, { "parameters", take_input_parameters },
		{ "data", take_data },
	};
	struct tensor t = { .infer = arg, .input = SIZE_MAX };

	return TAKE_OBJECT(q, members, &t) < 0 ? -1 : finish_tensor(q, &t);
}

static int take_inputs(struct nn_query *q, void *arg)
{
	return take_array(q, take_input, arg);
}

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

	if (take_bool(q, &binary) < 0)
		return -1;
	w->binary = binary;
	return 0;
}

static int take_classification(struct nn_query *q, void *arg)
{
	return take_count(q, &((struct nn_wanted *)arg)->classes);
}

static int take_output_parameters(struct nn_query *q, void *arg)
{
	static const struct member members[] = { { "binary_data", take_binary_data },
						 { "classification", take_classification } };

	return TAKE_OBJECT(q, members, arg);
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
	static const struct member members[] = { { "name", take_output_name },
						 { "parameters", take_output_parameters } };
	struct nn_wanted w = { .port = SIZE_MAX, .binary = -1 };

	(void)arg;
	if (TAKE_OBJECT(q, members, &w) < 0)
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
	return take_array(q, take_output, arg);
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
	return take_count(q, &priority);
}

static int take_timeout(struct nn_query *q, void *arg)
{
	size_t us = 0;

	(void)arg;
	if (take_count(q, &us) < 0)
		return -1;
	if (us > 0)
		nn_query_deadline(q, (double)us * 1e-6);
	return 0;
}

static int take_binary_output(struct nn_query *q, void *arg)
{
	return take_bool(q, &((struct infer *)arg)->binary);
}

static int take_parameters(struct nn_query *q, void *arg)
{
	static const struct member members[] = { { "priority", take_priority },
						 { "timeout", take_timeout },
						 { "binary_data_output", take_binary_output } };

	return TAKE_OBJECT(q, members, arg);
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
	static const struct member members[] = {
		{ "inputs", take_inputs },
		{ "outputs", take_outputs },
		{ "id", take_id },
		{ "parameters", take_parameters },
	};
	struct infer infer = { .raw = q->exchange->body + json, .left = q->exchange->bytes - json };

	nn_query_pull(q, json, false);
	if (TAKE_OBJECT(q, members, &infer) < 0 || nn_pull_next(&q->pull) != NN_PULL_END)
		return -1;
	if (infer.left > 0)
		return nn_query_fail(q, 400, "%zu bytes of the body belong to no input",
				     infer.left);
	if (q->n_wanted == 0 && want_all(q) < 0)
		return -1;
	settle_outputs(q, infer.binary);
	return nn_feed_finish(q);
}

/* The body is the one input tensor itself; what comes back is binary too. */
static int parse_raw(struct nn_query *q)
{
	const struct nn_port *port = q->served->inputs;
	struct nn_exchange *x = q->exchange;
	size_t row = (port->size ? port->size : 1) * sizeof(float);

	if (q->served->n_inputs != 1)
		return nn_query_fail(
			q, 400, "a body without JSON is the tensor of one input, the model has %zu",
			q->served->n_inputs);
	if (port->text || x->bytes % row)
		return nn_query_fail(
			q, 400,
			"input \"%s\": found %zu bytes, expected rows of FP32, %zu bytes each",
			port->name, x->bytes, row);
	nn_query_fed(q, 0)->rows = x->bytes / row;
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
			"Inference-Header-Content-Length: found %llu, the body has %zu bytes",
			(unsigned long long)json, q->exchange->bytes);
	return header && json == 0 ? parse_raw(q) : parse(q, json);
}

void nn_v2_infer(struct nn_query *q)
{
	if (nn_query_find(q) < 0 || nn_feed_begin(q) < 0 || parse_body(q) < 0)
		nn_query_refuse(q);
	else
		nn_query_submit(q, nn_v2_format);
}
