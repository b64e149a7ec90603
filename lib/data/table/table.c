/* A table's columns: finding them by name, and naming them in messages. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/data.h"
#include "data/table/missing-word.h"
#include "data/table/table.h"

bool nn_meant_as_number(const char *text, size_t n)
{
	static const char *const others[] = { "nan", "inf", "infinity" };
	double value = 0;

	nn_trim(&text, &n);
	if (nn_parse_f64(text, n, &value) || value != 0) /* an overflow is a number too */
		return true;
	if (n && (text[0] == '+' || text[0] == '-'))
		text++, n--;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strlen(others[i]) == n && strncasecmp(others[i], text, n) == 0)
			return true;
	return false;
}

void nn_table_close(struct nn_table *t)
{
	for (size_t i = 0; t->columns && i < t->width; i++)
		nn_free(t->columns[i].name);
	nn_free(t->columns);
	for (size_t i = 0; i < t->n_hashes; i++)
		nn_free(t->hashes[i].columns);
	nn_free(t->hashes);
	nn_free(t->column_of);
	nn_words_free(t->names);
	nn_csv_fini(&t->csv);
	*t = (struct nn_table){ 0 };
}

int nn_table_find(const struct nn_table *t, const char *name, size_t n, size_t *column,
		  struct nn_error *err)
{
	char quoted[NN_QUOTED];
	uint64_t number;
	int32_t id;

	*column = t->width;
	if (!t->header) {
		if (nn_parse_u64(name, n, &number) && number >= 1 && number <= t->width)
			*column = number - 1;
		return 0;
	}
	id = nn_words_find(t->names, name, n);
	if (id < 0)
		return 0;
	*column = t->column_of[id];
	if (t->columns[*column].twice)
		return nn_fail(err, NN_EFORMAT, "%s: column \"%s\" occurs twice",
			       nn_input_name(t->csv.input), nn_quote(quoted, name, n));
	return 0;
}

const char *nn_table_column_name(const struct nn_table *t, size_t column, char buffer[NN_QUOTED])
{
	const char *name = t->columns[column].name;
	char quoted[NN_QUOTED];

	if (name)
		snprintf(buffer, NN_QUOTED, "column \"%.180s\"",
			 nn_quote(quoted, name, strlen(name)));
	else
		snprintf(buffer, NN_QUOTED, "column %zu", column + 1);
	return buffer;
}

void nn_table_names(const struct nn_table *t, char *text, size_t size)
{
	char quoted[NN_QUOTED], end[80] = "";
	size_t at = 0, i;

	if (!t->header) {
		snprintf(text, size, "1 to %zu", t->width);
		return;
	}
	/* the last column, most often the target, is named whatever the number of those before it */
	if (t->width) {
		const char *last = t->columns[t->width - 1].name;

		snprintf(end, sizeof end, ", ..., %.60s", nn_quote(quoted, last, strlen(last)));
	}
	text[0] = '\0';
	for (i = 0; i < t->width; i++) {
		const char *name = nn_quote(quoted, t->columns[i].name, strlen(t->columns[i].name));

		if (at + strlen(name) + (i + 1 < t->width ? strlen(end) : 0) + 3 > size)
			break;
		at += (size_t)sprintf(text + at, "%s%s", i ? ", " : "", name);
	}
	if (i < t->width)
		snprintf(text + at, size - at, "%s", end + (i ? 0 : 2));
}

static const char *next_name(const void *arg, size_t i)
{
	const struct nn_table *t = arg;

	return i < t->width ? t->columns[i].name : NULL;
}

const char *nn_table_instead(const struct nn_table *t, const char *name, size_t n,
			     char text[NN_TABLE_INSTEAD])
{
	char quoted[NN_QUOTED], copy[64], names[200];
	const char *near;

	snprintf(copy, sizeof copy, "%.*s", (int)(n < 60 ? n : 60), name);
	near = t->header ? nn_did_you_mean(copy, next_name, t) : NULL;
	if (near) {
		snprintf(text, NN_TABLE_INSTEAD, "; did you mean %.150s?",
			 nn_quote(quoted, near, strlen(near)));
	} else {
		nn_table_names(t, names, sizeof names);
		snprintf(text, NN_TABLE_INSTEAD, "; its columns: %s", names);
	}
	return text;
}

/* Is the first line, taken for names, a row? It has a number, or a number was asked for. */
static bool maybe_row(const struct nn_table *t, const struct nn_field *name)
{
	uint64_t number;

	if (!t->guessed || !t->header)
		return false;
	for (size_t i = 0; i < t->width; i++)
		if (nn_meant_as_number(t->columns[i].name, strlen(t->columns[i].name)))
			return true;
	return nn_parse_u64(name->text, name->length, &number) && number >= 1 && number <= t->width;
}

int nn_table_no_column(const struct nn_table *t, const char *what, const struct nn_field *name,
		       struct nn_error *err)
{
	char quoted[NN_QUOTED], instead[NN_TABLE_INSTEAD];
	const char *hint = maybe_row(t, name) ? "; --header=no takes the first line as a row" : "";

	nn_quote(quoted, name->text, name->length);
	nn_table_instead(t, name->text, name->length, instead);
	/* an option is a place, a key of the model's text is not */
	return strncmp(what, "--", 2) == 0
		       ? nn_fail(err, NN_EFORMAT, "%s=%s: %s has no such column%s%s", what, quoted,
				 nn_input_name(t->csv.input), instead, hint)
		       : nn_fail(err, NN_EFORMAT, "%s: no such column as in %s=%s%s%s",
				 nn_input_name(t->csv.input), what, quoted, instead, hint);
}

int nn_table_name_column(const struct nn_table *t, size_t column, char **name, size_t *position,
			 struct nn_error *err)
{
	if (!t->header) {
		*position = column + 1;
		return 0;
	}
	*name = nn_strdup(t->columns[column].name, err);
	return *name ? 0 : -1;
}
