/* The words KEY=VALUE of a line: a layer's own keys, and the keys of every layer. */
#include <string.h>
#include "base/memory.h"
#include "base/number.h"
#include "model/net.h"

#define MAX_COLUMNS 10000

static int parse_from(const struct nn_net *net, struct nn_statement *statement,
		      const struct nn_word *value, struct nn_error *err)
{
	const char *at = value->text, *end = at + value->n;
	size_t n = 1;

	for (const char *c = at; c < end; c++)
		n += *c == '+';
	if (n > NN_MAX_LINKS)
		return nn_statement_fail(net, statement, err,
					 "from= names more than %d lines (a fixed limit)",
					 NN_MAX_LINKS);
	statement->from = nn_alloc(n, sizeof *statement->from, err);
	if (!statement->from)
		return -1;
	for (; statement->n_from < (int)n; at++) {
		const char *plus = memchr(at, '+', (size_t)(end - at));
		size_t length = (size_t)((plus ? plus : end) - at);
		char quoted[NN_QUOTED];

		if (!nn_is_name(at, length))
			return nn_statement_fail(net, statement, err,
						 "from=: '%s' is not a name of a line",
						 nn_quote(quoted, at, length));
		statement->from[statement->n_from] = nn_strndup(at, length, err);
		if (!statement->from[statement->n_from++])
			return -1;
		at += length;
	}
	return 0;
}

static int add_column(const struct nn_net *net, struct nn_statement *statement, const char *key,
		      const struct nn_word *word, struct nn_error *err)
{
	char *name = nn_word_unquote(word, err), quoted[NN_QUOTED];

	if (!name)
		return -1;
	statement->columns[statement->n_columns++] = name;
	nn_quote(quoted, name, strlen(name));
	if (!*name)
		return nn_statement_fail(net, statement, err, "%s: a column without a name", key);
	for (size_t i = 0; i + 1 < statement->n_columns; i++)
		if (strcmp(statement->columns[i], name) == 0)
			return nn_statement_fail(net, statement, err, "%s: '%s' stands there twice",
						 key, quoted);
	return 0;
}

/* A list of columns: commas outside quotes part them. */
static int parse_list(const struct nn_net *net, struct nn_statement *statement, const char *key,
		      const struct nn_word *list, struct nn_error *err)
{
	struct nn_word rest = *list;
	size_t n = 1;

	for (size_t i = 0; i < list->n; i++)
		n += list->text[i] == ',';
	if (n > MAX_COLUMNS)
		return nn_statement_fail(net, statement, err,
					 "%s names more than %d columns (a fixed limit)", key,
					 MAX_COLUMNS);
	statement->columns = nn_alloc(n, sizeof *statement->columns, err);
	if (!statement->columns)
		return -1;
	for (;;) {
		const char *comma = nn_word_find(&rest, ',');
		struct nn_word word = { rest.text, comma ? (size_t)(comma - rest.text) : rest.n };

		if (add_column(net, statement, key, &word, err))
			return -1;
		if (!comma)
			return 0;
		rest.n -= word.n + 1;
		rest.text = comma + 1;
	}
}

static int parse_columns(const struct nn_net *net, struct nn_statement *statement,
			 const struct nn_word *value, struct nn_error *err)
{
	return parse_list(net, statement, "columns=", value, err);
}

/*
 * target= is kept as a list for the data room too: a column stands in quotes only where its name
 * needs them.
 */
static int parse_target(const struct nn_net *net, struct nn_statement *statement,
			const struct nn_word *value, struct nn_error *err)
{
	struct nn_text text = { 0 };

	if (parse_list(net, statement, "target=", value, err))
		return -1;
	for (size_t i = 0; i < statement->n_columns; i++) {
		nn_text_add(&text, i > 0 ? "," : "");
		nn_print_column(&text, statement->columns[i], ",\"");
	}
	statement->target = nn_strdup(text.failed ? "" : text.data, err);
	if (text.failed && statement->target)
		nn_fail(err, NN_ENOMEM, "out of memory");
	nn_text_free(&text);
	return text.failed || !statement->target ? -1 : 0;
}

static int parse_weight(const struct nn_net *net, struct nn_statement *statement,
			const struct nn_word *value, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	statement->weighted = true;
	if (nn_parse_f64(value->text, value->n, &statement->weight) && statement->weight >= 0)
		return 0;
	return nn_statement_fail(net, statement, err, "weight= must be a number from 0, not '%s'",
				 nn_quote(quoted, value->text, value->n));
}

struct common_key {
	const char *name;
	bool input; /* of input lines, else of layers */
	bool list;  /* of columns, each of which may stand in quotes: it takes them off itself */
	int (*parse)(const struct nn_net *net, struct nn_statement *statement,
		     const struct nn_word *value, struct nn_error *err);
};

static const struct common_key common_keys[] = {
	{ "from", false, false, parse_from },     { "target", false, true, parse_target },
	{ "weight", false, false, parse_weight }, { "columns", true, true, parse_columns },
	{ "hash", true, false, nn_input_hash },   { "index", true, false, nn_input_index },
	{ "cross", true, true, nn_input_cross },  { "max", true, false, nn_input_max },
};
#define N_COMMON_KEYS (sizeof common_keys / sizeof common_keys[0])

/* ---- the words of a line ---- */

/* What the keys of a line are, for "did you mean". */
static const char *next_key(const void *arg, size_t i)
{
	const struct nn_statement *statement = arg;
	bool input = statement->kind == NN_STATEMENT_INPUT;

	for (size_t k = 0; k < N_COMMON_KEYS; k++)
		if (common_keys[k].input == input && i-- == 0)
			return common_keys[k].name;
	if (!statement->layer || !statement->layer->args)
		return NULL;
	for (const struct nn_layer_arg *own = statement->layer->args; own->name; own++)
		if (!nn_arg_by_place(own) && i-- == 0)
			return own->name;
	return NULL;
}

static int unknown_key(const struct nn_net *net, const struct nn_statement *statement,
		       const struct nn_word *key, struct nn_error *err)
{
	char *plain = nn_strndup(key->text, key->n < 64 ? key->n : 64, err), quoted[NN_QUOTED];
	const char *near;
	struct nn_text form = { 0 };

	if (!plain)
		return -1;
	near = nn_did_you_mean(plain, next_key, statement);
	nn_free(plain);
	nn_quote(quoted, key->text, key->n);
	if (near)
		return nn_statement_fail(net, statement, err,
					 "unknown key '%s=', did you mean '%s='?", quoted, near);
	if (statement->layer)
		nn_layer_form(statement->layer, &form);
	else
		nn_text_add(&form, "input [AxBxC|?xB max=N] [columns=COLUMN,...] [hash=N] "
				   "[cross=COLUMN+COLUMN,...] [index=yes]");
	nn_statement_fail(net, statement, err, "unknown key '%s=' (the form is: %s)", quoted,
			  form.data ? form.data : "");
	nn_text_free(&form);
	return -1;
}

int nn_statement_key(const struct nn_net *net, struct nn_statement *statement,
		     const struct nn_word *word, const char *equals, unsigned *given,
		     struct nn_error *err)
{
	struct nn_word key = { word->text, (size_t)(equals - word->text) };
	struct nn_word value = { equals + 1, word->n - key.n - 1 };
	const struct nn_layer_arg *args = statement->layer ? statement->layer->args : NULL;
	const struct nn_layer_arg *arg = args;
	const struct common_key *common = common_keys;
	struct nn_error below;
	char *plain = NULL;
	bool own;
	unsigned bit;
	int status;

	while (arg && arg->name && (nn_arg_by_place(arg) || !nn_word_is(&key, arg->name)))
		arg++;
	while (common < common_keys + N_COMMON_KEYS &&
	       (common->input != (statement->kind == NN_STATEMENT_INPUT) ||
		!nn_word_is(&key, common->name)))
		common++;
	if (arg && arg->name)
		bit = 1u << (arg - args);
	else if (common < common_keys + N_COMMON_KEYS)
		bit = 1u << (31 - (common - common_keys));
	else
		return unknown_key(net, statement, &key, err);
	if (*given & bit)
		return nn_statement_fail(net, statement, err, "%.*s= is given twice", (int)key.n,
					 key.text);
	*given |= bit;
	own = bit <= 1u << (31 - N_COMMON_KEYS);
	if ((own || !common->list) && nn_word_plain(&value, &plain, err))
		return -1;
	if (!own)
		status = common->parse(net, statement, &value, err);
	else if (nn_arg_parse(arg, value.text, value.n, statement->values, &below))
		status = nn_statement_fail_below(net, statement, err, &below);
	else
		status = 0;
	nn_free(plain);
	return status;
}
