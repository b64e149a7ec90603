/* What --help prints: the everyday options, or those of a heading. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/option.h"
#include "base/text.h"

/* ---- rows by their headings ---- */

static const char *heading_of(const struct nn_opt_table *table, const struct nn_opt *row)
{
	return row->topic ? row->topic : table->heading;
}

const struct nn_opt *nn_opt_of_topic(const struct nn_opt_list *list, const char *topic, size_t i)
{
	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *o = t->rows; o->name; o++)
			if (strcmp(heading_of(t, o), topic) == 0 && i-- == 0)
				return o;
	return NULL;
}

const char *nn_opt_topic(const struct nn_opt_list *list, size_t i)
{
	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *o = t->rows; o->name; o++)
			if (nn_opt_of_topic(list, heading_of(t, o), 0) == o && i-- == 0)
				return heading_of(t, o);
	return NULL;
}

void nn_opt_add_topics(const struct nn_opt_list *list, const char *separator, const char *last,
		       struct nn_text *text)
{
	for (size_t i = 0; nn_opt_topic(list, i); i++) {
		for (const char *c = nn_opt_topic(list, i); *c; c++)
			nn_text_addf(text, "%c", *c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
		nn_text_add(text, nn_opt_topic(list, i + 1) ? separator : last);
	}
}

/* ---- lines ---- */

void nn_opt_add_name(const struct nn_opt *row, struct nn_text *text)
{
	nn_text_addf(text, "--%s", row->name);
	if (row->arg)
		nn_text_addf(text, row->optional_arg ? "[=%s]" : "=%s", row->arg);
}

/* Words of s from column `indent` to 80, which `at` has passed already. */
static void add_wrapped(struct nn_text *text, const char *s, size_t indent, size_t at)
{
	while (*s) {
		size_t n = strcspn(s, " ");

		if (at + n + 1 > 80 && at > indent) {
			nn_text_addf(text, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			nn_text_add(text, " ");
			at++;
		}
		nn_text_add_bytes(text, s, n);
		at += n;
		s += n + strspn(s + n, " ");
	}
	nn_text_add(text, "\n");
}

#define HELP_COLUMN 30

/* "  NAME      HELP", wrapped behind the name. */
static void add_line(struct nn_text *text, const char *name, const char *help)
{
	nn_text_add(text, name);
	if (strlen(name) + 2 > HELP_COLUMN)
		nn_text_addf(text, "\n%*s", HELP_COLUMN, "");
	else
		nn_text_addf(text, "%*s", (int)(HELP_COLUMN - strlen(name)), "");
	add_wrapped(text, help, HELP_COLUMN, HELP_COLUMN);
}

static void add_row(struct nn_text *text, const struct nn_opt *row, bool briefly)
{
	struct nn_text name = { 0 }, help = { 0 };

	nn_text_addf(&name, row->letter ? "  -%c, " : "      ", row->letter);
	nn_opt_add_name(row, &name);
	nn_text_add(&help, briefly ? row->daily : row->help);
	if (row->fallback && !briefly)
		nn_text_addf(&help, " (default: %s)", row->fallback);
	if (name.failed || help.failed)
		text->failed = true;
	else
		add_line(text, name.data, help.data);
	nn_text_free(&name);
	nn_text_free(&help);
}

static void add_usage(struct nn_text *text, const struct nn_opt_list *list)
{
	const char *usage = list->usage;

	for (const char *prefix = "Usage: "; *usage; prefix = "  or:  ") {
		size_t n = strcspn(usage, "\n");

		nn_text_addf(text, "%s%.*s\n", prefix, (int)n, usage);
		usage += n + (usage[n] == '\n');
	}
	add_wrapped(text, list->brief, 0, 0);
	for (const struct nn_opt_word *word = list->words; word && word->name; word++) {
		char name[80];

		if (word == list->words)
			nn_text_add(text, "\n");
		snprintf(name, sizeof name, "  %s %s", word->name, word->operands);
		add_line(text, name, word->help);
	}
	if (list->example)
		nn_text_addf(text, "\nExample:\n  %s\n", list->example);
}

static void add_topic(struct nn_text *text, const struct nn_opt_list *list, const char *topic)
{
	nn_text_addf(text, text->length ? "\n%s:\n" : "%s:\n", topic);
	for (size_t i = 0; nn_opt_of_topic(list, topic, i); i++)
		add_row(text, nn_opt_of_topic(list, topic, i), false);
}

static void add_everyday(struct nn_text *text, const struct nn_opt_list *list)
{
	struct nn_text more = { 0 };

	nn_text_add(text, "\nEveryday options:\n");
	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *o = t->rows; o->name; o++)
			if (o->daily)
				add_row(text, o, true);
	nn_text_add(&more, "More: --help=TOPIC, a TOPIC being ");
	nn_opt_add_topics(list, ", ", " or all", &more);
	nn_text_addf(&more, "; see also man %s", list->tool);
	nn_text_add(text, "\n");
	add_wrapped(text, more.data ? more.data : "", 0, 0);
	nn_text_free(&more);
}

int nn_opt_help(const struct nn_opt_list *list, const char *topic, struct nn_text *text,
		struct nn_error *err)
{
	bool all = topic && strcmp(topic, "all") == 0, found = all || !topic;
	char quoted[NN_QUOTED];

	if (found)
		add_usage(text, list);
	if (!topic)
		add_everyday(text, list);
	for (size_t i = 0; topic && nn_opt_topic(list, i); i++)
		if (all || strcasecmp(nn_opt_topic(list, i), topic) == 0) {
			add_topic(text, list, nn_opt_topic(list, i));
			found = true;
		}
	if (found && text->failed)
		return nn_fail(err, NN_ENOMEM, "cannot allocate the text of --help");
	if (found)
		return 0;
	nn_text_clear(text);
	nn_opt_add_topics(list, ", ", " or all", text);
	return nn_fail(err, NN_EUSAGE, "--help=%s: expected %s",
		       nn_quote(quoted, topic, strlen(topic)), text->data ? text->data : "a topic");
}
