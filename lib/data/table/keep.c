/* Fields of a record that are kept as text. */
#include <string.h>

#include "base/memory.h"
#include "data/table/columns.h"
#include "data/table/keep.h"
#include "data/table/lines.h"

static int find(const struct nn_table *t, const struct nn_field *name, size_t *column,
		struct nn_error *err)
{
	if (nn_table_find(t, name->text, name->length, column, err) < 0)
		return -1;
	return *column == t->width ? nn_table_no_column(t, "--keep", name, err) : 0;
}

int nn_keep_init(struct nn_keep *keep, const struct nn_table *t, const char *list,
		 struct nn_error *err)
{
	struct nn_columns names;
	int status = nn_columns_parse(&names, list, err);

	if (status < 0)
		return -1;
	keep->columns = nn_alloc(names.n, sizeof *keep->columns, err);
	keep->names = nn_alloc(names.n, sizeof *keep->names, err);
	if (!keep->columns || !keep->names)
		status = -1;
	for (size_t i = 0; status == 0 && i < names.n; i++) {
		const struct nn_field *name = &names.name[i];

		status = t ? find(t, name, &keep->columns[i], err) : 0;
		if (status == 0 &&
		    !(keep->names[keep->n++] = nn_strndup(name->text, name->length, err)))
			status = -1;
	}
	nn_columns_free(&names);
	return status;
}

void nn_keep_fini(struct nn_keep *keep)
{
	for (size_t i = 0; i < keep->n; i++)
		nn_free(keep->names[i]);
	nn_free(keep->names);
	nn_free(keep->columns);
	*keep = (struct nn_keep){ 0 };
}

static void add(struct nn_text *text, char kind, const char *field, size_t n)
{
	const char *end = memchr(field, '\0', n); /* of a JSON string */

	nn_text_add_bytes(text, &kind, 1);
	nn_text_add_bytes(text, field, end ? (size_t)(end - field) : n);
	nn_text_add_bytes(text, "", 1);
}

static void add_member(struct nn_text *text, const struct nn_json *value)
{
	size_t n = 0;
	const char *string = nn_json_string(value, &n);

	switch (nn_json_type(value)) {
	case NN_JSON_STRING:
		add(text, 's', string, n);
		break;
	case NN_JSON_BOOL:
		string = nn_json_bool(value) ? "true" : "false";
		add(text, 'j', string, strlen(string));
		break;
	case NN_JSON_NULL:
		add(text, 'j', "null", 4);
		break;
	default: /* as it was written */
		string = nn_json_source(value, &n);
		add(text, 'j', string, n);
	}
}

void nn_keep_members(const struct nn_keep *keep, const struct nn_json *object, struct nn_text *text)
{
	for (size_t i = 0; i < keep->n; i++)
		if (object)
			add_member(text, nn_json_get(object, keep->names[i]));
		else
			add(text, 's', "", 0);
}

void nn_keep_add(const struct nn_keep *keep, struct nn_table *t, struct nn_text *text)
{
	struct nn_json *object = t->lines ? nn_lines_parse(t, &t->record) : NULL;
	const struct nn_field *fields;
	struct nn_error bad;
	size_t n = 0;

	if (!t->lines &&
	    (!t->record.text || nn_csv_split(&t->csv, &t->record, true, &fields, &n, &bad) < 0))
		n = 0;
	for (size_t i = 0; i < keep->n; i++) {
		size_t column = keep->columns[i];

		if (object)
			add_member(text, nn_json_get(object, t->columns[column].name));
		else if (column < n)
			add(text, 's', fields[column].text, fields[column].length);
		else
			add(text, 's', "", 0);
	}
	nn_json_free(object);
}
