/* :classify and :regress: examples, rows as objects, into labels with scores or numbers. */
#include <string.h>

#include "serve/protocol/feed.h"
#include "serve/protocol/give.h"
#include "serve/protocol/v1.h"

static int take_member(struct nn_query *q)
{
	if (nn_pull_is(&q->pull, "signature_name"))
		return nn_v1_signature(q);
	if (nn_pull_is(&q->pull, "context"))
		return nn_query_fail(q, 400, "\"context\": expected all fields in \"examples\"");
	if (!nn_pull_is(&q->pull, "examples"))
		return nn_pull_skip(&q->pull);
	q->form = 1;
	return nn_feed_objects(q);
}

static int parse(struct nn_query *q)
{
	enum nn_pull_kind kind;

	nn_query_pull(q, q->exchange->bytes, true);
	if (nn_pull_next(&q->pull) != NN_PULL_OBJECT)
		return nn_pull_fail(&q->pull, "expected an object with \"examples\"");
	while ((kind = nn_pull_next(&q->pull)) == NN_PULL_KEY)
		if (take_member(q) < 0)
			return -1;
	if (kind == NN_PULL_BAD || nn_pull_next(&q->pull) != NN_PULL_END)
		return -1;
	return q->form ? 0 : nn_query_fail(q, 400, "expected \"examples\"");
}

static void give_classes(struct nn_query *q, size_t row)
{
	struct nn_text *text = &q->exchange->answer;
	struct nn_given given = nn_give_row(q, 0, row);
	char buffer[24];

	nn_text_add(text, "[");
	for (size_t c = 0; c < given.n; c++) {
		const char *label = nn_give_label(q, &given, c, buffer);

		nn_text_add(text, c ? ",[" : "[");
		nn_text_add_json(text, label, strlen(label));
		nn_text_add(text, ",");
		nn_give_float(text, given.values[c], NN_STYLE_V1);
		nn_text_add(text, "]");
	}
	nn_text_add(text, "]");
}

static void format_results(struct nn_query *q, bool classes)
{
	struct nn_text *text = &q->exchange->answer;

	nn_text_add(text, "{\"results\":[");
	for (size_t r = 0; r < q->job.rows; r++) {
		nn_text_add(text, r ? "," : "");
		if (classes)
			give_classes(q, r);
		else
			nn_give_float(text, *nn_give_row(q, 0, r).values, NN_STYLE_V1);
	}
	nn_text_add(text, "]}\n");
	nn_query_answer_json(q);
}

static void format_classes(struct nn_query *q)
{
	format_results(q, true);
}

static void format_numbers(struct nn_query *q)
{
	format_results(q, false);
}

/* A result has no place for several outputs. */
static int check_labels(struct nn_query *q)
{
	struct nn_text names = { 0 };
	size_t n = 0;

	if (q->served->classifies)
		return 0;
	for (size_t o = 0; o < q->served->n_outputs; o++)
		if (!q->served->outputs[o].text)
			nn_text_addf(&names, "%s%s", n++ ? ", " : "", q->served->outputs[o].name);
	if (n > 1)
		nn_query_fail(q, 400, ":classify: the model has several outputs (%s); use :predict",
			      names.failed ? "" : names.data);
	else
		nn_query_fail(q, 400, ":classify: the model has no labels; use :predict");
	nn_text_free(&names);
	return -1;
}

static int check(struct nn_query *q, bool classes)
{
	if (classes && check_labels(q) < 0)
		return -1;
	if (!classes && (q->served->classifies || q->served->row_out != 1))
		return nn_query_fail(
			q, 400,
			":regress: the model does not answer one number a row; use :predict");
	return nn_feed_begin(q);
}

static void answer(struct nn_query *q, bool classes)
{
	if (nn_query_find(q) < 0 || check(q, classes) < 0 || parse(q) < 0)
		nn_query_refuse(q);
	else
		nn_query_submit(q, classes ? format_classes : format_numbers);
}

void nn_v1_classify(struct nn_query *q)
{
	answer(q, true);
}

void nn_v1_regress(struct nn_query *q)
{
	answer(q, false);
}
