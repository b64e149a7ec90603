/* --config=FILE: a line `foo-bar = value` for each option, # comments. */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/option.h"

#define MAX_CONFIG ((size_t)1 << 20)

/* The whole file as a string. */
static char *read_file(const char *path, struct nn_error *err)
{
	FILE *file = strcmp(path, "-") == 0 ? fdopen(dup(STDIN_FILENO), "re") : fopen(path, "re");
	struct stat st;
	char *text = NULL;
	size_t size = 0;

	if (!file) {
		nn_fail_errno(err, NN_EUSAGE, "--config=%s", path);
		return NULL;
	}
	if (fstat(fileno(file), &st) == 0 && S_ISDIR(st.st_mode))
		nn_fail(err, NN_EUSAGE, "--config=%s: is a directory, expected a file", path);
	else if ((text = nn_alloc(MAX_CONFIG + 2, 1, err)))
		size = fread(text, 1, MAX_CONFIG + 1, file);
	if (text && (ferror(file) || size > MAX_CONFIG || strlen(text) != size)) {
		nn_fail(err, NN_EUSAGE, "--config=%s: %s", path,
			ferror(file)        ? "cannot be read"
			: size > MAX_CONFIG ? "is larger than 1 MiB"
					    : "holds a NUL byte, expected text");
		nn_free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (end > s && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return s + strspn(s, " \t");
}

/* A # at the beginning or behind a blank ends the line, unless it stands in double quotes. */
static void cut_comment(char *line)
{
	bool inside = false;

	for (char *c = line; *c; c++) {
		inside ^= *c == '"';
		if (*c == '#' && !inside && (c == line || c[-1] == ' ' || c[-1] == '\t')) {
			*c = '\0';
			return;
		}
	}
}

/* The row a line speaks of, written out. */
static const struct nn_opt *line_row(const struct nn_opt_list *list, const char *name,
				     const char *place, size_t *table, struct nn_error *err)
{
	const struct nn_opt *row = nn_opt_find(list, name, strlen(name), table, err);

	if (!row)
		nn_fail_at(err, "%s", place);
	else if (row->type == NN_OPT_CONFIG || row->type == NN_OPT_HELP ||
		 row->type == NN_OPT_VERSION)
		nn_fail(err, NN_EUSAGE, "%s: --%s cannot stand in a file", place, row->name);
	else if (strcmp(row->name, name) != 0)
		nn_fail(err, NN_EUSAGE, "%s: %s: write the option out: %s", place, name, row->name);
	else
		return row;
	return NULL;
}

/* Strings outlive the file's text. */
static int set_value(const struct nn_opt_table *table, const struct nn_opt *row, const char *value,
		     const char *origin, struct nn_error *err)
{
	if (row->type == NN_OPT_STRING || row->type == NN_OPT_CUSTOM)
		value = nn_keep(value, err);
	return value ? nn_opt_set(table, row, value, origin, err) : -1;
}

static int set_line(const struct nn_opt_list *list, char *line, const char *place,
		    const uint64_t *given, uint64_t *mine, struct nn_error *err)
{
	char *equals = strchr(line, '='), *value, quoted[NN_QUOTED], origin[512];
	const struct nn_opt *row;
	uint64_t bit;
	size_t t;

	if (!equals)
		return nn_fail(err, NN_EUSAGE, "%s: expected `option = value`, got %s", place,
			       nn_quote(quoted, line, strlen(line)));
	*equals = '\0';
	value = trim(equals + 1);
	row = line_row(list, trim(line), place, &t, err);
	if (!row)
		return -1;
	bit = UINT64_C(1) << (row - list->tables[t].rows);
	if ((given[t] & bit) || !list->tables[t].values)
		return 0;
	mine[t] |= bit;
	if (row->optional_arg && *value == '\0')
		return 0; /* `score =` is --score */
	snprintf(origin, sizeof origin, "%s: %s = %s", place, row->name,
		 nn_quote(quoted, value, strlen(value)));
	return set_value(&list->tables[t], row, value, origin, err);
}

int nn_opt_config(const struct nn_opt_list *list, const char *path, uint64_t given[NN_OPT_TABLES],
		  struct nn_error *err)
{
	uint64_t mine[NN_OPT_TABLES] = { 0 };
	size_t number = 1;
	char *text = read_file(path, err), *line = text, *end, place[256], quoted[NN_QUOTED];
	int status = text ? 0 : -1;

	if (line && strncmp(line, "\xef\xbb\xbf", 3) == 0)
		line += 3;
	for (; line && status == 0; line = end, number++) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		cut_comment(line);
		line = trim(line);
		if (*line == '\0')
			continue;
		snprintf(place, sizeof place, "%s:%zu",
			 strlen(path) < 200 ? path : nn_quote(quoted, path, strlen(path)), number);
		status = set_line(list, line, place, given, mine, err);
	}
	nn_free(text);
	for (size_t t = 0; t < NN_OPT_TABLES; t++)
		given[t] |= mine[t];
	return status;
}
