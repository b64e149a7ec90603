/*
 * Targets: classes or numbers, which classes in which order, and the raw values turned into either.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/real.h"
#include "base/text.h"
#include "base/whole.h"
#include "data/array/file-rows.h"
#include "data/dataset.h"

#define PIECE ((size_t)1 << 18)  /* bytes of rows that are converted at once, at least one row */
#define EXACT 9007199254740992.0 /* 2^53: integers up to here are exact in f64 and in JSON */

enum meaning { CLASSES, NUMBERS, PROBABILITIES };

static bool whole_type(enum nn_dtype dtype)
{
	return !nn_dtype_float(dtype);
}

static const char *column_text(const struct nn_raw_target *raw, size_t i, char buffer[NN_QUOTED])
{
	const char *name = raw->columns[i]->name;

	return name ? nn_quote(buffer, name, strlen(name)) : "the target";
}

/* ---- classes or numbers? ---- */

static int meaning_of_table(const struct nn_want_target *want, const struct nn_raw_target *raw,
			    enum meaning *meaning, struct nn_error *err)
{
	char name[NN_QUOTED];
	uint64_t point = 0;

	*meaning = NUMBERS;
	for (size_t i = 0; i < raw->n_columns; i++) {
		if (raw->columns[i]->point_line)
			point = raw->columns[i]->point_line;
		if (raw->columns[i]->cell != NN_CELL_WORD)
			continue;
		if (raw->n_columns > 1)
			return nn_fail(err, NN_EFORMAT,
				       "%s: %s is text among %zu target columns; several class "
				       "targets need "
				       "named outputs",
				       raw->place, column_text(raw, i, name), raw->n_columns);
		if (want->numbers)
			return nn_fail(err, NN_EFORMAT,
				       "%s: %s is text, but the loss wants numbers", raw->place,
				       column_text(raw, i, name));
		*meaning = CLASSES;
		return 0;
	}
	if (want->classes && raw->n_columns > 1)
		*meaning = PROBABILITIES;
	else if (want->classes && point)
		return nn_fail(err, NN_EFORMAT,
			       "%s:%" PRIu64
			       ": %s is a number with a point or exponent, but the loss wants "
			       "classes; --loss=mse learns numbers",
			       raw->place, point, column_text(raw, 0, name));
	else if (want->classes)
		*meaning = CLASSES;
	else if (!want->numbers && !want->any && raw->n_columns == 1 && !point && raw->rows > 0)
		return nn_fail(err, NN_EUSAGE,
			       "%s: the integers of %s could be classes or numbers; say "
			       "--loss=cross-entropy for "
			       "classes or --loss=mse for a number",
			       raw->place, column_text(raw, 0, name));
	return 0;
}

static int meaning_of_array(const struct nn_want_target *want, const struct nn_raw_target *raw,
			    enum meaning *meaning, struct nn_error *err)
{
	size_t size = nn_row_size(&raw->array.shape);

	*meaning = NUMBERS;
	if (whole_type(raw->array.dtype)) {
		*meaning = want->numbers ? NUMBERS : CLASSES;
	} else if (want->classes) {
		if (raw->array.shape.rank != 2 || size < 2)
			return nn_fail(err, NN_EFORMAT,
				       "%s: found %s values, but the loss wants classes: integers, "
				       "or a row of "
				       "probabilities",
				       raw->place, nn_dtype_name(raw->array.dtype));
		*meaning = PROBABILITIES;
	}
	return 0;
}

/* What a schema that is known makes of it. */
static int meaning_of_schema(const struct nn_target_schema *schema, const struct nn_raw_target *raw,
			     enum meaning *meaning, struct nn_error *err)
{
	size_t size;

	if (raw->from_table) {
		*meaning = !schema->labels          ? NUMBERS
			   : schema->n_columns == 1 ? CLASSES
						    : PROBABILITIES;
		return 0;
	}
	size = nn_row_size(&raw->array.shape);
	*meaning = schema->labels ? CLASSES : NUMBERS;
	if (schema->labels && !whole_type(raw->array.dtype)) {
		*meaning = PROBABILITIES;
		if (size != schema->n_labels)
			return nn_fail(err, NN_EFORMAT,
				       "%s: found rows of %zu probabilit%s, expected %zu",
				       raw->place, size, size == 1 ? "y" : "ies", schema->n_labels);
	} else if (schema->labels && !schema->integer_labels && schema->n_labels) {
		return nn_fail(err, NN_EFORMAT,
			       "%s: found integers, expected labels as in the training data (text)",
			       raw->place);
	} else if (!schema->labels && size != schema->n_columns) {
		return nn_fail(err, NN_EFORMAT, "%s: found %zu value%s per row, expected %zu",
			       raw->place, size, nn_s(size), schema->n_columns);
	}
	return 0;
}

/* ---- values ---- */

/* The number of an integer label. A model's labels do not grow: -1 for others, if allowed. */
static int find_or_add(struct nn_dataset *ds, struct nn_target_code *code,
		       const struct nn_raw_target *raw, size_t row, int64_t label, int32_t *id,
		       struct nn_error *err)
{
	char digits[24];

	if (label > (int64_t)EXACT || label < -(int64_t)EXACT)
		return nn_fail(err, NN_EFORMAT, "%s: row %zu: a label beyond 2^53", raw->place,
			       raw->first + row + 1);
	if (!code->fixed && !code->closed) {
		*id = nn_words_add_integer(code->labels, label, err);
		return *id < 0 ? -1 : 0;
	}
	*id = nn_words_find_integer(code->labels, label);
	if (*id >= 0)
		return 0;
	nn_unseen_add(&ds->unseen, digits, (size_t)sprintf(digits, "%" PRId64, label));
	if (!ds->lenient)
		return nn_fail(err, NN_EFORMAT,
			       "%s: row %zu: label %" PRId64 " is not among those of %s%s",
			       raw->place, raw->first + row + 1, label, nn_code_whose(code),
			       nn_code_hint(code));
	return 0;
}

/* A label of a table: the number of its word already, or an integer that turned out to be one. */
static int table_class(struct nn_dataset *ds, struct nn_target_code *code,
		       const struct nn_raw_target *raw, size_t row, bool words, int32_t *id,
		       struct nn_error *err)
{
	double v = raw->values[row * raw->stride];

	if (isnan(v)) { /* missing: the row will be left out */
		*id = -1;
		return 0;
	}
	if (!words)
		return find_or_add(ds, code, raw, row, fabs(v) > EXACT ? INT64_MAX : (int64_t)v, id,
				   err);
	*id = (int32_t)v;
	if (*id < 0 && !ds->lenient)
		return nn_fail(err, NN_EFORMAT,
			       "%s: row %zu: a label that is not among those of %s (unknown: %s)%s",
			       raw->place, row + 1, nn_code_whose(code), ds->unseen.first,
			       nn_code_hint(code));
	return 0;
}

/* A label as it is numbered; u64 above INT64_MAX becomes that. */
static int64_t array_label(const struct nn_array *array, size_t i)
{
	__int128 label = nn_whole_at(array->dtype, array->data, i);

	return label > INT64_MAX ? INT64_MAX : (int64_t)label;
}

static int take_classes(struct nn_dataset *ds, struct nn_data_target *t,
			struct nn_target_code *code, const struct nn_raw_target *raw, bool words,
			struct nn_error *err)
{
	int32_t *ids;

	if (nn_block_reserve(&t->values, raw->rows * t->size * sizeof *ids + 1, err) < 0)
		return nn_fail_at(err, "%s", raw->place);
	ids = (int32_t *)t->values.data;
	for (size_t r = 0; r < raw->rows; r++)
		for (size_t i = 0; i < t->size; i++) {
			size_t at = r * t->size + i;

			if (raw->from_table
				    ? table_class(ds, code, raw, r, words, &ids[at], err) < 0
				    : find_or_add(ds, code, raw, r, array_label(&raw->array, at),
						  &ids[at], err) < 0)
				return -1;
		}
	return 0;
}

static int take_numbers(const struct nn_dataset *ds, struct nn_data_target *t,
			const struct nn_raw_target *raw, struct nn_error *err)
{
	struct nn_samples how = { raw->array.dtype, ds->dtype,
				  raw->place,       raw->first * t->size,
				  t->size,          ds->rules.missing == NN_MISSING_DROP,
				  raw->ends };
	size_t n = raw->rows * t->size;
	bool picture =
		raw->array.picture || nn_is_picture(raw->array.dtype, &raw->array.shape, false);

	if (nn_block_reserve(&t->values, n * nn_dtype_size(ds->dtype) + 1, err) < 0)
		return nn_fail_at(err, "%s", raw->place);
	if (!raw->from_table) {
		if (nn_samples_convert(&how, raw->array.data, n, t->values.data, err) < 0)
			return -1;
		/* pictures count 0 to 1, as those of inputs do */
		for (size_t i = 0; picture && i < n; i++)
			nn_real_put(ds->dtype, t->values.data, i,
				    nn_real_at(ds->dtype, t->values.data, i) / 255);
		return 0;
	}
	for (size_t r = 0; r < raw->rows; r++)
		for (size_t i = 0; i < t->size; i++)
			nn_real_put(ds->dtype, t->values.data, r * t->size + i,
				    raw->values[r * raw->stride + i]);
	return 0;
}

static int check_probabilities(const struct nn_dataset *ds, const struct nn_data_target *t,
			       const struct nn_raw_target *raw, struct nn_error *err)
{
	char found[NN_NUMBER];

	for (size_t i = 0; i < raw->rows * t->size; i++) {
		double p = nn_real_at(ds->dtype, t->values.data, i);

		if ((p >= 0 && p <= 1) || (isnan(p) && ds->rules.missing == NN_MISSING_DROP))
			continue;
		nn_format_real(found, p);
		return nn_fail(err, NN_EFORMAT,
			       "%s: row %zu, column %zu: found %s, expected a probability",
			       raw->place, raw->first + i / t->size + 1, i % t->size + 1, found);
	}
	return 0;
}

static int take_values(struct nn_dataset *ds, size_t target, enum meaning meaning,
		       const struct nn_raw_target *raw, struct nn_error *err)
{
	struct nn_data_target *t = &ds->targets[target];
	/*
	 * a table has looked up its labels already, unless integers turned out to be classes only
	 * now
	 */
	bool words = raw->from_table && raw->columns[0]->cell != NN_CELL_NUMBER;

	if (meaning == CLASSES)
		return take_classes(ds, t, &ds->coding->targets[target], raw, words, err);
	if (take_numbers(ds, t, raw, err) < 0)
		return -1;
	return meaning == PROBABILITIES ? check_probabilities(ds, t, raw, err) : 0;
}

/* Values that stay in a file go there piece by piece, as they are kept. */
static int keep_values(struct nn_dataset *ds, size_t target, enum meaning meaning,
		       const struct nn_raw_target *raw, struct nn_error *err)
{
	struct nn_data_target *t = &ds->targets[target];
	size_t row = t->size * nn_dtype_size(raw->array.dtype), most = 1 + PIECE / row;
	struct nn_raw_target piece = *raw;
	void *values = nn_alloc(most, row, err);
	int fd = values ? nn_unnamed_file(raw->place, "targets", err) : -1, status = -1;

	piece.array.data = values;
	if (fd < 0 || !(t->file = nn_file_rows_new(fd, raw->place, err)))
		goto out;
	t->file->values = t->size;
	t->file->from = t->file->to = t->classes ? NN_I32 : ds->dtype;
	for (; piece.first < raw->rows; piece.first += piece.rows) {
		piece.rows = raw->rows - piece.first < most ? raw->rows - piece.first : most;
		if (raw->read(raw->arg, piece.first * t->size, piece.rows * t->size, values, err) <
			    0 ||
		    take_values(ds, target, meaning, &piece, err) < 0)
			goto out;
		if (!nn_write_all(fd, t->values.data, piece.rows * nn_file_rows_size(t->file))) {
			nn_fail_errno(err, NN_EFAIL, "%s: cannot keep targets in TMPDIR",
				      raw->place);
			goto out;
		}
	}
	status = 0;
out:
	nn_block_free(&t->values);
	nn_free(values);
	return status;
}

/* ---- the schema that is learned ---- */

/* The labels of probabilities: the names of the columns, or class numbers. */
static int learn_probability_labels(struct nn_target_schema *schema, size_t n, struct nn_error *err)
{
	bool named = schema->columns && schema->columns[0];

	schema->labels = nn_alloc(n, sizeof *schema->labels, err);
	if (!schema->labels)
		return -1;
	schema->n_labels = n;
	schema->integer_labels = !named;
	for (size_t i = 0; i < n; i++) {
		char digits[24];

		snprintf(digits, sizeof digits, "%zu", i);
		schema->labels[i] = nn_strdup(named ? schema->columns[i] : digits, err);
		if (!schema->labels[i])
			return -1;
	}
	return 0;
}

/* Labels that are listed are those of classes, and of their kind. */
static int check_closed(const struct nn_target_code *code, bool classes,
			const struct nn_raw_target *raw, struct nn_error *err)
{
	if (!classes)
		return nn_fail(err, NN_EFORMAT,
			       "%s: has rows of probabilities, --classes lists labels", raw->place);
	if (!raw->from_table && !nn_words_integers(code->labels))
		return nn_fail(err, NN_EFORMAT, "%s: found integers, --classes lists text",
			       raw->place);
	return 0;
}

static int learn_schema(struct nn_dataset *ds, size_t target, enum meaning meaning,
			const struct nn_raw_target *raw, struct nn_error *err)
{
	struct nn_target_schema *schema = &ds->schema->targets[target];
	struct nn_target_code *code = &ds->coding->targets[target];
	size_t size = raw->from_table ? raw->n_columns : nn_row_size(&raw->array.shape);

	if (!raw->from_table) {
		schema->n_columns = meaning == CLASSES ? 1 : size;
		schema->columns = nn_alloc(schema->n_columns, sizeof *schema->columns, err);
		if (!schema->columns)
			return -1;
	}
	if (code->closed && check_closed(code, meaning == CLASSES, raw, err) < 0)
		return -1;
	if (meaning == PROBABILITIES)
		return learn_probability_labels(schema, size, err);
	if (meaning != CLASSES)
		return 0;
	schema->labels = nn_alloc(0, sizeof *schema->labels, err);
	if (code->closed) {
		schema->integer_labels = nn_words_integers(code->labels);
		return schema->labels ? 0 : -1;
	}
	schema->integer_labels = !raw->from_table || raw->columns[0]->cell != NN_CELL_WORD;
	code->labels = !raw->from_table || raw->columns[0]->cell == NN_CELL_NUMBER
			       ? nn_coding_words(ds->coding, true, err)
			       : raw->columns[0]->words;
	return schema->labels && code->labels ? 0 : -1;
}

int nn_dataset_set_target(struct nn_dataset *ds, size_t target, const struct nn_want_target *want,
			  const struct nn_raw_target *raw, struct nn_error *err)
{
	struct nn_data_target *t = &ds->targets[target];
	const struct nn_target_schema *schema = &ds->schema->targets[target];
	enum meaning meaning = NUMBERS;

	if (want ? (raw->from_table ? meaning_of_table : meaning_of_array)(want, raw, &meaning,
									   err) < 0
		 : meaning_of_schema(schema, raw, &meaning, err) < 0)
		return -1;
	if (want && learn_schema(ds, target, meaning, raw, err) < 0)
		return -1;
	t->classes = meaning == CLASSES;
	t->from_table = raw->from_table;
	t->size = raw->from_table ? raw->n_columns : nn_row_size(&raw->array.shape);
	t->plain = want && want->plain;
	t->wanted = want ? want->size : 0;
	if (want && want->ignored && !(t->ignored = nn_strdup(want->ignored, err)))
		return -1;
	return (raw->read ? keep_values : take_values)(ds, target, meaning, raw, err);
}
