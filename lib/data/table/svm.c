/*
 * LIBSVM: a line a row, "label index:value ..." with rising indices; values not said are 0. The
 * label may be left out where nobody asks for it; what follows # is a comment.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/real.h"
#include "data/table/lines.h"
#include "data/table/missing-word.h"
#include "data/table/svm.h"

#define MOST_SNIFFED 256                /* bytes in which two words end */
#define MOST_COMMENTS ((size_t)1 << 16) /* bytes of comments before them */

/* ---- words ---- */

/* What is left of a line, and where it stands. */
struct cursor {
	const char *at, *end, *file;
	uint64_t line;
	uint64_t least, most; /* the first index, and how many there may be */
	uint64_t next;        /* indices before it are over */
};

static struct cursor begin(const struct nn_csv *csv, const struct nn_record *r, unsigned least,
			   size_t most)
{
	const char *comment = memchr(r->text, '#', r->length);

	return (struct cursor){
		.at = r->text,
		.end = comment ? comment : r->text + r->length,
		.file = nn_input_name(csv->input),
		.line = r->line,
		.least = least,
		.most = most,
		.next = least,
	};
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word; its length, 0 at the end. */
static size_t word(const char **at, const char *end)
{
	const char *p;

	while (*at < end && is_blank(**at))
		++*at;
	for (p = *at; p < end && !is_blank(*p);)
		p++;
	return (size_t)(p - *at);
}

static bool split(const char *text, size_t n, uint64_t *index, double *value)
{
	const char *colon = memchr(text, ':', n);

	return colon && nn_parse_u64(text, (size_t)(colon - text), index) &&
	       nn_parse_f64(colon + 1, n - (size_t)(colon - text) - 1, value);
}

static int unexpected(const struct cursor *c, size_t n, const char *wanted, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	return nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": found \"%s\", expected %s", c->file,
		       c->line, nn_quote(quoted, c->at, n), wanted);
}

/* The word that may be a label: its length, 0: there is none; -1. */
static int label(struct cursor *c, const char **text, double *value, struct nn_error *err)
{
	size_t n = word(&c->at, c->end);

	*text = c->at;
	if (n == 0 || memchr(c->at, ':', n))
		return 0;
	if (!nn_parse_f64(c->at, n, value))
		return unexpected(c, n, "a label, which is a number", err);
	c->at += n;
	return (int)n;
}

static int wrong_index(const struct cursor *c, uint64_t index, size_t n, struct nn_error *err)
{
	char wanted[120];

	if (index < c->least)
		return unexpected(c, n, "indices from 1; --zero-based counts from 0", err);
	if (index < c->next)
		snprintf(wanted, sizeof wanted, "an index above %" PRIu64 ", which came before",
			 c->next - 1);
	else
		snprintf(wanted, sizeof wanted, "an index of at most %" PRIu64,
			 c->most + c->least - 1);
	return unexpected(c, n, wanted, err);
}

/* The place and value of the next word: 1, 0 at the end, -1. */
static int pair(struct cursor *c, enum nn_dtype dtype, size_t *place, double *value,
		struct nn_error *err)
{
	size_t n = word(&c->at, c->end);
	uint64_t index;

	if (n == 0)
		return 0;
	if (!split(c->at, n, &index, value))
		return unexpected(c, n, "index:value", err);
	if (index < c->next || index - c->least >= c->most)
		return wrong_index(c, index, n, err);
	if (dtype == NN_F32 && fabs(*value) > FLT_MAX)
		return unexpected(c, n, "a value that f32 can hold", err);
	*place = (size_t)(index - c->least);
	c->next = index + 1;
	c->at += n;
	return 1;
}

/* ---- files ---- */

static bool may_be(const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!bytes[i] || !strchr("0123456789+-.eE: \t", bytes[i]))
			return false;
	return true;
}

/* How many of these bytes are comments and blank lines, the last of which may go on. */
static size_t comments(const char *bytes, size_t n)
{
	const char *at = bytes, *end = bytes + n, *newline;

	while (at < end && (newline = memchr(at, '\n', (size_t)(end - at))) &&
	       nn_is_comment(at, (size_t)(newline - at)))
		at = newline + 1;
	return at < end && *at == '#' ? n : (size_t)(at - bytes);
}

/* Is a line one of LIBSVM? -1: it has but a number, as a row without values has, or none. */
static int line_fits(const char *at, const char *end)
{
	const char *comment = memchr(at, '#', (size_t)(end - at));
	size_t first, n;
	uint64_t index;
	double value;
	bool labelled;

	if (nn_is_comment(at, (size_t)(end - at)))
		return -1;
	end = comment ? comment : end;
	first = word(&at, end);
	labelled = nn_parse_f64(at, first, &value);
	if (first == 0 || !(labelled || split(at, first, &index, &value)))
		return 0;
	at += first;
	n = word(&at, end);
	return n > 0 ? split(at, n, &index, &value) : labelled ? -1 : 0;
}

int nn_svm_fits(struct nn_input *input, struct nn_error *err)
{
	const unsigned char *bytes;
	const char *at, *end, *newline;
	size_t got, before = 0, past;
	int fits = -1;

	bytes = nn_input_held(input, &got);
	for (;;) {
		past = comments((const char *)bytes, got);
		if (got <= before || past >= MOST_COMMENTS || got - past >= MOST_SNIFFED ||
		    memchr(bytes + past, '\n', got - past) || !may_be(bytes + past, got - past))
			break;
		before = got;
		if (nn_input_more(input, &bytes, &got, err) < 0)
			return -1;
	}
	at = (const char *)bytes;
	for (end = at + got; fits < 0 && at < end; at = newline + (newline < end)) {
		newline = memchr(at, '\n', (size_t)(end - at));
		newline = newline ? newline : end;
		fits = line_fits(at, newline);
	}
	return fits > 0;
}

int nn_svm_open(struct nn_table *t, struct nn_input *input, size_t width, unsigned least,
		enum nn_dtype dtype, struct nn_error *err)
{
	*t = (struct nn_table){
		.dtype = dtype, .lines = true, .svm = width, .svm_least = least, .n_values = width
	};
	nn_csv_init(&t->csv, input);
	t->csv.comments = true;
	t->columns = nn_alloc(1, sizeof *t->columns, err);
	t->width = t->columns != NULL;
	return t->columns ? 0 : -1;
}

static int measure_lines(struct nn_csv *csv, unsigned least, size_t *width, size_t *rows,
			 struct nn_error *err)
{
	struct nn_record record;
	int status;

	while ((status = nn_lines_next(csv, &record, err)) == 1) {
		struct cursor c = begin(csv, &record, least, NN_SVM_MOST);
		const char *text;
		double value;
		size_t place;

		status = label(&c, &text, &value, err);
		while (status >= 0 && (status = pair(&c, NN_F64, &place, &value, err)) == 1)
			*width = place + 1 > *width ? place + 1 : *width;
		if (status < 0)
			break;
		++*rows;
	}
	return status;
}

int nn_svm_measure(struct nn_input *input, unsigned least, size_t *width, size_t *rows,
		   struct nn_error *err)
{
	struct nn_input *held;
	struct nn_csv csv;
	size_t n, got;
	int status;

	*width = *rows = 0;
	if (nn_lines_hold(input, SIZE_MAX, SIZE_MAX, &n, err) < 0 ||
	    nn_input_open_memory(&held, nn_input_name(input), err) < 0)
		return -1;
	nn_input_give(held, nn_input_held(input, &got), n);
	nn_csv_init(&csv, held);
	csv.comments = true;
	status = measure_lines(&csv, least, width, rows, err);
	nn_csv_fini(&csv);
	nn_input_close(held);
	return status;
}

static int read_label(struct nn_table *t, const struct nn_record *r, struct cursor *c, void *values,
		      double *targets, struct nn_error *err)
{
	char whole[NN_NUMBER];
	struct nn_field field;
	double value = 0;
	int n = label(c, &field.text, &value, err);

	if (n < 0 || t->columns[0].cell == NN_CELL_SKIP)
		return n < 0 ? -1 : 0;
	if (n == 0)
		return nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": has no label in front of %s",
			       c->file, c->line, "index:value");
	field.length = (size_t)n;
	if (value == floor(value) && fabs(value) < 0x1p53) { /* 1.0 and +1 are the label 1 */
		field.length = (size_t)snprintf(whole, sizeof whole, "%.0f", value + 0.0);
		field.text = whole;
	}
	return nn_table_put_field(t, r, 0, &field, values, targets, err);
}

int nn_svm_read(struct nn_table *t, const struct nn_record *r, void *values, double *targets,
		struct nn_error *err)
{
	struct cursor c = begin(&t->csv, r, t->svm_least, t->svm);
	int status = read_label(t, r, &c, values, targets, err);
	size_t place;
	double value;

	memset(values, 0, t->n_values * nn_dtype_size(t->dtype));
	while (status >= 0 && (status = pair(&c, t->dtype, &place, &value, err)) == 1)
		nn_real_put(t->dtype, values, place, value);
	return status;
}
