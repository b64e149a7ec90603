/* Opening a table: is there a header, which columns are there. */
#include "base/memory.h"
#include "data/data.h"
#include "data/table/lines.h"
#include "data/table/missing-word.h"

static int take_names(struct nn_table *t, const struct nn_field *fields, struct nn_error *err)
{
	t->column_of = nn_alloc(t->width, sizeof *t->column_of, err);
	if (!t->column_of || nn_words_new(&t->names, false, err) < 0)
		return -1;
	for (size_t i = 0; i < t->width; i++) {
		size_t before = nn_words_count(t->names);
		int32_t id = nn_words_add(t->names, fields[i].text, fields[i].length, err);

		t->columns[i].name =
			id < 0 ? NULL : nn_strndup(fields[i].text, fields[i].length, err);
		if (!t->columns[i].name)
			return -1;
		if (nn_words_count(t->names) > before)
			t->column_of[id] = i;
		else
			t->columns[t->column_of[id]].twice = true;
	}
	return 0;
}

int nn_table_open(struct nn_table *t, struct nn_input *input, const struct nn_table_form *form,
		  enum nn_dtype dtype, struct nn_error *err)
{
	const struct nn_field *fields;
	int status;

	*t = (struct nn_table){ .dtype = dtype, .guessed = form->header == NN_HEADER_AUTO };
	nn_csv_init(&t->csv, input);
	t->csv.separator = form->separator;
	if (form->lines)
		return nn_lines_open(t, form->lines, err);
	status = nn_csv_next(&t->csv, &t->first, err);
	t->empty = status == 0;
	if (status != 1)
		return t->empty ? 0 : -1;
	if (nn_csv_split(&t->csv, &t->first, false, &fields, &t->width, err) < 0)
		return -1;
	t->header = form->header == NN_HEADER_YES;
	for (size_t i = 0; t->guessed && i < t->width; i++)
		t->header |= !nn_says_missing(fields[i].text, fields[i].length) &&
			     !nn_meant_as_number(fields[i].text, fields[i].length);
	t->columns = nn_alloc(t->width, sizeof *t->columns, err);
	if (!t->columns)
		return -1;
	t->first_waits = !t->header;
	return t->header ? take_names(t, fields, err) : 0;
}

int nn_table_ready(struct nn_table *t, struct nn_error *err)
{
	if (t->first_waits)
		return 1;
	return (t->lines ? nn_lines_ready : nn_csv_ready)(&t->csv, err);
}
