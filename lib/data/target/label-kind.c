/*
 * Labels: integers or text? Where the loss wants classes a column of a table is read as text: "7"
 * and "3+" are labels of one column. When all are there and all are integers, integers they are,
 * unless one has a leading zero: 00501 is not 501.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "data/dataset.h"
#include "data/table/missing-word.h"

#define EXACT 9007199254740992.0 /* 2^53: integers up to here are exact in f64 and in JSON */

enum kind { INTEGER, NUMBER, TEXT };

bool nn_label_is_padded(const char *text, size_t n)
{
	size_t sign;

	nn_trim(&text, &n);
	sign = n > 0 && (*text == '-' || *text == '+');
	return n > sign + 1 && text[sign] == '0' && strspn(text + sign, "0123456789") >= n - sign;
}

static enum kind kind_of(const char *text, int64_t *integer)
{
	size_t n = strlen(text);
	double value;

	nn_trim(&text, &n);
	if (nn_parse_i64(text, n, integer))
		return INTEGER;
	if (!nn_parse_f64(text, n, &value))
		return TEXT;
	*integer = INT64_MAX;
	return strcspn(text, ".eE") < n ? NUMBER : INTEGER;
}

/* The kind that all of them have: text where one is, then numbers. */
static enum kind kind_of_all(const struct nn_words *words)
{
	enum kind all = INTEGER;

	for (size_t i = 0; i < nn_words_count(words) && all != TEXT; i++) {
		const char *text = nn_words_text(words, (int32_t)i);
		int64_t unused;
		enum kind kind =
			nn_label_is_padded(text, strlen(text)) ? TEXT : kind_of(text, &unused);

		all = kind > all ? kind : all;
	}
	return all;
}

static double *target_of(const struct nn_table *t, const struct nn_table_column *c,
			 struct nn_block *targets, size_t row)
{
	return (double *)targets->data + row * t->n_targets + c->slot;
}

static int too_large(const struct nn_table *t, const struct nn_table_column *c,
		     struct nn_block *targets, size_t id, struct nn_error *err)
{
	size_t row = 0;

	while (*target_of(t, c, targets, row) != (double)id)
		row++;
	return nn_fail(err, NN_EFORMAT, "%s: row %zu: a label beyond 2^53",
		       nn_input_name(t->csv.input), row + 1);
}

/* The column becomes one of integer labels, its values the numbers of those. */
static int take_integers(struct nn_dataset *ds, struct nn_table *t, struct nn_table_column *c,
			 struct nn_block *targets, size_t rows, struct nn_error *err)
{
	struct nn_words *integers = nn_coding_words(ds->coding, true, err);
	size_t n = nn_words_count(c->words);
	int32_t *number = nn_alloc(n, sizeof *number, err);
	int status = integers && number ? 0 : -1;

	for (size_t i = 0; status == 0 && i < n; i++) {
		int64_t value;

		kind_of(nn_words_text(c->words, (int32_t)i), &value);
		if (value > (int64_t)EXACT || value < -(int64_t)EXACT)
			status = too_large(t, c, targets, i, err);
		else if ((number[i] = nn_words_add_integer(integers, value, err)) < 0)
			status = -1;
	}
	for (size_t r = 0; status == 0 && r < rows; r++) {
		double *value = target_of(t, c, targets, r);

		*value = isnan(*value) ? *value : number[(size_t)*value];
	}
	c->words = integers;
	c->cell = NN_CELL_LABEL;
	nn_free(number);
	return status;
}

int nn_dataset_settle_labels(struct nn_dataset *ds, struct nn_table *t, struct nn_block *targets,
			     size_t rows, struct nn_error *err)
{
	for (size_t i = 0; i < t->width; i++) {
		struct nn_table_column *c = &t->columns[i];
		enum kind kind;

		if (!c->target || c->closed || c->cell != NN_CELL_WORD)
			continue;
		kind = kind_of_all(c->words);
		if (kind == NUMBER)
			c->cell = NN_CELL_NUMBER; /* an error, where classes are wanted */
		if (kind == INTEGER && take_integers(ds, t, c, targets, rows, err) < 0)
			return -1;
	}
	return 0;
}
