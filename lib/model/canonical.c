/*
 * The canonical text of a resolved net: one layer a line, what is default left out, sizes in place
 * of `?`.
 *
 * A kernel of conv2d is always AxB, other pairs are one number where both agree; an unnamed output
 * of several is known by the number of its line.
 */
#include <string.h>
#include "base/memory.h"
#include "base/number.h"
#include "model/net.h"

#define MAX_TEXT ((size_t)64 << 20)

/* In quotes where a blank, a comma or another character of the language stands in a name. */
#define SPECIAL " \t#{},\"="

static void print_columns(const struct nn_statement *statement, const char *key,
			  struct nn_text *text)
{
	for (size_t i = 0; i < statement->n_columns; i++) {
		nn_text_addf(text, i == 0 ? " %s=" : ",", key);
		nn_print_column(text, statement->columns[i], SPECIAL);
	}
}

static void print_input(const struct nn_net_entry *line, struct nn_text *text)
{
	char shape[NN_SHAPE_TEXT];

	nn_shape_text(shape, &line->shape);
	if (line->statement->lengths)
		nn_text_addf(text, "input ?%s max=%zu", shape + strcspn(shape, "x"),
			     line->shape.dim[0]);
	else
		nn_text_addf(text, "input %s", shape);
	print_columns(line->statement, "columns", text);
	nn_print_categories(line->statement, text);
}

/* from= unless it is the line before. */
static void print_from(const struct nn_net *net, const struct nn_net_entry *line,
		       struct nn_text *text)
{
	if (line->n_from == 1 && line->from[0] == line - net->lines - 1)
		return;
	for (int i = 0; i < line->n_from; i++) {
		const char *name = net->lines[line->from[i]].name;

		nn_text_addf(text, "%s%s", i == 0 ? " from=" : "+", name ? name : "input");
	}
}

static int print_layer(const struct nn_net *net, const struct nn_net_entry *line,
		       struct nn_text *text, struct nn_error *err)
{
	const struct nn_statement *statement = line->statement;
	bool last = line == &net->lines[net->n_lines - 1];
	char number[NN_NUMBER];
	void *values;

	nn_text_add(text, statement->layer->name);
	values = nn_net_entry_values(line, err);
	if (!values)
		return -1;
	nn_args_print(statement->layer, values, text);
	nn_free(values);
	if ((statement->output && !last) || statement->target || statement->weight != 1)
		nn_text_add(text, " output");
	print_columns(statement, "target", text);
	if (statement->weight != 1) {
		nn_format_f64(number, statement->weight);
		nn_text_addf(text, " weight=%s", number);
	}
	print_from(net, line, text);
	return 0;
}

int nn_net_print(struct nn_net *net, struct nn_error *err)
{
	struct nn_text *text = &net->text;

	for (int i = 0; i < net->n_lines; i++) {
		const struct nn_net_entry *line = &net->lines[i];

		if (line->name)
			nn_text_addf(text, "%s: ", line->name);
		if (line->number < 0)
			print_input(line, text);
		else if (print_layer(net, line, text, err))
			return -1;
		nn_text_add(text, "\n");
		if (text->length > MAX_TEXT)
			return nn_text_fail(net->place, 0, net->code, err,
					    "the text is longer than %zu bytes when repeats are "
					    "written out (a fixed "
					    "limit)",
					    MAX_TEXT);
	}
	return text->failed ? nn_fail(err, NN_ENOMEM, "out of memory for the canonical text") : 0;
}
