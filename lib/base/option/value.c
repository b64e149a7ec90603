/* One option: finding its row, checking a value and putting it in its place, and back to text. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/installed.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/option.h"
#include "base/text.h"

static const char *option_name(const void *arg, size_t i)
{
	const struct nn_opt_list *list = arg;

	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *o = t->rows; o->name; o++)
			if (i-- == 0)
				return o->name;
	return NULL;
}

/* The option that other tools call so. */
static const char *called_elsewhere(const struct nn_opt_list *list, const char *word)
{
	for (const struct nn_opt_table *t = list->tables; t->rows; t++)
		for (const struct nn_opt *o = t->rows; o->name; o++)
			if (o->also && nn_text_lists(o->also, word, strlen(word)))
				return o->name;
	return NULL;
}

static int unknown(const struct nn_opt_list *list, const char *name, size_t n, struct nn_error *err)
{
	char word[64], quoted[NN_QUOTED];
	const char *near;

	snprintf(word, sizeof word, "%.*s", (int)n, name);
	near = called_elsewhere(list, word);
	if (!near)
		near = nn_did_you_mean(word, option_name, list);
	return nn_fail(err, NN_EUSAGE,
		       near ? "--%s: unknown option; did you mean --%s?" : "--%s: unknown option",
		       nn_quote(quoted, name, n), near);
}

const struct nn_opt *nn_opt_find(const struct nn_opt_list *list, const char *name, size_t n,
				 size_t *table, struct nn_error *err)
{
	const struct nn_opt *found = NULL;
	struct nn_text several = { 0 };
	int matches = 0;

	for (size_t t = 0; list->tables[t].rows; t++)
		for (const struct nn_opt *o = list->tables[t].rows; o->name; o++) {
			if (n == 0 || strncmp(o->name, name, n) != 0)
				continue;
			if (o->name[n] == '\0') {
				nn_text_free(&several);
				*table = t;
				return o;
			}
			nn_text_addf(&several, "%s--%s", matches++ ? ", " : "", o->name);
			found = o;
			*table = t;
		}
	if (matches == 0) {
		unknown(list, name, n, err);
	} else if (matches > 1) {
		found = NULL;
		nn_fail(err, NN_EUSAGE, "--%.*s: could be %s", (int)n, name, several.data);
	}
	nn_text_free(&several);
	return found;
}

static const char *choice_name(const void *arg, size_t i)
{
	return ((const char *const *)arg)[i];
}

static int set_choice(const struct nn_opt *row, int *place, const char *value, const char *origin,
		      struct nn_error *err)
{
	struct nn_text known = { 0 };
	const char *near;

	for (int i = 0; row->choices[i]; i++) {
		if (strcmp(row->choices[i], value) == 0) {
			*place = i;
			nn_text_free(&known);
			return 0;
		}
		nn_text_addf(&known, "%s%s", i ? ", " : "", row->choices[i]);
	}
	near = nn_did_you_mean(value, choice_name, row->choices);
	nn_fail(err, NN_EUSAGE,
		near ? "%s: expected one of %s; did you mean %s?" : "%s: expected one of %s",
		origin, known.data, near);
	nn_text_free(&known);
	return -1;
}

static int set_yes_no(bool *place, const char *value, const char *origin, struct nn_error *err)
{
	*place = strcmp(value, "yes") == 0;
	if (*place || strcmp(value, "no") == 0)
		return 0;
	return nn_fail(err, NN_EUSAGE, "%s: expected yes or no", origin);
}

/* "a whole number of at least 1", "a number from 0 to 1" */
static int refuse(const struct nn_opt *row, const char *what, const char *origin,
		  struct nn_error *err)
{
	char min[NN_NUMBER], max[NN_NUMBER];

	nn_format_f64(min, row->min);
	nn_format_f64(max, row->max);
	if (row->max != 0)
		return nn_fail(err, NN_EUSAGE, "%s: expected %s from %s to %s", origin, what, min,
			       max);
	return nn_fail(err, NN_EUSAGE, "%s: expected %s of at least %s", origin, what, min);
}

static bool within(const struct nn_opt *row, double value)
{
	return value >= row->min && (row->max == 0 || value <= row->max);
}

/*
 * A check writes "--name=value: ..."; where the value came from elsewhere, that place stands there
 * instead.
 */
static int check_custom(const struct nn_opt *row, const char *value, const char *origin,
			struct nn_error *err)
{
	char typed[NN_QUOTED + 80], quoted[NN_QUOTED], rest[sizeof err->text];
	size_t n;

	if (!row->check || row->check(value, err) == 0)
		return 0;
	n = (size_t)snprintf(typed, sizeof typed, "--%s=%s: ", row->name,
			     nn_quote(quoted, value, strlen(value)));
	if (!err || strncmp(err->text, typed, n) != 0)
		return err ? nn_fail_at(err, "%s", origin) : -1;
	snprintf(rest, sizeof rest, "%s", err->text + n);
	return nn_fail(err, err->code, "%s: %s", origin, rest);
}

static int add_value_line(const char **place, const char *value, struct nn_error *err)
{
	struct nn_text lines = { 0 };
	const char *kept = NULL;

	nn_text_addf(&lines, "%s\n%s", *place, value);
	if (lines.failed)
		nn_fail(err, NN_ENOMEM, "cannot allocate the values of an option");
	else
		kept = nn_keep(lines.data, err);
	nn_text_free(&lines);
	if (!kept)
		return -1;
	*place = kept;
	return 0;
}

/* What a row keeps as text: of one that reads an installed example where no such file is here. */
static const char *kept(const struct nn_opt *row, const char *value)
{
	const char *example = row->file == NN_OPT_READS ? nn_installed_example(value) : NULL;

	return example ? example : value;
}

int nn_opt_set(const struct nn_opt_table *table, const struct nn_opt *row, const char *value,
	       const char *origin, struct nn_error *err)
{
	void *place = (char *)table->values + row->offset;
	size_t n = strlen(value);

	switch (row->type) {
	case NN_OPT_FLAG:
	case NN_OPT_YESNO:
	case NN_OPT_QUIET:
		return set_yes_no(place, value, origin, err);
	case NN_OPT_VERBOSE:
		*(int *)place += strcmp(value, "no") != 0;
		return 0;
	case NN_OPT_CONFIG:
	case NN_OPT_STRING:
		*(const char **)place = kept(row, value);
		return *value || !row->filled
			       ? 0
			       : nn_fail(err, NN_EUSAGE, "%s: expected %s", origin, row->arg);
	case NN_OPT_CUSTOM:
		if (check_custom(row, value, origin, err) < 0)
			return -1;
		if (row->repeated && *(const char **)place)
			return add_value_line(place, value, err);
		*(const char **)place = kept(row, value);
		return 0;
	case NN_OPT_CHOICE:
		return set_choice(row, place, value, origin, err);
	case NN_OPT_COUNT:
		return nn_parse_u64(value, n, place) && within(row, (double)*(uint64_t *)place)
			       ? 0
			       : refuse(row, "a whole number", origin, err);
	case NN_OPT_SIZE:
		return nn_parse_size(value, n, place) && within(row, (double)*(uint64_t *)place)
			       ? 0
			       : refuse(row, "a number of bytes (K, M, G and T are taken)", origin,
					err);
	case NN_OPT_SECONDS:
		return nn_parse_seconds(value, n, place) && within(row, *(double *)place)
			       ? 0
			       : refuse(row, "a time in seconds (s, m and h are taken)", origin,
					err);
	case NN_OPT_REAL:
		return nn_parse_f64(value, n, place) && within(row, *(double *)place)
			       ? 0
			       : refuse(row, "a number", origin, err);
	case NN_OPT_HELP:
	case NN_OPT_VERSION:
		return 0;
	}
	return 0;
}

static void value_text(const struct nn_opt *row, const void *place, char *buffer, size_t size)
{
	char number[NN_NUMBER];
	const char *string;

	switch (row->type) {
	case NN_OPT_FLAG:
	case NN_OPT_YESNO:
	case NN_OPT_QUIET:
		snprintf(buffer, size, "%s", *(const bool *)place ? "yes" : "no");
		return;
	case NN_OPT_STRING:
	case NN_OPT_CUSTOM:
		string = *(const char *const *)place;
		snprintf(buffer, size, "%s", string ? string : "");
		return;
	case NN_OPT_CHOICE:
		snprintf(buffer, size, "%s", row->choices[*(const int *)place]);
		return;
	case NN_OPT_COUNT:
	case NN_OPT_SIZE:
		snprintf(buffer, size, "%llu", (unsigned long long)*(const uint64_t *)place);
		return;
	case NN_OPT_SECONDS:
	case NN_OPT_REAL:
		nn_format_f64(number, *(const double *)place);
		snprintf(buffer, size, "%s", number);
		return;
	case NN_OPT_VERBOSE:
		snprintf(buffer, size, "%d", *(const int *)place);
		return;
	case NN_OPT_HELP:
	case NN_OPT_VERSION:
	case NN_OPT_CONFIG:
		snprintf(buffer, size, "%s", "");
	}
}

bool nn_opt_text(const struct nn_opt_list *list, const char *name, char *buffer, size_t size)
{
	size_t table;
	const struct nn_opt *row = nn_opt_find(list, name, strlen(name), &table, NULL);

	if (!row || !list->tables[table].values)
		return false;
	value_text(row, (const char *)list->tables[table].values + row->offset, buffer, size);
	return true;
}

bool nn_opt_given(const struct nn_opt_list *list, const char *name)
{
	size_t table;
	const struct nn_opt *row = nn_opt_find(list, name, strlen(name), &table, NULL);

	return row && list->tables[table].given &&
	       *list->tables[table].given >> (row - list->tables[table].rows) & 1;
}
