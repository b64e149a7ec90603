/*
 * Inputs of categories: columns whose values are listed, hashed, or numbers already; arrays of such
 * numbers.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/dataset.h"

#define MOST_ROWS ((size_t)1 << 24) /* of a table: f32 holds their numbers */

int nn_dataset_two_uses(const struct nn_table *t, size_t column, struct nn_error *err)
{
	char name[NN_QUOTED];

	return nn_fail(err, NN_EFORMAT,
		       "%s: %s is wanted as a category and as something else; hash=N on the input "
		       "line of its categories "
		       "allows both",
		       nn_input_name(t->csv.input), nn_table_column_name(t, column, name));
}

static int find_column(const struct nn_table *t, const char *what, const struct nn_field *name,
		       size_t *column, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	if (nn_table_find(t, name->text, name->length, column, err) < 0)
		return -1;
	if (*column == t->width)
		return nn_table_no_column(t, what, name, err);
	if (t->columns[*column].target)
		return nn_fail(err, NN_EFORMAT, "%s: %s is the target, not an input",
			       nn_input_name(t->csv.input),
			       nn_table_column_name(t, *column, quoted));
	return 0;
}

/* ---- what a column gives ---- */

static int list_column(struct nn_dataset *ds, struct nn_table *t, size_t input, size_t c,
		       size_t column, struct nn_error *err)
{
	struct nn_table_column *from = &t->columns[column];

	if (from->cell != NN_CELL_SKIP && !from->listed)
		return nn_dataset_two_uses(t, column, err);
	if (!from->listed) {
		from->listed = true;
		from->cell = NN_CELL_WORD;
		from->slot = t->n_values++;
		from->grow = true;
		from->limit = MOST_ROWS;
		from->words = nn_coding_words(ds->coding, false, err);
		if (!from->words)
			return -1;
	}
	ds->plan.slots[input][c] = from->slot;
	ds->coding->inputs[input].words[c] = from->words;
	return 0;
}

static int index_column(struct nn_dataset *ds, struct nn_table *t, size_t input, size_t c,
			size_t column, size_t rows, struct nn_error *err)
{
	struct nn_table_column *from = &t->columns[column];

	rows = rows ? rows : MOST_ROWS;
	if (from->cell != NN_CELL_SKIP && !from->rows)
		return nn_dataset_two_uses(t, column, err);
	if (from->cell == NN_CELL_SKIP) {
		from->cell = NN_CELL_NUMBER;
		from->slot = t->n_values++;
		from->rows = rows;
	}
	from->rows = rows < from->rows ? rows : from->rows;
	ds->plan.slots[input][c] = from->slot;
	return 0;
}

/* The schema's column becomes a hash of columns of the table. */
static int hash_columns(struct nn_dataset *ds, struct nn_table *t, size_t input, size_t c,
			const size_t *columns, size_t n, size_t buckets, struct nn_error *err)
{
	struct nn_column *schema = &ds->schema->inputs[input].columns[c];

	schema->hashed = nn_alloc(n, sizeof *schema->hashed, err);
	if (!schema->hashed)
		return -1;
	schema->n_hashed = n;
	for (size_t k = 0; k < n; k++)
		if (nn_table_name_column(t, columns[k], &schema->hashed[k].name,
					 &schema->hashed[k].position, err) < 0)
			return -1;
	return nn_table_add_hash(t, columns, n, buckets, &ds->plan.slots[input][c], err);
}

static int learn_column(struct nn_dataset *ds, struct nn_table *t, size_t input, size_t c,
			size_t column, const struct nn_want_input *want, struct nn_error *err)
{
	struct nn_column *schema = &ds->schema->inputs[input].columns[c];
	char name[NN_QUOTED];

	if (t->columns[column].twice)
		return nn_fail(err, NN_EFORMAT, "%s: %s occurs twice", nn_input_name(t->csv.input),
			       nn_table_column_name(t, column, name));
	if (want->hash)
		return hash_columns(ds, t, input, c, &column, 1, want->hash, err);
	if ((want->index ? index_column(ds, t, input, c, column, want->rows, err)
			 : list_column(ds, t, input, c, column, err)) < 0)
		return -1;
	return nn_table_name_column(t, column, &schema->name, &schema->position, err);
}

static int learn_cross(struct nn_dataset *ds, struct nn_table *t, size_t input, size_t c,
		       const char *list, size_t buckets, struct nn_error *err)
{
	struct nn_columns names;
	size_t *columns = NULL;
	int status = nn_columns_parse(&names, list, err);

	if (status == 0 && !(columns = nn_alloc(names.n, sizeof *columns, err)))
		status = -1;
	for (size_t k = 0; status == 0 && k < names.n; k++)
		status = find_column(t, "cross", &names.name[k], &columns[k], err);
	if (status == 0)
		status = hash_columns(ds, t, input, c, columns, names.n, buckets, err);
	nn_free(columns);
	nn_columns_free(&names);
	return status;
}

/* ---- an input ---- */

static int take_columns(struct nn_dataset *ds, size_t input, size_t n, struct nn_error *err)
{
	struct nn_input_schema *schema = &ds->schema->inputs[input];
	struct nn_input_code *code = &ds->coding->inputs[input];

	schema->columns = nn_alloc(n, sizeof *schema->columns, err);
	code->words = nn_alloc(n, sizeof *code->words, err);
	code->place = nn_alloc(n, sizeof *code->place, err);
	ds->plan.slots[input] = nn_alloc(n, sizeof *ds->plan.slots[input], err);
	if (!schema->columns || !code->words || !code->place || !ds->plan.slots[input])
		return -1;
	schema->n_columns = n;
	schema->rows = MOST_ROWS; /* until they are counted */
	return 0;
}

int nn_dataset_learn_categories(struct nn_dataset *ds, struct nn_table *t, size_t input,
				const struct nn_want_input *want, struct nn_error *err)
{
	size_t n = want->n_columns, column = 0;

	for (size_t i = 0; !want->columns && !want->n_crosses && i < t->width; i++)
		n += !t->columns[i].target;
	if (n + want->n_crosses == 0)
		return nn_fail(err, NN_EFORMAT, "%s: no columns are left as input",
			       nn_input_name(t->csv.input));
	if (take_columns(ds, input, n + want->n_crosses, err) < 0)
		return -1;
	for (size_t c = 0; c < n; c++, column++) {
		if (want->columns) {
			struct nn_field name = { want->columns[c], strlen(want->columns[c]) };

			if (find_column(t, "columns", &name, &column, err) < 0)
				return -1;
		}
		while (!want->columns && t->columns[column].target)
			column++;
		if (learn_column(ds, t, input, c, column, want, err) < 0)
			return -1;
	}
	for (size_t k = 0; k < want->n_crosses; k++)
		if (learn_cross(ds, t, input, n + k, want->crosses[k], want->hash, err) < 0)
			return -1;
	return 0;
}

/* ---- how many there are ---- */

bool nn_dataset_find_bad_category(const struct nn_row_block *s, size_t rows, size_t values,
				  size_t most, size_t *count, size_t *row, size_t *value)
{
	double limit = (double)(most ? most : MOST_ROWS);

	for (*row = 0; *row < rows; ++*row)
		for (*value = 0; *value < values; ++*value) {
			double v = nn_row_value(s, *row, *value);

			if (isnan(v))
				continue; /* --missing */
			if (!(v >= 0 && v < limit && v == floor(v)))
				return true;
			*count = (size_t)v >= *count ? (size_t)v + 1 : *count;
		}
	return false;
}

int nn_dataset_bad_category(double found, size_t most, const char *place, struct nn_error *err)
{
	char number[NN_NUMBER];

	nn_format_real(number, found);
	return nn_fail(err, NN_EFORMAT,
		       "%s: found %s, expected the number of a category, from 0 to %zu", place,
		       number, (most ? most : MOST_ROWS) - 1);
}

int nn_dataset_check_categories(const struct nn_row_block *s, size_t rows, size_t values,
				size_t most, size_t before, const char *place, size_t *count,
				struct nn_error *err)
{
	char at[NN_PLACE];
	size_t r, i;

	if (!nn_dataset_find_bad_category(s, rows, values, most, count, &r, &i))
		return 0;
	snprintf(at, sizeof at, "%s: row %zu, column %zu", place, before + r + 1, i + 1);
	return nn_dataset_bad_category(nn_row_value(s, r, i), most, at, err);
}

int nn_dataset_count_categories(struct nn_dataset *ds, const struct nn_table *t, size_t input,
				const struct nn_want_input *want, struct nn_error *err)
{
	struct nn_input_schema *schema = &ds->schema->inputs[input];
	struct nn_row_block source = { ds->table.data, ds->dtype, t->n_values,
				       ds->plan.slots[input], false };

	schema->rows = want->hash;
	for (size_t c = 0; !want->hash && c < schema->n_columns; c++)
		schema->rows += schema->columns[c].n_values;
	if (want->index && (schema->rows = want->rows) == 0 &&
	    nn_dataset_check_categories(&source, ds->rows, schema->n_columns, 0, 0,
					nn_input_name(t->csv.input), &schema->rows, err) < 0)
		return -1;
	if (schema->rows > MOST_ROWS)
		return nn_fail(err, NN_EFORMAT,
			       "%s: columns have %zu different values, an embedding takes %zu; "
			       "hash=N on the input line "
			       "makes as few of them as you like",
			       nn_input_name(t->csv.input), schema->rows, MOST_ROWS);
	schema->rows += schema->rows == 0;
	return 0;
}
