/*
 * A command line made anew from what options hold: for a process that is to see neither --config
 * nor the environment.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/option.h"
#include "base/text.h"

struct line {
	char **words;
	size_t n;
	struct nn_error *err;
	bool failed;
};

static void add(struct line *line, const char *word)
{
	char **words = nn_realloc(line->words, line->n * sizeof *words,
				  (line->n + 2) * sizeof *words, line->err);

	if (words)
		line->words = words;
	if (!words || !(words[line->n] = nn_strdup(word, line->err))) {
		line->failed = true;
		return;
	}
	words[++line->n] = NULL;
}

static void add_value(struct line *line, const char *name, const char *value)
{
	struct nn_text text = { 0 };

	nn_text_addf(&text, "--%s=", name);
	nn_text_add(&text, value);
	add(line, text.data ? text.data : "");
	line->failed |= text.failed;
	nn_text_free(&text);
}

static void add_option(struct line *line, const struct nn_opt_list *list, const struct nn_opt *row,
		       const void *place)
{
	bool text = row->type == NN_OPT_STRING || row->type == NN_OPT_CUSTOM;
	const char *string = text ? *(const char *const *)place : NULL;
	char value[64], name[80];
	int times = 1;

	snprintf(name, sizeof name, "--%s", row->name);
	switch (row->type) {
	case NN_OPT_HELP:
	case NN_OPT_VERSION:
	case NN_OPT_CONFIG:
		return;
	case NN_OPT_VERBOSE:
		times = *(const int *)place;
		break;
	case NN_OPT_FLAG:
	case NN_OPT_QUIET:
		times = *(const bool *)place;
		break;
	default:
		if (string || (!text && nn_opt_text(list, row->name, value, sizeof value))) {
			add_value(line, row->name, text ? string : value);
			return;
		}
		times = row->optional_arg;
	}
	for (int i = 0; i < times; i++)
		add(line, name);
}

char **nn_opt_arguments(const struct nn_opt_list *list, const char *const *more, size_t n_more,
			const char *const *operands, size_t n, struct nn_error *err)
{
	struct line line = { .err = err };

	add(&line, list->tool);
	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *row = t->rows; row->name; row++)
			if (t->values && nn_opt_given(list, row->name))
				add_option(&line, list, row, (const char *)t->values + row->offset);
	for (size_t i = 0; i < n_more; i++)
		add(&line, more[i]);
	add(&line, "--");
	for (size_t i = 0; i < n; i++)
		add(&line, operands[i]);
	if (!line.failed)
		return line.words;
	nn_opt_arguments_free(line.words);
	nn_fail(err, NN_ENOMEM, "cannot allocate a command line");
	return NULL;
}

void nn_opt_arguments_free(char **words)
{
	for (char **word = words; word && *word; word++)
		nn_free(*word);
	nn_free(words);
}
