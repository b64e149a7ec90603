/* --config=FILE: a line `foo-bar = value` for each option, # comments. */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/option.h"

#define MAX_CONFIG ((size_t)1 << 20)

/* The whole file; values of options point into it, so it is kept for the process. */
static char *read_file(const char *path, size_t *size, struct nn_error *err)
{
	FILE *file = fopen(path, "re");
	struct stat st;
	char *text = NULL;

	if (!file) {
		nn_fail_errno(err, NN_EUSAGE, "--config=%s", path);
		return NULL;
	}
	if (fstat(fileno(file), &st) == 0 && S_ISDIR(st.st_mode)) {
		nn_fail(err, NN_EUSAGE, "--config=%s: is a directory", path);
	} else if ((text = nn_alloc(MAX_CONFIG + 2, 1, err))) {
		*size = fread(text, 1, MAX_CONFIG + 1, file);
		if (ferror(file) || *size > MAX_CONFIG) {
			nn_fail(err, NN_EUSAGE, "--config=%s: %s", path,
				ferror(file) ? "cannot be read" : "is larger than 1 MiB");
			nn_free(text);
			text = NULL;
		}
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

static int set_line(const struct nn_opt_list *list, char *line, const char *place, uint64_t *given, uint64_t *mine,
		    struct nn_error *err)
{
	char *equals = strchr(line, '='), *name, *value, quoted[NN_QUOTED];
	const struct nn_opt *row;
	char origin[512];
	size_t table;

	if (!equals)
		return nn_fail(err, NN_EUSAGE, "%s: expected `option = value`, got %s", place,
			       nn_quote(quoted, line, strlen(line)));
	*equals = '\0';
	name = trim(line);
	value = trim(equals + 1);
	row = nn_opt_find(list, name, strlen(name), &table, err);
	if (!row)
		return nn_fail_at(err, "%s", place);
	if (row->type == NN_OPT_CONFIG || row->type == NN_OPT_HELP || row->type == NN_OPT_VERSION)
		return nn_fail(err, NN_EUSAGE, "%s: --%s cannot stand in a file", place, row->name);
	if (strcmp(row->name, name) != 0)
		return nn_fail(err, NN_EUSAGE, "%s: %s: write the option out: %s", place, name, row->name);
	if (given[table] >> (row - list->tables[table].rows) & 1)
		return 0;
	mine[table] |= UINT64_C(1) << (row - list->tables[table].rows);
	snprintf(origin, sizeof origin, "%s: %s = %s", place, name, nn_quote(quoted, value, strlen(value)));
	if (nn_opt_set(&list->tables[table], row, value, origin, err) == 0)
		return 0;
	return row->type == NN_OPT_CUSTOM ? nn_fail_at(err, "%s", place) : -1;
}

int nn_opt_config(const struct nn_opt_list *list, const char *path, uint64_t given[NN_OPT_TABLES], struct nn_error *err)
{
	uint64_t mine[NN_OPT_TABLES] = {0};
	size_t size = 0, number = 1;
	char *text = read_file(path, &size, err), *end;
	char place[256];

	if (!text)
		return -1;
	if (strlen(text) != size)
		return nn_fail(err, NN_EUSAGE, "--config=%s: holds a NUL byte, expected text", path);
	for (char *line = text; line; line = end, number++) {
		char *content;

		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		content = trim(line);
		if (*content == '#' || *content == '\0')
			continue;
		snprintf(place, sizeof place, "%s:%zu", path, number);
		if (set_line(list, content, place, given, mine, err) < 0)
			return -1;
	}
	for (size_t t = 0; t < NN_OPT_TABLES; t++)
		given[t] |= mine[t];
	return 0;
}
