/*
 * The command line: GNU long options, clustered short ones, operands anywhere; then the environment
 * and --config.
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/option.h"
#include "base/output.h"
#include "base/text.h"

struct parse {
	const struct nn_opt_list *list;
	int argc, at;
	char **argv;
	int n_operands;
	uint64_t given[NN_OPT_TABLES];
	const char *config, *topic;
	bool help, version;
	struct nn_error *err;
};

static void mark(struct parse *p, size_t table, const struct nn_opt *row)
{
	p->given[table] |= UINT64_C(1) << (row - p->list->tables[table].rows);
}

/* The option with its value as typed, for messages. */
static void describe(const struct nn_opt *row, const char *value, char *origin, size_t size)
{
	char quoted[NN_QUOTED];

	snprintf(origin, size, "--%s=%s", row->name, nn_quote(quoted, value, strlen(value)));
}

static int apply(struct parse *p, size_t table, const struct nn_opt *row, const char *value)
{
	char origin[NN_QUOTED + 80];

	mark(p, table, row);
	p->help |= row->type == NN_OPT_HELP;
	if (row->type == NN_OPT_HELP)
		p->topic = value;
	p->version |= row->type == NN_OPT_VERSION;
	if (row->type == NN_OPT_CONFIG)
		p->config = value;
	if (!p->list->tables[table].values)
		return 0;
	if (!value && row->optional_arg) {
		*(const char **)((char *)p->list->tables[table].values + row->offset) = NULL;
		return 0;
	}
	describe(row, value ? value : "yes", origin, sizeof origin);
	return nn_opt_set(&p->list->tables[table], row, value ? value : "yes", origin, p->err);
}

static int long_option(struct parse *p, const char *word)
{
	const char *equals = strchr(word, '=');
	size_t n = equals ? (size_t)(equals - word) : strlen(word), table;
	const struct nn_opt *row = nn_opt_find(p->list, word, n, &table, p->err);
	const char *value = equals ? equals + 1 : NULL;

	if (!row)
		return -1;
	if (value && !row->arg)
		return nn_fail(p->err, NN_EUSAGE, "--%s: takes no value", row->name);
	if (!value && row->arg && !row->optional_arg) {
		if (p->at >= p->argc)
			return nn_fail(p->err, NN_EUSAGE, "--%s: expected a value, --%s=%s",
				       row->name, row->name, row->arg);
		value = p->argv[p->at++];
	}
	return apply(p, table, row, value);
}

static const struct nn_opt *find_letter(const struct nn_opt_list *list, char letter, size_t *table)
{
	for (size_t t = 0; list->tables[t].rows; t++)
		for (const struct nn_opt *o = list->tables[t].rows; o->name; o++)
			if (o->letter == letter) {
				*table = t;
				return o;
			}
	return NULL;
}

static int short_options(struct parse *p, const char *letters)
{
	for (; *letters; letters++) {
		size_t table;
		const struct nn_opt *row = find_letter(p->list, *letters, &table);
		char quoted[NN_QUOTED];

		if (!row)
			return nn_fail(p->err, NN_EUSAGE, "-%s: unknown option",
				       nn_quote(quoted, letters, 1));
		if (!row->arg || row->optional_arg) {
			if (apply(p, table, row, NULL) < 0)
				return -1;
			continue;
		}
		if (letters[1])
			return apply(p, table, row, letters + 1);
		if (p->at >= p->argc)
			return nn_fail(p->err, NN_EUSAGE, "-%c: expected a value, -%c %s", *letters,
				       *letters, row->arg);
		return apply(p, table, row, p->argv[p->at++]);
	}
	return 0;
}

static int parse_line(struct parse *p)
{
	bool options = true;

	for (p->at = 1; p->at < p->argc && !p->help;) {
		char *word = p->argv[p->at++];
		int status = 0;

		if (options && strcmp(word, "--") == 0)
			options = false;
		else if (options && strncmp(word, "--", 2) == 0)
			status = long_option(p, word + 2);
		else if (options && *word == '-' && word[1])
			status = short_options(p, word + 1);
		else
			p->argv[1 + p->n_operands++] = word;
		if (status < 0)
			return -1;
	}
	return 0;
}

/* NN_DEVICE and NN_THREADS stand for the options of those names. */
static int parse_environment(struct parse *p)
{
	static const struct {
		const char *variable, *name;
	} variables[] = {
		{ "NN_DEVICE", "device" },
		{ "NN_THREADS", "threads" },
	};

	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		const char *value = getenv(variables[i].variable), *name = variables[i].name;
		char origin[NN_QUOTED + 80], quoted[NN_QUOTED];
		struct nn_error ignored;
		size_t table;
		const struct nn_opt *row =
			nn_opt_find(p->list, name, strlen(name), &table, &ignored);

		if (!value || !*value || !row || !p->list->tables[table].values ||
		    p->given[table] >> (row - p->list->tables[table].rows) & 1)
			continue;
		snprintf(origin, sizeof origin, "%s=%s", variables[i].variable,
			 nn_quote(quoted, value, strlen(value)));
		if (nn_opt_set(&p->list->tables[table], row, value, origin, p->err) < 0)
			return -1;
		mark(p, table, row);
	}
	return 0;
}

static void set_defaults(const struct nn_opt_list *list)
{
	struct nn_error err = { 0 };

	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *o = t->rows; o->name; o++) {
			if (t - list->tables >= NN_OPT_TABLES || o - t->rows >= 64)
				NN_BUG("--%s: too many options for a bit set", o->name);
			if (t->values && o->fallback && o->arg &&
			    nn_opt_set(t, o, o->fallback, o->name, &err) < 0)
				NN_BUG("the default of --%s: %s", o->name, err.text);
		}
}

static void print_version(const struct nn_opt_list *list, bool more)
{
	printf("%s (nntools) %s\n", list->tool, PACKAGE_VERSION);
	if (more && list->more_version)
		list->more_version();
}

static bool is_verbose(const struct parse *p)
{
	size_t table;
	const struct nn_opt *row = nn_opt_find(p->list, "verbose", 7, &table, NULL);

	return row && p->given[table] >> (row - p->list->tables[table].rows) & 1;
}

static int print_help(const struct parse *p)
{
	struct nn_text text = { 0 };
	int status = nn_opt_help(p->list, p->topic, &text, p->err);

	fputs(status == 0 && text.data ? text.data : "", stdout);
	nn_text_free(&text);
	return status;
}

/* What reads stdin is given once. */
static int check_stdin(const struct parse *p)
{
	char quoted[NN_QUOTED];

	for (int i = 1; i <= p->n_operands && nn_is_stdin(p->config); i++)
		if (nn_is_stdin(p->argv[i]))
			return nn_fail(p->err, NN_EUSAGE, "%s: stdin is read as --config already",
				       nn_quote(quoted, p->argv[i], strlen(p->argv[i])));
	return 0;
}

int nn_opt_parse(const struct nn_opt_list *list, int argc, char **argv, int *n_operands, bool *done,
		 struct nn_error *err)
{
	struct parse p = { .list = list, .argc = argc, .argv = argv, .err = err };

	*done = false;
	set_defaults(list);
	if (parse_line(&p) < 0)
		return -1;
	*n_operands = p.n_operands;
	*done = p.help || p.version;
	if (p.help)
		return print_help(&p);
	if (p.version)
		print_version(list, is_verbose(&p));
	if (*done)
		return 0;
	if (p.config && (check_stdin(&p) < 0 || nn_opt_config(list, p.config, p.given, err) < 0))
		return -1;
	if (parse_environment(&p) < 0)
		return -1;
	for (size_t t = 0; list->tables[t].rows; t++)
		if (list->tables[t].given)
			*list->tables[t].given = p.given[t];
	return 0;
}
