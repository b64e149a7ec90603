/*
 * The columns of all inputs as one list of fields, each once, in the order in which the model names
 * them; and what becomes of a field, which is what the reader of tables makes of it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "data/coding.h"
#include "data/table/missing-word.h"
#include "data/table/table.h"
#include "predict/encode.h"

#define NAMELESS '\xff' /* before the number of a column without a name: in no UTF-8 text */

struct nn_encoder {
	const struct nn_schema *schema;
	struct nn_coding *coding;
	struct nn_words *fields;
	int32_t *uses; /* the field of each column of each input, of a hashed one those of its parts
			*/
	size_t n_uses;
	bool *text; /* [n_uses] by field */
};

/* ---- which fields there are ---- */

/* Columns of an input, or values without any; of rows of different length those of all steps. */
static size_t n_columns(const struct nn_input_schema *input)
{
	return input->columns && !input->lengths ? input->n_columns : nn_shape_count(&input->shape);
}

static const struct nn_column *column_of(const struct nn_input_schema *input, size_t c)
{
	return input->columns ? &input->columns[c % input->n_columns] : NULL;
}

static size_t count_uses(const struct nn_schema *schema)
{
	size_t n = 0;

	for (size_t i = 0; i < schema->n_inputs; i++) {
		const struct nn_input_schema *input = &schema->inputs[i];

		for (size_t c = 0; c < n_columns(input); c++) {
			const struct nn_column *column = column_of(input, c);

			n += column && column->hashed ? column->n_hashed : 1;
		}
	}
	return n;
}

/* Columns of the same name or position are one field; without either each is one of its own. */
static int add_use(struct nn_encoder *e, const char *name, size_t position, bool text,
		   struct nn_error *err)
{
	char number[32];
	int32_t field;

	if (!name) {
		snprintf(number, sizeof number, position ? "%c%zu" : "%c#%zu", NAMELESS,
			 position ? position : e->n_uses + 1);
		name = number;
	}
	field = nn_words_add(e->fields, name, strlen(name), err);
	if (field < 0)
		return -1;
	e->uses[e->n_uses++] = field;
	e->text[field] |= text;
	return 0;
}

static int add_column(struct nn_encoder *e, const struct nn_column *column, struct nn_error *err)
{
	if (!column->hashed)
		return add_use(e, column->name, column->position, column->category, err);
	for (size_t k = 0; k < column->n_hashed; k++)
		if (add_use(e, column->hashed[k].name, column->hashed[k].position, true, err) < 0)
			return -1;
	return 0;
}

static int add_input(struct nn_encoder *e, const struct nn_input_schema *input,
		     struct nn_error *err)
{
	for (size_t c = 0; c < n_columns(input); c++)
		if ((input->columns ? add_column(e, column_of(input, c), err)
				    : add_use(e, NULL, 0, false, err)) < 0)
			return -1;
	return 0;
}

int nn_encoder_new(struct nn_encoder **encoder, const struct nn_schema *schema,
		   struct nn_error *err)
{
	struct nn_encoder *e = nn_alloc(1, sizeof *e, err);

	if (!e)
		return -1;
	e->schema = schema;
	e->uses = nn_alloc(count_uses(schema), sizeof *e->uses, err);
	e->text = nn_alloc(count_uses(schema), sizeof *e->text, err);
	if (!e->uses || !e->text || nn_words_new(&e->fields, false, err) < 0 ||
	    nn_coding_new(&e->coding, schema, NN_F32, err) < 0)
		goto fail;
	for (size_t i = 0; i < schema->n_inputs; i++)
		if (nn_coding_input(e->coding, i, &schema->inputs[i], true, err) < 0 ||
		    add_input(e, &schema->inputs[i], err) < 0)
			goto fail;
	*encoder = e;
	return 0;
fail:
	nn_encoder_free(e);
	return -1;
}

void nn_encoder_free(struct nn_encoder *e)
{
	if (!e)
		return;
	nn_coding_free(e->coding);
	nn_words_free(e->fields);
	nn_free(e->uses);
	nn_free(e->text);
	nn_free(e);
}

const char *nn_encoder_field(const struct nn_encoder *e, size_t field)
{
	const char *name;

	if (field >= nn_words_count(e->fields))
		return NULL;
	name = nn_words_text(e->fields, (int32_t)field);
	return *name == NAMELESS ? "" : name;
}

bool nn_encoder_field_is_text(const struct nn_encoder *e, size_t field)
{
	return field < nn_words_count(e->fields) && e->text[field];
}

/* ---- what becomes of one ---- */

static int bad_field(const struct nn_encoder *e, int32_t field, const char *text,
		     const char *wanted, struct nn_error *err)
{
	const char *name = nn_words_text(e->fields, field);
	const char *mark = *name == NAMELESS ? "" : "\"";
	char quoted[NN_QUOTED], column[NN_QUOTED];

	if (*name == NAMELESS)
		name += 1 + (name[1] == '#');
	nn_quote(column, name, strlen(name));
	if (!*text)
		return nn_fail(err, NN_EFORMAT, "column %s%s%s: empty field, expected %s", mark,
			       column, mark, wanted);
	return nn_fail(err, NN_EFORMAT, "column %s%s%s: found \"%s\", expected %s", mark, column,
		       mark, nn_quote(quoted, text, strlen(text)), wanted);
}

static int put_number(const struct nn_encoder *e, int32_t field, const char *text, bool fills,
		      size_t rows, float *value, struct nn_error *err)
{
	char wanted[100];
	const char *trimmed = text;
	size_t length = strlen(text);
	double wide;

	nn_trim(&trimmed, &length);
	if (fills && (nn_says_missing(text, strlen(text)) ||
		      strcasecmp(text + (*text == '-' || *text == '+'), "nan") == 0)) {
		*value = NAN;
		return 0;
	}
	if (!nn_parse_f32(trimmed, length, value))
		return bad_field(e, field, text,
				 nn_parse_f64(trimmed, length, &wide) ? "a number that f32 can hold"
								      : "a number",
				 err);
	if (!rows || (*value >= 0 && *value < (float)rows && *value == floorf(*value)))
		return 0;
	snprintf(wanted, sizeof wanted, "the number of a category, from 0 to %zu", rows - 1);
	return bad_field(e, field, text, wanted, err);
}

/* Columns of measurements do not belong into an embedding. */
static int check_category(const struct nn_encoder *e, int32_t field, const char *text,
			  struct nn_error *err)
{
	return strchr(text, '.') && nn_meant_as_number(text, strlen(text))
		       ? bad_field(e, field, text, "a category (text or a whole number)", err)
		       : 0;
}

/* One-hot, or its number among the categories of all columns; all zeros, or -1, where unknown. */
static size_t put_category(const struct nn_input_code *code, size_t c, const char *text,
			   float *values, bool *known)
{
	size_t n = nn_words_count(code->words[c]);
	int32_t word = nn_words_find(code->words[c], text, strlen(text)), place;

	if (word < 0 && nn_says_missing(text, strlen(text)))
		word = nn_words_find(code->words[c], "", 0);
	place = word < 0 ? -1 : code->place[c][word];
	*known = place >= 0;
	if (code->rows) {
		*values = place < 0 ? -1 : (float)(code->first[c] + (size_t)place);
		return 1;
	}
	for (size_t k = 0; k < n; k++)
		values[k] = place >= 0 && k == (size_t)place;
	return n;
}

static int put_hash(const struct nn_encoder *e, const struct nn_column *column, size_t rows,
		    const int32_t *uses, const char *const *fields, float *value,
		    struct nn_error *err)
{
	uint64_t hash = 0;

	for (size_t k = 0; k < column->n_hashed; k++) {
		const struct nn_hashed *from = &column->hashed[k];
		const char *text = fields[uses[k]] ? fields[uses[k]] : "";

		if (check_category(e, uses[k], text, err) < 0)
			return -1;
		hash = nn_hash_join(hash, nn_fnv1a(nn_hash_name(from->name, from->position), text,
						   strlen(text)));
	}
	*value = (float)nn_hash_bucket(hash, rows);
	return 0;
}

/* Column c of input i: *uses and *row move on. */
static int put_column(const struct nn_encoder *e, size_t i, size_t c, const int32_t **uses,
		      const char *const *fields, float **row, struct nn_encoder_unseen *unseen,
		      struct nn_error *err)
{
	const struct nn_input_schema *input = &e->schema->inputs[i];
	const struct nn_column *column = column_of(input, c);
	const char *text = fields[**uses] ? fields[**uses] : "";
	bool known;

	if (column && column->hashed) {
		if (put_hash(e, column, input->rows, *uses, fields, *row, err) < 0)
			return -1;
		*uses += column->n_hashed;
		++*row;
		return 0;
	}
	if (column && column->category) {
		if (input->rows && check_category(e, **uses, text, err) < 0)
			return -1;
		*row += put_category(&e->coding->inputs[i], c, text, *row, &known);
		if (!known && unseen)
			*unseen = (struct nn_encoder_unseen){ unseen->n + 1, (size_t) * *uses };
	} else if (put_number(e, **uses, text, column && column->fills, input->rows, (*row)++,
			      err) < 0) {
		return -1;
	}
	++*uses;
	return 0;
}

int nn_encoder_row(const struct nn_encoder *e, const char *const *fields, float *row,
		   struct nn_encoder_unseen *unseen, struct nn_error *err)
{
	const int32_t *uses = e->uses;

	for (size_t i = 0; i < e->schema->n_inputs; i++) {
		const struct nn_input_schema *input = &e->schema->inputs[i];

		for (size_t c = 0; c < n_columns(input); c++)
			if (put_column(e, i, c, &uses, fields, &row, unseen, err) < 0)
				return -1;
	}
	return 0;
}
