/* Lines of words into statements: a layer with its arguments, an input, the ends of a repeat. */
#include <stdio.h>
#include <string.h>
#include "base/limit.h"
#include "base/memory.h"
#include "base/number.h"
#include "model/net.h"

#define BLANK "put a blank after the comma between two layers"

static int fail_with_form(const struct nn_net *net, const struct nn_statement *statement,
			  struct nn_error *err, const char *format, const char *what)
{
	struct nn_text form = { 0 };
	char text[NN_QUOTED + 64];

	nn_layer_form(statement->layer, &form);
	snprintf(text, sizeof text, format, what);
	nn_statement_fail(net, statement, err, "%s (the form is: %s)", text,
			  form.data ? form.data : "");
	nn_text_free(&form);
	return -1;
}

/* A word without `=`: the next argument by place, or the marker `output`. */
static int parse_place(const struct nn_net *net, struct nn_statement *statement,
		       const struct nn_word *word, unsigned *given, struct nn_error *err)
{
	const struct nn_layer_arg *args = statement->layer->args, *arg = args;
	struct nn_word value = *word;
	struct nn_error below;
	char quoted[NN_QUOTED], *plain;
	int failed;

	if (nn_word_is(word, "output")) {
		if (statement->output)
			return nn_statement_fail(net, statement, err, "output is given twice");
		statement->output = true;
		return 0;
	}
	while (arg && arg->name && (!nn_arg_by_place(arg) || *given & 1u << (arg - args)))
		arg++;
	if (!arg || !arg->name)
		return fail_with_form(net, statement, err, "'%s' is one argument too many",
				      nn_quote(quoted, word->text, word->n));
	*given |= 1u << (arg - args);
	if (nn_word_plain(&value, &plain, err))
		return -1;
	failed = nn_arg_parse(arg, value.text, value.n, statement->values, &below);
	nn_free(plain);
	if (!failed)
		return 0;
	if (memchr(word->text, ',', word->n - 1))
		return nn_statement_fail(net, statement, err, "'%s': " BLANK,
					 nn_quote(quoted, word->text, word->n));
	return nn_statement_fail_below(net, statement, err, &below);
}

static int parse_layer(const struct nn_net *net, struct nn_statement *statement,
		       const struct nn_word *words, size_t n, struct nn_error *err)
{
	const struct nn_layer_arg *args = statement->layer->args;
	unsigned given = 0;

	statement->weight = 1;
	statement->values = nn_alloc(1, statement->layer->size, err);
	if (!statement->values)
		return -1;
	nn_args_default(statement->layer, statement->values);
	for (size_t i = 0; i < n; i++) {
		const char *equals = nn_word_find(&words[i], '=');
		int failed =
			equals ? nn_statement_key(net, statement, &words[i], equals, &given, err)
			       : parse_place(net, statement, &words[i], &given, err);

		if (failed)
			return -1;
	}
	for (const struct nn_layer_arg *arg = args; arg && arg->name; arg++) {
		if (!arg->fallback && !arg->like && !arg->counted && !(given & 1u << (arg - args)))
			return fail_with_form(net, statement, err, "%s is missing", arg->name);
		if (arg->open && *(size_t *)((char *)statement->values + arg->offset) == 0)
			statement->open = true;
	}
	nn_args_complete(statement->layer, statement->values, given);
	statement->given = given;
	return 0;
}

static int parse_shape(const struct nn_net *net, struct nn_statement *statement,
		       const struct nn_word *word, struct nn_error *err)
{
	struct nn_word value = *word;
	char *plain;
	int status = nn_word_plain(&value, &plain, err);

	if (status == 0)
		status = nn_input_shape(net, statement, &value, err);
	nn_free(plain);
	return status;
}

static int parse_input(const struct nn_net *net, struct nn_statement *statement,
		       const struct nn_word *words, size_t n, struct nn_error *err)
{
	unsigned given = 0;

	for (size_t i = 0; i < n; i++) {
		const char *equals = nn_word_find(&words[i], '=');

		if (equals ? nn_statement_key(net, statement, &words[i], equals, &given, err)
			   : parse_shape(net, statement, &words[i], err))
			return -1;
	}
	if (statement->longest && !statement->lengths)
		return nn_statement_fail(net, statement, err,
					 "max= is for rows of different length, as in 'input ?x8 "
					 "max=100'");
	if (statement->lengths)
		statement->shape.dim[0] = statement->longest;
	return 0;
}

static int parse_repeat(const struct nn_net *net, struct nn_statement *statement,
			const struct nn_word *words, size_t n, struct nn_error *err)
{
	struct nn_word value = n < 1 ? (struct nn_word){ "", 0 } : words[0];
	uint64_t rounds = 0;
	char quoted[NN_QUOTED], said[NN_LIMIT_TEXT], *plain;
	bool whole;

	if (nn_word_plain(&value, &plain, err))
		return -1;
	whole = nn_parse_u64(value.text, value.n, &rounds);
	nn_free(plain);
	if (!whole || rounds < 1)
		return nn_statement_fail(
			net, statement, err,
			"the number of rounds must be a whole number from 1 to %zu, not '%s'",
			nn_limit(NN_LIMIT_LAYERS),
			n < 1 ? "" : nn_quote(quoted, words[0].text, words[0].n));
	if (rounds > nn_limit(NN_LIMIT_LAYERS))
		return nn_statement_fail(net, statement, err,
					 "%llu rounds, but a model has at most %s",
					 (unsigned long long)rounds,
					 nn_limit_said(NN_LIMIT_LAYERS, rounds, said));
	if (n != 2 || !nn_word_is(&words[1], "{"))
		return nn_statement_fail(net, statement, err,
					 "wanted '{' after the number of rounds");
	if (statement->name)
		return nn_statement_fail(net, statement, err, "a repeat takes no name");
	statement->rounds = (size_t)rounds;
	return 0;
}

static int parse_end(const struct nn_net *net, struct nn_statement *statement,
		     const struct nn_word *words, size_t n, struct nn_error *err)
{
	(void)words;
	if (n > 0 || statement->name)
		return nn_statement_fail(net, statement, err, "a closing brace stands alone");
	return 0;
}

/* ---- statements ---- */

static const char *next_layer(const void *arg, size_t i)
{
	const struct nn_layer *layer = nn_layer_at(i);

	(void)arg;
	if (layer)
		return layer->name;
	for (size_t n = 0; nn_layer_at(n); n++)
		i--;
	return i == 0 ? "input" : i == 1 ? "repeat" : NULL;
}

const char *nn_layer_meant(const char *word, size_t length)
{
	const struct nn_layer *layer;
	char plain[64];
	size_t n = 0;

	for (; n < length && n < sizeof plain - 1 && word[n] != '('; n++)
		plain[n] = word[n] == '_'                     ? '-'
			   : word[n] >= 'A' && word[n] <= 'Z' ? (char)(word[n] + ('a' - 'A'))
							      : word[n];
	plain[n] = '\0';
	for (size_t i = 0; (layer = nn_layer_at(i)); i++)
		if (strcmp(layer->name, plain) == 0 ||
		    (layer->also && nn_text_lists(layer->also, plain, n)))
			return layer->name;
	return nn_did_you_mean(plain, next_layer, NULL);
}

static int unknown_layer(const struct nn_net *net, const struct nn_statement *statement,
			 const struct nn_word *word, struct nn_error *err)
{
	const char *meant = nn_layer_meant(word->text, word->n);
	char quoted[NN_QUOTED];

	nn_quote(quoted, word->text, word->n);
	if (meant)
		return nn_text_fail(net->place, statement->source, net->code, err,
				    "unknown layer '%s', did you mean '%s'?", quoted, meant);
	return nn_text_fail(
		net->place, statement->source, net->code, err, "unknown layer '%s' (%s)", quoted,
		memchr(word->text, ',', word->n)           ? BLANK
		: *word->text >= '0' && *word->text <= '9' ? "sizes stand behind a layer, "
							     "as in 'dense 16'"
							   : "nn-layers(7) lists them");
}

/* `NAME:` at the start of the line; the words behind it in *words, *n. */
static int parse_name(const struct nn_net *net, struct nn_statement *statement,
		      struct nn_word **words, size_t *n, struct nn_error *err)
{
	const char *colon = nn_word_find(*words, ':');
	size_t length;
	char quoted[NN_QUOTED];

	if (!colon || nn_word_find(*words, '='))
		return 0;
	length = (size_t)(colon - (*words)->text);
	nn_quote(quoted, (*words)->text, length);
	if (!nn_is_name((*words)->text, length))
		return nn_text_fail(net->place, statement->source, net->code, err,
				    "a name must match [a-z][a-z0-9_]* and have at most %d "
				    "characters, not '%s'",
				    NN_NAME_LENGTH, quoted);
	statement->name = nn_strndup((*words)->text, length, err);
	if (!statement->name)
		return -1;
	if (length + 1 < (*words)->n) {
		**words = (struct nn_word){ colon + 1, (*words)->n - length - 1 };
	} else {
		(*words)++;
		(*n)--;
	}
	if (*n == 0)
		return nn_text_fail(net->place, statement->source, net->code, err,
				    "there is no layer behind the name '%s'", quoted);
	return 0;
}

static int parse_statement(const struct nn_net *net, struct nn_statement *statement,
			   struct nn_word *words, size_t n, struct nn_error *err)
{
	static const struct {
		const char *word;
		enum nn_statement_kind kind;
		int (*parse)(const struct nn_net *, struct nn_statement *, const struct nn_word *,
			     size_t, struct nn_error *);
	} kinds[] = {
		{ "input", NN_STATEMENT_INPUT, parse_input },
		{ "repeat", NN_STATEMENT_REPEAT, parse_repeat },
		{ "}", NN_STATEMENT_END, parse_end },
	};

	if (parse_name(net, statement, &words, &n, err))
		return -1;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (nn_word_is(&words[0], kinds[i].word)) {
			statement->kind = kinds[i].kind;
			return kinds[i].parse(net, statement, words + 1, n - 1, err);
		}
	statement->layer = nn_layer_find(words[0].text, words[0].n);
	if (!statement->layer)
		return unknown_layer(net, statement, &words[0], err);
	return parse_layer(net, statement, words + 1, n - 1, err);
}

void nn_statement_fini(struct nn_statement *statement)
{
	for (int i = 0; i < statement->n_from; i++)
		nn_free(statement->from[i]);
	for (size_t i = 0; i < statement->n_columns; i++)
		nn_free(statement->columns[i]);
	nn_free(statement->from);
	nn_free(statement->columns);
	for (size_t i = 0; i < statement->n_crosses; i++)
		nn_free(statement->crosses[i]);
	nn_free(statement->crosses);
	nn_free(statement->name);
	nn_free(statement->values);
	nn_free(statement->target);
}

static struct nn_statement *add_statement(struct nn_net *net, int source, struct nn_error *err)
{
	if (net->n_statements == net->statements_room) {
		size_t room = net->statements_room ? 2 * net->statements_room : 32;
		void *grown =
			nn_realloc(net->statements, net->n_statements * sizeof *net->statements,
				   room * sizeof *net->statements, err);

		if (!grown)
			return NULL;
		net->statements = grown;
		net->statements_room = room;
	}
	net->statements[net->n_statements] = (struct nn_statement){ .source = source };
	return &net->statements[net->n_statements++];
}

/* Braces are matched here: a stack of open repeats, since nothing recurses on input. */
static int match_braces(const struct nn_net *net, size_t *open, int *depth, struct nn_error *err)
{
	size_t last = net->n_statements - 1;
	struct nn_statement *statement = &net->statements[last];

	if (statement->kind == NN_STATEMENT_REPEAT) {
		if (*depth == NN_MAX_DEPTH)
			return nn_statement_fail(
				net, statement, err,
				"more than %d repeats inside each other (a fixed limit)",
				NN_MAX_DEPTH);
		open[(*depth)++] = last;
	} else if (statement->kind == NN_STATEMENT_END) {
		if (*depth == 0)
			return nn_statement_fail(net, statement, err, "no repeat is open here");
		net->statements[open[--*depth]].end = last;
		if (open[*depth] + 1 == last)
			return nn_statement_fail(net, &net->statements[open[*depth]], err,
						 "there are no layers between the braces");
	} else if (statement->kind == NN_STATEMENT_INPUT && *depth > 0) {
		return nn_statement_fail(net, statement, err, "an input line cannot be repeated");
	}
	return 0;
}

int nn_net_read(struct nn_net *net, const char *text, size_t n, bool is_inline,
		struct nn_error *err)
{
	struct nn_lexer lexer;
	size_t open[NN_MAX_DEPTH];
	int depth = 0, more;

	nn_lexer_init(&lexer, net->place, text, n, is_inline);
	while ((more = nn_lexer_next(&lexer, err)) > 0) {
		struct nn_statement *statement = add_statement(net, lexer.words_line, err);

		if (!statement ||
		    parse_statement(net, statement, lexer.words, lexer.n_words, err) ||
		    match_braces(net, open, &depth, err)) {
			more = -1;
			break;
		}
	}
	nn_lexer_fini(&lexer);
	if (more == 0 && depth > 0)
		return nn_statement_fail(net, &net->statements[open[depth - 1]], err,
					 "the brace is never closed");
	return more;
}
