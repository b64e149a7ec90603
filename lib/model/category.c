/*
 * Inputs of categories: the keys hash=, index= and cross= of an input line, and the embeddings that
 * take its values.
 *
 * An input line that an embedding takes holds numbers of categories, and nothing else may take it.
 * Its columns share one embedding, the values of a column after those of the columns before it, so
 * one index means one row. A value unseen in training has zeros, as it has one-hot, so no row is
 * kept for it. hash=, cross= and index= stand at the input line: they say what the data mean.
 * Canonical text always has rows=. Numbers travel as f32 or f64, so an embedding has at most 2^24
 * rows.
 */
#include <string.h>
#include "base/memory.h"
#include "base/number.h"
#include "model/net.h"

#define MAX_CROSSES 1000
#define SPECIAL " \t#{},\"=+"

/* ---- keys ---- */

int nn_input_hash(const struct nn_net *net, struct nn_statement *statement,
		  const struct nn_word *value, struct nn_error *err)
{
	uint64_t n;
	char quoted[NN_QUOTED];

	if (!nn_parse_u64(value->text, value->n, &n) || n < 1 || n > NN_MOST_ROWS)
		return nn_statement_fail(net, statement, err,
					 "hash= must be a whole number from 1 to %zu, not '%s'",
					 NN_MOST_ROWS, nn_quote(quoted, value->text, value->n));
	statement->hash = (size_t)n;
	return 0;
}

int nn_input_index(const struct nn_net *net, struct nn_statement *statement,
		   const struct nn_word *value, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	statement->index = nn_word_is(value, "yes");
	if (statement->index || nn_word_is(value, "no"))
		return 0;
	return nn_statement_fail(net, statement, err, "index= must be yes or no, not '%s'",
				 nn_quote(quoted, value->text, value->n));
}

/* The next part of *rest up to `c` outside quotes; false: there is none. */
static bool next_part(struct nn_word *rest, char c, struct nn_word *part)
{
	const char *at;

	if (!rest->text)
		return false;
	at = nn_word_find(rest, c);
	*part = (struct nn_word){ rest->text, at ? (size_t)(at - rest->text) : rest->n };
	*rest = at ? (struct nn_word){ at + 1, rest->n - part->n - 1 }
		   : (struct nn_word){ NULL, 0 };
	return true;
}

/* A+B as a list of columns. */
static char *take_cross(const struct nn_net *net, const struct nn_statement *statement,
			const struct nn_word *word, struct nn_error *err)
{
	struct nn_word rest = *word, part;
	struct nn_text list = { 0 };
	char *text = NULL;
	size_t n = 0;

	for (bool more = true; more && next_part(&rest, '+', &part); n++) {
		char *name = nn_word_unquote(&part, err);

		more = name && *name;
		if (name && !*name)
			nn_statement_fail(net, statement, err, "cross=: a column without a name");
		if (more) {
			nn_text_add(&list, n > 0 ? "," : "");
			nn_print_column(&list, name, ",\"");
		}
		nn_free(name);
		if (!more)
			goto out;
	}
	if (n < 2)
		nn_statement_fail(net, statement, err,
				  "cross= takes columns joined by +, as a+b, not '%s'",
				  list.data ? list.data : "");
	else
		text = nn_strdup(list.failed ? "" : list.data, err);
out:
	nn_text_free(&list);
	return text;
}

int nn_input_cross(const struct nn_net *net, struct nn_statement *statement,
		   const struct nn_word *value, struct nn_error *err)
{
	struct nn_word rest = *value, part;

	statement->crosses = nn_alloc(MAX_CROSSES, sizeof *statement->crosses, err);
	if (!statement->crosses)
		return -1;
	while (next_part(&rest, ',', &part)) {
		if (statement->n_crosses == MAX_CROSSES)
			return nn_statement_fail(net, statement, err,
						 "cross= has more than %d crosses (a fixed limit)",
						 MAX_CROSSES);
		statement->crosses[statement->n_crosses] = take_cross(net, statement, &part, err);
		if (!statement->crosses[statement->n_crosses++])
			return -1;
	}
	return 0;
}

/* ---- canonical ---- */

/* A list of columns with + for its commas. */
static void print_cross(const char *list, struct nn_text *text)
{
	struct nn_word rest = { list, strlen(list) }, part;
	bool first = true;

	while (next_part(&rest, ',', &part)) {
		struct nn_error err;
		char *name = nn_word_unquote(&part, &err);

		nn_text_add(text, first ? "" : "+");
		nn_print_column(text, name ? name : "", SPECIAL);
		text->failed |= !name;
		nn_free(name);
		first = false;
	}
}

void nn_print_categories(const struct nn_statement *statement, struct nn_text *text)
{
	for (size_t i = 0; i < statement->n_crosses; i++) {
		nn_text_add(text, i == 0 ? " cross=" : ",");
		print_cross(statement->crosses[i], text);
	}
	if (statement->hash)
		nn_text_addf(text, " hash=%zu", statement->hash);
	if (statement->index)
		nn_text_add(text, " index=yes");
}

/* ---- layers that take categories ---- */

static bool is_embedding(const struct nn_net_entry *line)
{
	return line->statement->layer == &nn_layer_embedding;
}

bool nn_net_has_categories(const struct nn_net *net, int line)
{
	for (int i = line + 1; i < net->n_lines; i++)
		if (is_embedding(&net->lines[i]) && net->lines[i].from[0] == line)
			return true;
	return false;
}

static int check_input(const struct nn_net *net, int line, struct nn_error *err)
{
	const struct nn_statement *statement = net->lines[line].statement;
	const char *key = statement->hash      ? "hash="
			  : statement->index   ? "index="
			  : statement->crosses ? "cross="
					       : NULL;

	if (statement->crosses && !statement->hash)
		return nn_statement_fail(net, statement, err, "cross= needs hash=N");
	if (statement->hash && statement->index)
		return nn_statement_fail(net, statement, err,
					 "hash= and index= exclude each other");
	if (!nn_net_has_categories(net, line))
		return key ? nn_statement_fail(net, statement, err,
					       "%s is for inputs that an embedding takes", key)
			   : 0;
	for (int i = line + 1; i < net->n_lines; i++)
		for (int k = 0; k < net->lines[i].n_from; k++)
			if (net->lines[i].from[k] == line && !is_embedding(&net->lines[i]))
				return nn_statement_fail(
					net, net->lines[i].statement, err,
					"its input are numbers of categories, which an "
					"embedding takes too; numbers need an input line of their "
					"own");
	return 0;
}

int nn_net_check_categories(const struct nn_net *net, struct nn_error *err)
{
	for (int i = 0; i < net->n_lines; i++) {
		const struct nn_net_entry *line = &net->lines[i];

		if (line->statement->kind == NN_STATEMENT_INPUT && check_input(net, i, err))
			return -1;
		if (is_embedding(line) &&
		    net->lines[line->from[0]].statement->kind != NN_STATEMENT_INPUT)
			return nn_statement_fail(
				net, line->statement, err,
				"takes numbers of categories: its input must be an input line, not "
				"the output of %s",
				net->lines[line->from[0]].statement->layer->name);
	}
	return 0;
}

static const struct nn_net_input *input_of(const struct nn_net *net, int line)
{
	for (size_t i = 0; i < net->n_inputs; i++)
		if (net->input_lines[i] == line)
			return &net->inputs[i];
	NN_BUG("line %d is not an input", line);
}

/* The argument of a layer that counts its input, or NULL. */
static const struct nn_layer_arg *counted(const struct nn_layer *layer)
{
	const struct nn_layer_arg *arg = layer->args;

	while (arg && arg->name && !arg->counted)
		arg++;
	return arg && arg->name ? arg : NULL;
}

static size_t given_rows(const struct nn_statement *statement)
{
	return *(size_t *)((char *)statement->values + counted(statement->layer)->offset);
}

size_t nn_net_least_rows(const struct nn_net *net, int line)
{
	size_t least = 0;

	for (int i = line + 1; i < net->n_lines; i++)
		if (is_embedding(&net->lines[i]) && net->lines[i].from[0] == line) {
			size_t given = given_rows(net->lines[i].statement);

			least = given && (!least || given < least) ? given : least;
		}
	return least;
}

int nn_net_entry_count(const struct nn_net *net, struct nn_net_entry *line, bool any,
		       struct nn_error *err)
{
	const struct nn_statement *statement = line->statement;
	const struct nn_layer_arg *arg = counted(statement->layer);
	size_t given, rows;

	if (!arg)
		return 0;
	given = given_rows(statement);
	rows = input_of(net, line->from[0])->rows;
	if (given && given < rows)
		return nn_statement_fail(net, statement, err,
					 "%s=%zu, but its input has %zu categor%s", arg->name,
					 given, rows, rows == 1 ? "y" : "ies");
	line->rows = !rows && any ? NN_MOST_ROWS : rows;
	if (!given && !line->rows)
		return nn_statement_fail(net, statement, err,
					 "the text does not say how many rows the table has (%s=N)",
					 arg->name);
	return 0;
}

void nn_net_give_rows(struct nn_net *net, size_t i, size_t rows)
{
	if (!net->inputs[i].hash)
		net->inputs[i].rows = rows;
}
