/* nn-predict --info: what a file of a model or of weights holds, for people. */
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "data/schema/schema.h"
#include "file/json/json.h"
#include "model/weights.h"
#include "predict/predict.h"

#define MOST_LISTED 40 /* categories and labels of a line */

static void add_quoted(struct nn_text *text, const char *word)
{
	char quoted[NN_QUOTED];

	nn_text_add(text, nn_quote(quoted, word, strlen(word)));
}

static void add_list(struct nn_text *text, char *const *words, size_t n)
{
	for (size_t i = 0; i < n && i < MOST_LISTED; i++) {
		nn_text_add(text, i ? ", " : "");
		add_quoted(text, words[i]);
	}
	if (n > MOST_LISTED)
		nn_text_addf(text, " and %zu more", n - MOST_LISTED);
}

static void add_number(struct nn_text *text, const char *before, double value)
{
	char number[NN_NUMBER];

	nn_format_f64(number, value);
	nn_text_addf(text, "%s%s", before, number);
}

/* ---- the text ---- */

/* A line as it is, whole; bytes that are no printable UTF-8 as \xHH. */
static void add_line(struct nn_text *text, const char *line, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t length = nn_utf8_length(line + i, n - i);
		unsigned char c = (unsigned char)line[i];

		if (length == 0 || (c < ' ' && c != '\t') || c == 0x7f ||
		    (length == 2 && c == 0xc2)) {
			nn_text_addf(text, "\\x%02X", c);
			i++;
			continue;
		}
		nn_text_add_bytes(text, line + i, length);
		i += length;
	}
	nn_text_add(text, "\n");
}

static void add_text(struct nn_text *text, const struct nn_st *st)
{
	const char *at = nn_st_meta(st, "nn.model");

	if (!at)
		return;
	nn_text_add(text, "text\n");
	while (*at) {
		size_t n = strcspn(at, "\n");

		nn_text_add(text, "  ");
		add_line(text, at, n);
		at += n + (at[n] == '\n');
	}
}

/* ---- inputs ---- */

static void add_column(struct nn_text *text, const struct nn_column *c, size_t number)
{
	nn_text_add(text, "  ");
	if (c->name)
		add_quoted(text, c->name);
	else if (c->hashed)
		nn_text_addf(text, "%zu column%s together", c->n_hashed, nn_s(c->n_hashed));
	else
		nn_text_addf(text, "column %zu", c->position ? c->position : number);
	if (c->hashed) {
		nn_text_add(text, ": hashed");
	} else if (c->category) {
		nn_text_addf(text, ": %zu categor%s: ", c->n_values,
			     c->n_values == 1 ? "y" : "ies");
		add_list(text, c->values, c->n_values);
	} else {
		nn_text_add(text, ": number");
	}
	if (c->scaled) {
		add_number(text, ", mean ", c->mean);
		add_number(text, ", sd ", c->sd);
	}
	if (c->fills)
		add_number(text, ", missing counts as ", c->missing);
	nn_text_add(text, "\n");
}

static void add_input(struct nn_text *text, const struct nn_input_schema *input)
{
	char shape[NN_SHAPE_TEXT];

	nn_text_add(text, "input");
	if (input->name) {
		nn_text_add(text, " ");
		add_quoted(text, input->name);
	}
	nn_text_addf(text, ": shape %s", nn_shape_text(shape, &input->shape));
	if (input->scale != 0)
		add_number(text, ", u8 pictures times ", input->scale);
	if (input->characters.n)
		nn_text_addf(text, ", text of %zu character%s", input->characters.n,
			     nn_s(input->characters.n));
	else if (input->rows)
		nn_text_addf(text, ", numbers of categories below %zu", input->rows);
	nn_text_add(text, "\n");
	for (size_t i = 0; input->columns && i < input->n_columns; i++)
		add_column(text, &input->columns[i], i + 1);
}

/* ---- targets ---- */

static void add_target(struct nn_text *text, const struct nn_target_schema *target)
{
	bool named = target->columns && target->n_columns > 0 && target->columns[0];

	nn_text_add(text, "target");
	if (target->name) {
		nn_text_add(text, " ");
		add_quoted(text, target->name);
	}
	nn_text_add(text, ":");
	for (size_t i = 0; target->columns && i < target->n_columns; i++)
		if (target->columns[i]) {
			nn_text_add(text, i ? ", " : " ");
			add_quoted(text, target->columns[i]);
		}
	if (target->labels)
		nn_text_addf(text, "%s %zu class%s\n", named ? "," : "", target->n_labels,
			     target->n_labels == 1 ? "" : "es");
	else
		nn_text_addf(text, "%s %zu number%s\n", named ? "," : "", target->n_columns,
			     nn_s(target->n_columns));
	if (target->labels) {
		nn_text_add(text, "  labels: ");
		add_list(text, target->labels, target->n_labels);
		nn_text_add(text, "\n");
	}
	for (size_t i = 0; target->mean && i < target->n_columns; i++) {
		add_number(text, "  mean ", target->mean[i]);
		add_number(text, ", sd ", target->sd[i]);
		nn_text_add(text, "\n");
	}
}

static int add_schema(struct nn_text *text, const struct nn_st *st, const char *path,
		      struct nn_error *err)
{
	struct nn_schema *schema;

	if (nn_schema_parse(&schema, nn_st_meta(st, "nn.input"), nn_st_meta(st, "nn.target"), err) <
	    0)
		return nn_fail_at(err, "%s", path);
	for (size_t i = 0; i < schema->n_inputs; i++)
		add_input(text, &schema->inputs[i]);
	for (size_t i = 0; i < schema->n_targets; i++)
		add_target(text, &schema->targets[i]);
	nn_schema_free(schema);
	return 0;
}

/* ---- metrics ---- */

static void add_threshold(struct nn_text *text, const struct nn_json *threshold)
{
	const char *by = nn_json_string(nn_json_get(threshold, "by"), NULL);

	if (nn_json_type(nn_json_get(threshold, "value")) != NN_JSON_NUMBER)
		return;
	add_number(text, "threshold ", nn_json_number(nn_json_get(threshold, "value")));
	nn_text_add(text, " of the second class");
	if (by) {
		nn_text_add(text, ", by ");
		add_quoted(text, by);
	}
	nn_text_add(text, "\n");
}

static int add_metrics(struct nn_text *text, const struct nn_st *st, const char *path,
		       struct nn_error *err)
{
	const char *train = nn_st_meta(st, "nn.train");
	const struct nn_json *metrics, *value;
	struct nn_json *json;

	if (!train)
		return 0;
	json = nn_json_parse(train, strlen(train), err);
	if (!json)
		return nn_fail_at(err, "%s: nn.train", path);
	metrics = nn_json_get(json, "metrics");
	if (nn_json_type(metrics) == NN_JSON_OBJECT && nn_json_size(metrics) > 0)
		nn_text_add(text, "metrics\n");
	for (size_t i = 0; nn_json_type(metrics) == NN_JSON_OBJECT && i < nn_json_size(metrics);
	     i++) {
		nn_text_add(text, "  ");
		add_quoted(text, nn_json_key(metrics, i, &value));
		add_number(text, " ", nn_json_number(value));
		nn_text_add(text, "\n");
	}
	add_threshold(text, nn_json_get(json, "threshold"));
	nn_json_free(json);
	return 0;
}

/* ---- tensors ---- */

static void add_tensors(struct nn_text *text, const struct nn_st *st)
{
	size_t values = 0, bytes = 0;
	char shape[NN_SHAPE_TEXT];

	for (size_t i = 0; i < st->n_tensors; i++) {
		values += nn_shape_count(&st->tensors[i].shape);
		bytes +=
			nn_shape_count(&st->tensors[i].shape) * nn_dtype_size(st->tensors[i].dtype);
	}
	nn_text_addf(text, "tensors: %zu, %zu value%s, %zu byte%s\n", st->n_tensors, values,
		     nn_s(values), bytes, nn_s(bytes));
	for (size_t i = 0; i < st->n_tensors; i++) {
		const struct nn_st_tensor *t = &st->tensors[i];

		nn_text_add(text, "  ");
		add_quoted(text, t->name);
		nn_text_addf(text, " %s %s\n", nn_shape_text(shape, &t->shape),
			     nn_dtype_name(t->dtype));
	}
}

static const char *kind(const struct nn_st *st)
{
	return nn_st_meta(st, NN_META_STATE) ? "state of a training"
	       : nn_st_meta(st, "nn.model")  ? "model"
					     : "weights without a net: -m TEXT says what they mean";
}

static int describe(struct nn_text *text, const struct nn_st *st, const char *path,
		    struct nn_error *err)
{
	add_quoted(text, path);
	nn_text_addf(text, ": %s\n", kind(st));
	add_text(text, st);
	if (add_schema(text, st, path, err) < 0 || add_metrics(text, st, path, err) < 0)
		return -1;
	add_tensors(text, st);
	return text->failed ? nn_fail(err, NN_ENOMEM, "out of memory") : 0;
}

int nn_predict_info(const char *path, const char *to, struct nn_error *err)
{
	struct nn_output *output = NULL;
	struct nn_text text = { 0 };
	struct nn_st *st = NULL;
	int status = nn_weights_read(&st, path, err);

	if (status == 0)
		status = describe(&text, st, path, err);
	if (status == 0)
		status = nn_output_open(&output, to, false, err);
	if (status == 0)
		status = nn_output_write(output, text.data, text.length, err);
	if (output)
		status = nn_output_close(output, status, err);
	nn_text_free(&text);
	nn_st_free(st);
	return status;
}
