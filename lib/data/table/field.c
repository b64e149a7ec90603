/* A field of a table as the number, word or label that its column has. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/limit.h"
#include "base/number-line.h"
#include "base/number.h"
#include "base/real.h"
#include "data/table/missing-word.h"
#include "data/table/table.h"

/* Where a field stands, for errors. */
struct field_place {
	struct nn_table *t;
	const struct nn_record *record;
	size_t column;
};

static bool says_nan(const char *text, size_t n)
{
	if (n && (text[0] == '+' || text[0] == '-'))
		text++, n--;
	return n == 3 && strncasecmp(text, "nan", n) == 0;
}

/* The place in front of what is wrong there. */
static int fail_at(const struct field_place *at, uint64_t line, struct nn_error *err)
{
	const char *file = nn_input_name(at->t->csv.input);

	return at->t->lines ? nn_fail_at(err, "%s:%" PRIu64, file, line)
			    : nn_fail_at(err, "%s:%" PRIu64 ":%zu", file, line, at->column + 1);
}

static int bad_field(const struct field_place *at, const char *text, size_t n, const char *wanted,
		     struct nn_error *err)
{
	char quoted[NN_QUOTED], name[NN_QUOTED];
	uint64_t line = nn_csv_field_line(&at->t->csv, at->record, at->column);
	const struct nn_table_column *c = &at->t->columns[at->column];
	const char *hint = c->target ? at->t->hints.target : at->t->hints.number;

	if (!(nn_says_missing(text, n) || says_nan(text, n)))
		hint = c->target && at->t->n_targets == 1 && !nn_meant_as_number(text, n)
			       ? at->t->hints.label
			       : NULL;
	hint = hint ? hint : "";

	nn_table_column_name(at->t, at->column, name);
	if (n == 0)
		nn_fail(err, NN_EFORMAT, "%s in %s, expected %s%s",
			at->t->lines ? "no value" : "empty field", name, wanted, hint);
	else
		nn_fail(err, NN_EFORMAT, "found \"%s\" in %s, expected %s%s",
			nn_quote(quoted, text, n), name, wanted, hint);
	return fail_at(at, line, err);
}

static bool says_not_finite(const char *text, size_t n)
{
	if (n && (text[0] == '+' || text[0] == '-'))
		text++, n--;
	return (n == 3 && (strncasecmp(text, "nan", n) == 0 || strncasecmp(text, "inf", n) == 0)) ||
	       (n == 8 && strncasecmp(text, "infinity", n) == 0);
}

/* Why a field is not a number. */
static int bad_number(const struct field_place *at, const char *text, size_t n,
		      struct nn_error *err)
{
	double value = 0;

	if (says_not_finite(text, n))
		return bad_field(at, text, n, "a finite number", err);
	nn_trim(&text, &n);
	if (nn_parse_f64(text, n, &value) || isinf(value))
		return bad_field(at, text, n,
				 at->t->dtype == NN_F64 ? "a number that f64 can hold"
							: "a number that f32 can hold",
				 err);
	return bad_field(at, text, n, "a number", err);
}

/* Blanks around a number do no harm. */
static bool parse(enum nn_dtype dtype, const char *text, size_t n, double *value)
{
	float f;

	nn_trim(&text, &n);
	if (dtype == NN_F64)
		return nn_parse_f64(text, n, value);
	if (!nn_parse_f32(text, n, &f))
		return false;
	*value = f;
	return true;
}

static void put(const struct nn_table *t, const struct nn_table_column *c, void *values,
		double *targets, double value)
{
	if (c->target)
		targets[c->slot] = value;
	else
		nn_real_put(t->dtype, values, c->slot, value);
}

static int no_row(const struct field_place *at, const struct nn_table_column *c, const char *text,
		  size_t n, struct nn_error *err)
{
	char wanted[100];

	snprintf(wanted, sizeof wanted, "the number of a category, from 0 to %zu", c->rows - 1);
	return bad_field(at, text, n, wanted, err);
}

/* A number with a point is not a category: measurements do not belong in an embedding. */
static int check_category(const struct field_place *at, const char *text, size_t n,
			  struct nn_error *err)
{
	if (!memchr(text, '.', n) || !nn_meant_as_number(text, n))
		return 0;
	return bad_field(at, text, n,
			 "a category (text or a whole number): columns of numbers need an input "
			 "line of their own",
			 err);
}

/* Of a number: is it written as one that is not whole? */
static bool has_point(const char *text, size_t n)
{
	return memchr(text, '.', n) || memchr(text, 'e', n) || memchr(text, 'E', n);
}

/*
 * A field of a number column; a target keeps all digits of its f64, which has to fit the type too.
 */
static int put_number(const struct field_place *at, struct nn_table_column *c, const char *text,
		      size_t n, void *values, double *targets, struct nn_error *err)
{
	double value, whole;

	if (c->missing && (nn_says_missing(text, n) || says_nan(text, n))) {
		put(at->t, c, values, targets, NAN);
		return 0;
	}
	if (!parse(at->t->dtype, text, n, &value))
		return bad_number(at, text, n, err);
	if (c->target && parse(NN_F64, text, n, &whole))
		value = whole;
	if (c->weight && value < 0)
		return bad_field(at, text, n, "a weight of 0 or more", err);
	if (c->target && !c->point_line && has_point(text, n)) {
		c->point_line = at->record->line;
		at->t->touched = true;
	}
	if (c->rows && !(value >= 0 && value < (double)c->rows && value == floor(value)))
		return no_row(at, c, text, n, err);
	put(at->t, c, values, targets, value);
	return 0;
}

/*
 * A number for a word that is not there: the next one of its own, or of those that wait to be
 * joined with the others.
 */
static int32_t add_fresh(const struct nn_table_column *c, int32_t id)
{
	return id < 0 ? id : id + c->first_fresh;
}

static size_t count_words(const struct nn_table_column *c)
{
	return nn_words_count(c->words) + (c->fresh ? nn_words_count(c->fresh) : 0);
}

static int not_found(const struct field_place *at, struct nn_table_column *c, const char *text,
		     size_t n, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	if (c->closed)
		return nn_fail(err, NN_EFORMAT,
			       "%s:%" PRIu64 ":%zu: label \"%s\" is not among those of --classes",
			       nn_input_name(at->t->csv.input), at->record->line, at->column + 1,
			       nn_quote(quoted, text, n));
	if (c->target) {
		nn_unseen_add(&at->t->labels, text, n);
	} else {
		c->unseen++;
		c->unseen_line = at->record->line;
	}
	return 0;
}

static int32_t find_word(const struct nn_table_column *c, const char *text, size_t n)
{
	int32_t id = nn_words_find(c->words, text, n);

	return id < 0 && c->fresh ? add_fresh(c, nn_words_find(c->fresh, text, n)) : id;
}

static int miss_label(const struct field_place *at, const struct nn_table_column *c,
		      const char *text, size_t n, double *targets, struct nn_error *err)
{
	if (!c->missing)
		return bad_field(at, text, n, "a label", err);
	targets[c->slot] = NAN;
	return 0;
}

/* Whether all labels are integers is seen when all are there; what cannot be one is marked here. */
static void mark_point(const struct field_place *at, struct nn_table_column *c, const char *text,
		       size_t n)
{
	if (c->target && !c->point_line && has_point(text, n) && nn_meant_as_number(text, n))
		c->point_line = at->record->line;
}

/* The first word of a column that is not "", where its field was seen; NULL: none was. */
static const char *first_word(const struct nn_table_column *c)
{
	const struct nn_words *words = nn_words_count(c->words) > 0 ? c->words : c->fresh;
	size_t first = words && nn_words_count(words) > 1 && !*nn_words_text(words, 0);

	return words && c->word_line ? nn_words_text(words, (int32_t)first) : NULL;
}

/* One odd field may have made a column of numbers text: the first is named. */
static int too_many_words(const struct field_place *at, const struct nn_table_column *c,
			  struct nn_error *err)
{
	const char *first = first_word(c);
	char name[NN_QUOTED], quoted[NN_QUOTED], word[NN_QUOTED + 80] = "";

	if (first)
		snprintf(word, sizeof word, " (\"%s\" in line %" PRIu64 " is no number)",
			 nn_quote(quoted, first, strlen(first)), c->word_line);
	return nn_fail(err, NN_EFORMAT,
		       "%s:%" PRIu64 ":%zu: %s has more than %zu different values of text%s; "
		       "an embedding takes such a column: in the model NAME: input "
		       "columns=COLUMN, and embedding 16 from=NAME; input columns=OTHERS leaves "
		       "it out",
		       nn_input_name(at->t->csv.input), at->record->line, at->column + 1,
		       nn_table_column_name(at->t, at->column, name), c->limit, word);
}

/* A missing word is a value of its own where the model has it, else "". */
static int put_word(const struct field_place *at, struct nn_table_column *c, const char *text,
		    size_t n, void *values, double *targets, struct nn_error *err)
{
	int32_t id = find_word(c, text, n);

	if (id < 0 && nn_says_missing(text, n)) {
		if (c->target)
			return miss_label(at, c, text, n, targets, err);
		text = "";
		n = 0;
		id = find_word(c, text, n);
	}
	if (id < 0 && c->grow && c->limit && count_words(c) >= c->limit)
		return too_many_words(at, c, err);
	at->t->touched |= id < 0;
	if (id < 0 && c->grow)
		mark_point(at, c, text, n);
	if (id < 0 && c->grow && n > 0 && !c->word_line)
		c->word_line = at->record->line;
	if (id < 0 && c->grow)
		id = c->fresh ? add_fresh(c, nn_words_add(c->fresh, text, n, err))
			      : nn_words_add(c->words, text, n, err);
	if (id < 0 && c->grow)
		return -1;
	if (id < 0 && not_found(at, c, text, n, err) < 0)
		return -1;
	put(at->t, c, values, targets, id);
	return 0;
}

/* Labels that are integers: a text or a fraction is none of them. */
static int put_label(const struct field_place *at, struct nn_table_column *c, const char *text,
		     size_t n, double *targets, struct nn_error *err)
{
	int32_t id = -1;
	int64_t value;

	if (nn_says_missing(text, n))
		return miss_label(at, c, text, n, targets, err);
	nn_trim(&text, &n);
	if (nn_parse_i64(text, n, &value))
		id = c->grow && !c->fresh ? nn_words_add_integer(c->words, value, err)
					  : nn_words_find_integer(c->words, value);
	else if (c->grow)
		return bad_field(at, text, n, "an integer, as all other labels are", err);
	at->t->touched |= id < 0;
	if (id < 0 && c->fresh)
		id = add_fresh(c, nn_words_add_integer(c->fresh, value, err));
	if (id < 0 && c->grow)
		return -1;
	if (id < 0 && not_found(at, c, text, n, err) < 0)
		return -1;
	targets[c->slot] = id;
	return 0;
}

/*
 * The first field that has a value says what the column is; those before it were "", or are missing
 * numbers and labels.
 */
static int decide(const struct field_place *at, struct nn_table_column *c, const char *text,
		  size_t n, void *values, double *targets, struct nn_error *err)
{
	bool number;

	if (nn_says_missing(text, n)) {
		if (!c->empty_line)
			c->empty_line = at->record->line;
		put(at->t, c, values, targets, c->missing ? NAN : 0); /* "" becomes word 0 */
		return 0;
	}
	number = nn_meant_as_number(text, n);
	c->cell = number ? NN_CELL_NUMBER : NN_CELL_WORD;
	at->t->runs_known = false;
	if ((number || c->target) && c->empty_line && !c->missing) {
		const char *hint = c->target ? at->t->hints.target : at->t->hints.number;
		char name[NN_QUOTED];

		return nn_fail(err, NN_EFORMAT,
			       "%s:%" PRIu64 ":%zu: no value in %s, expected a %s%s",
			       nn_input_name(at->t->csv.input), c->empty_line, at->column + 1,
			       nn_table_column_name(at->t, at->column, name),
			       number ? "number" : "label", hint ? hint : "");
	}
	if (number)
		return put_number(at, c, text, n, values, targets, err);
	if (!c->target && c->empty_line && nn_words_add(c->words, "", 0, err) < 0)
		return -1;
	return put_word(at, c, text, n, values, targets, err);
}

int nn_table_put_field(struct nn_table *t, const struct nn_record *record, size_t column,
		       const struct nn_field *field, void *values, double *targets,
		       struct nn_error *err)
{
	const struct field_place *at = &(struct field_place){ t, record, column };
	struct nn_table_column *c = &t->columns[column];
	const char *text = field->text;
	size_t n = field->length;

	if (n > nn_limit(NN_LIMIT_FIELD))
		return nn_csv_field_too_long(&t->csv, record, column, n, err);
	if ((c->hashed || c->listed) && check_category(at, text, n, err) < 0)
		return -1;
	if (c->hashed)
		c->hash = nn_fnv1a(c->hash_start, text, n);
	switch (c->cell) {
	case NN_CELL_SKIP:
		return 0;
	case NN_CELL_OPEN:
		return decide(at, c, text, n, values, targets, err);
	case NN_CELL_NUMBER:
		return put_number(at, c, text, n, values, targets, err);
	case NN_CELL_WORD:
		return put_word(at, c, text, n, values, targets, err);
	case NN_CELL_LABEL:
		return put_label(at, c, text, n, targets, err);
	}
	return -1;
}
