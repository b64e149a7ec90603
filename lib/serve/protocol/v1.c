/* :predict, rows one by one ("instances") or inputs one by one ("inputs"). */
#include <string.h>

#include "serve/protocol/feed.h"
#include "serve/protocol/give.h"
#include "serve/protocol/v1.h"

enum { ROWS = 1, COLUMNS = 2 };

/* ---- the body ---- */

int nn_v1_signature(struct nn_query *q)
{
	char quoted[NN_QUOTED];

	if (nn_pull_next(&q->pull) != NN_PULL_STRING)
		return nn_pull_fail(&q->pull, "expected the name of a signature");
	if (q->pull.length > 0 && !nn_pull_is(&q->pull, "serving_default"))
		return nn_query_fail(q, 400,
				     "the model has no signature \"%s\", only serving_default",
				     nn_quote(quoted, q->pull.text, q->pull.length));
	return 0;
}

/* All rows of an input, which the JSON gives nested. */
static int take_input(struct nn_query *q, size_t input)
{
	struct nn_pull_dims dims;

	if (q->served->inputs[input].steps)
		return nn_feed_rows(q, input);
	if (nn_feed_json(q, input, &dims) < 0 || nn_feed_shape(q, input, dims.size, dims.rank) < 0)
		return -1;
	return nn_query_fed(q, input)->kind == NN_FED_CELLS
		       ? nn_feed_cells(q, input, NN_DT_ANY, nn_query_fed(q, input)->at, dims.count)
		       : 0;
}

/* Does the array that comes next begin with an object? */
static bool has_objects(const struct nn_query *q)
{
	struct nn_pull ahead = q->pull;

	ahead.err = NULL;
	return nn_pull_next(&ahead) == NN_PULL_ARRAY && nn_pull_peek(&ahead) == NN_PULL_OBJECT;
}

static int take_instances(struct nn_query *q)
{
	if (nn_pull_peek(&q->pull) != NN_PULL_ARRAY)
		return nn_query_fail(q, 400, "\"instances\": expected an array of rows");
	if (q->served->n_inputs != 1 || has_objects(q))
		return nn_feed_objects(q);
	return take_input(q, 0) < 0 ? -1 : nn_feed_finish(q);
}

static int take_inputs(struct nn_query *q)
{
	enum nn_pull_kind kind;
	size_t input;

	if (nn_pull_peek(&q->pull) != NN_PULL_OBJECT) {
		if (q->served->n_inputs != 1)
			return nn_query_fail(
				q, 400,
				"\"inputs\": expected an object with the %zu inputs of the model",
				q->served->n_inputs);
		return take_input(q, 0) < 0 ? -1 : nn_feed_finish(q);
	}
	nn_pull_next(&q->pull);
	while ((kind = nn_pull_next(&q->pull)) == NN_PULL_KEY) {
		if (nn_feed_find(q, q->pull.text, q->pull.length, &input) < 0 ||
		    take_input(q, input) < 0)
			return -1;
	}
	return kind == NN_PULL_BAD ? -1 : nn_feed_finish(q);
}

static int take_member(struct nn_query *q)
{
	bool rows = nn_pull_is(&q->pull, "instances"), columns = nn_pull_is(&q->pull, "inputs");

	if (nn_pull_is(&q->pull, "signature_name"))
		return nn_v1_signature(q);
	if (!rows && !columns)
		return nn_pull_skip(&q->pull);
	if (q->form)
		return nn_pull_fail(&q->pull,
				    "found \"instances\" and \"inputs\", expected one of them");
	q->form = rows ? ROWS : COLUMNS;
	return rows ? take_instances(q) : take_inputs(q);
}

static int parse(struct nn_query *q)
{
	enum nn_pull_kind kind;

	nn_query_pull(q, q->exchange->bytes, true);
	if (nn_pull_next(&q->pull) != NN_PULL_OBJECT)
		return nn_pull_fail(&q->pull,
				    "expected an object with \"instances\" or \"inputs\"");
	while ((kind = nn_pull_next(&q->pull)) == NN_PULL_KEY)
		if (take_member(q) < 0)
			return -1;
	if (kind == NN_PULL_BAD || nn_pull_next(&q->pull) != NN_PULL_END)
		return -1;
	return q->form ? 0 : nn_query_fail(q, 400, "expected \"instances\" or \"inputs\"");
}

/* ---- the answer ---- */

static void give_output(struct nn_query *q, size_t output)
{
	struct nn_text *text = &q->exchange->answer;

	nn_text_add(text, "[");
	for (size_t r = 0; r < q->job.rows; r++) {
		if (r)
			nn_text_add_bytes(text, ",", 1);
		nn_give_nested(q, text, output, r, NN_STYLE_V1);
	}
	nn_text_add(text, "]");
}

static void give_key(struct nn_query *q, size_t output)
{
	const char *name = q->served->outputs[output].name;

	nn_text_add(&q->exchange->answer, output ? "," : "");
	nn_text_add_json(&q->exchange->answer, name, strlen(name));
	nn_text_add(&q->exchange->answer, ":");
}

/* A row of several outputs. */
static void give_object(struct nn_query *q, size_t row)
{
	struct nn_text *text = &q->exchange->answer;

	nn_text_add(text, row ? ",{" : "{");
	for (size_t o = 0; o < q->served->n_outputs; o++) {
		give_key(q, o);
		nn_give_nested(q, text, o, row, NN_STYLE_V1);
	}
	nn_text_add(text, "}");
}

static void format(struct nn_query *q)
{
	struct nn_text *text = &q->exchange->answer;
	bool one = q->served->n_outputs == 1, rows = q->form == ROWS;

	nn_text_add(text, rows ? "{\"predictions\":" : "{\"outputs\":");
	if (one) {
		give_output(q, 0);
	} else if (rows) {
		nn_text_add(text, "[");
		for (size_t r = 0; r < q->job.rows; r++)
			give_object(q, r);
		nn_text_add(text, "]");
	} else {
		nn_text_add(text, "{");
		for (size_t o = 0; o < q->served->n_outputs; o++) {
			give_key(q, o);
			give_output(q, o);
		}
		nn_text_add(text, "}");
	}
	nn_text_add(text, "}\n");
	nn_query_answer_json(q);
}

void nn_v1_predict(struct nn_query *q)
{
	if (nn_query_find(q) < 0 || nn_feed_begin(q) < 0 || parse(q) < 0)
		nn_query_refuse(q);
	else
		nn_query_submit(q, format);
}
