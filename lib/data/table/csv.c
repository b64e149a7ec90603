/* Records of CSV and TSV: memchr finds lines; only those with quotes are walked byte by byte. */
#include <inttypes.h>
#include <string.h>

#include "base/limit.h"
#include "base/number-line.h"
#include "base/text.h"
#include "data/table/csv.h"
#include "data/table/missing-word.h"
#include "data/table/scan.h"
#include "data/table/walk.h"
#include "file/sniff.h"

void nn_csv_init(struct nn_csv *csv, struct nn_input *input)
{
	*csv = (struct nn_csv){ .input = input, .line = 1 };
}

void nn_csv_fini(struct nn_csv *csv)
{
	nn_block_free(&csv->tail);
	nn_block_free(&csv->unquoted);
	nn_block_free(&csv->fields);
}

static int start(struct nn_csv *csv, struct nn_error *err)
{
	const unsigned char *b;
	enum nn_format_id format;
	size_t got;

	/* the first line, or nine bytes of it, before the mark is looked for */
	if (nn_input_sniff(csv->input, &format, err) < 0 ||
	    nn_input_some(csv->input, &b, &got, err) < 0)
		return -1;
	csv->started = true;
	if (got >= 2 && ((b[0] == 0xff && b[1] == 0xfe) || (b[0] == 0xfe && b[1] == 0xff) ||
			 (b[0] && !b[1]) || (!b[0] && b[1])))
		return nn_fail(err, NN_EFORMAT, "%s: is UTF-16 or binary, expected text in UTF-8",
			       nn_input_name(csv->input));
	if (got >= 3 && memcmp(b, "\xef\xbb\xbf", 3) == 0)
		nn_input_take(csv->input, 3);
	return 0;
}

int nn_csv_too_long(const struct nn_csv *csv, struct nn_error *err)
{
	char said[NN_LIMIT_TEXT];

	return nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": line longer than %s",
		       nn_input_name(csv->input), csv->line, nn_limit_said(NN_LIMIT_LINE, 0, said));
}

/*
 * Where the record that comes next ends. 1: *n bytes and a newline, 0: *n bytes and the end of
 * input.
 */
static int find_end(struct nn_csv *csv, const char **text, size_t *n, struct nn_walk *walk,
		    struct nn_error *err)
{
	const unsigned char *b;
	size_t got, seen = 0;

	*walk = (struct nn_walk){ .fresh = true };
	if (nn_input_some(csv->input, &b, &got, err) < 0)
		return -1;
	for (;;) {
		const char *end =
			walk->found || got == seen ? NULL : memchr(b + seen, '\n', got - seen);

		*text = (const char *)b;
		if (end) {
			*n = (size_t)(end - *text);
			if (end < csv->clean || nn_csv_clean(*text, *n))
				return *n > nn_limit(NN_LIMIT_LINE) ? nn_csv_too_long(csv, err) : 1;
			if (seen == 0 && csv->separator &&
			    nn_walk_fast(walk, *text, got, csv->separator)) {
				*n = walk->at;
				return *n > nn_limit(NN_LIMIT_LINE) ? nn_csv_too_long(csv, err) : 1;
			}
			walk->found = nn_csv_scan(*text, *n);
			if (!(walk->found & NN_SCAN_QUOTE))
				return *n > nn_limit(NN_LIMIT_LINE) ? nn_csv_too_long(csv, err) : 1;
		}
		/* the newline may lie inside quotes */
		if (walk->found && nn_walk_on(walk, *text, got, csv->separator)) {
			*n = walk->at;
			walk->found |= nn_csv_scan(*text, *n);
			return *n > nn_limit(NN_LIMIT_LINE) ? nn_csv_too_long(csv, err) : 1;
		}
		if (got > nn_limit(NN_LIMIT_LINE))
			return nn_csv_too_long(csv, err);
		seen = got;
		if (nn_input_more(csv->input, &b, &got, err) < 0)
			return -1;
		if (got > seen)
			continue;
		*text = (const char *)b;
		*n = got;
		walk->found = nn_csv_scan(*text, *n);
		if (walk->found & NN_SCAN_QUOTE)
			nn_walk_on(walk, *text, got, csv->separator);
		return 0;
	}
}

/*
 * The separator that the first record tells: a TAB outside quotes, else whichever of comma,
 * semicolon and bar is there most often, in doubt the first of these.
 */
static char tell_separator(const char *text, size_t n)
{
	static const char known[] = ",;|";
	size_t count[sizeof known] = { 0 }, most = 0;
	bool inside = false;

	for (size_t i = 0; i < n; i++) {
		const char *which = text[i] ? strchr(known, text[i]) : NULL;

		inside ^= text[i] == '"';
		if (text[i] == '\t' && !inside)
			return '\t';
		if (which && !inside)
			count[which - known]++;
	}
	for (size_t k = 1; known[k]; k++)
		most = count[k] > count[most] ? k : most;
	return known[most];
}

/* What no record may hold; `walk` knows of carriage returns where there are quotes. */
static int check_bytes(const struct nn_csv *csv, const struct nn_record *r,
		       const struct nn_walk *walk, struct nn_error *err)
{
	const char *name = nn_input_name(csv->input);
	unsigned found = walk->found;
	size_t good;

	if (found & NN_SCAN_NUL)
		return nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": found a NUL byte, expected text",
			       name, r->line);
	if (r->quoted ? walk->lone_cr : found & NN_SCAN_CR)
		return nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": carriage return without a newline",
			       name, r->line);
	if (found & NN_SCAN_HIGH && (good = nn_utf8_prefix(r->text, r->length)) < r->length)
		return nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": byte 0x%02x is not UTF-8", name,
			       r->line, (unsigned char)r->text[good]);
	return 0;
}

/*
 * A line that the file ends without a newline gets one, so that every record has a byte after it.
 */
int nn_csv_keep(struct nn_csv *csv, struct nn_record *r, struct nn_error *err)
{
	if (r->text == (const char *)csv->tail.data)
		return 0;
	if (nn_block_reserve(&csv->tail, r->length + 1 + NN_LINE_PAD, err) < 0)
		return nn_fail_at(err, "%s", nn_input_name(csv->input));
	memcpy(csv->tail.data, r->text, r->length);
	nn_block_at(&csv->tail, r->length)[0] = '\n';
	r->text = (const char *)csv->tail.data;
	return 0;
}

static bool is_blank(const char *text, size_t n)
{
	return n == 0 || (n == 1 && text[0] == '\r');
}

/* Count blank lines that lie ready; true when a byte of another line comes next. */
static void skip_blank(struct nn_csv *csv)
{
	size_t got;
	const char *b = (const char *)nn_input_held(csv->input, &got);

	while (got && (b[0] == '\n' || (got > 1 && b[0] == '\r' && b[1] == '\n'))) {
		size_t n = b[0] == '\n' ? 1 : 2;

		if (csv->n_blank++ == 0)
			csv->blank = csv->line;
		csv->line++;
		nn_input_take(csv->input, n);
		b += n;
		got -= n;
	}
}

static void take_separator(struct nn_csv *csv, const char *text, size_t n)
{
	char separator = tell_separator(text, n);

	csv->unusual = csv->separator && csv->separator != separator;
	csv->separator = csv->separator ? csv->separator : separator;
	csv->told = true;
}

/*
 * find_end of any record. Before the separator is known a quote may open behind each that can be
 * one: a first record with quotes only tells it, and ends where it says.
 */
static int find_record(struct nn_csv *csv, const char **text, size_t *n, struct nn_walk *walk,
		       struct nn_error *err)
{
	int ended = find_end(csv, text, n, walk, err);

	if (ended < 0 || csv->separator || !(walk->found & NN_SCAN_QUOTE))
		return ended;
	take_separator(csv, *text, *n);
	return find_end(csv, text, n, walk, err);
}

int nn_csv_next(struct nn_csv *csv, struct nn_record *r, struct nn_error *err)
{
	struct nn_walk walk;
	int ended;

	*r = (struct nn_record){ .line = csv->line };
	if (!csv->started && start(csv, err) < 0)
		return -1;
	for (;;) {
		skip_blank(csv);
		ended = find_record(csv, &r->text, &r->length, &walk, err);
		if (ended < 0)
			return -1;
		if (ended == 1 && is_blank(r->text, r->length))
			continue;
		break;
	}
	if (ended == 0 && r->length == 0)
		return 0;
	if (csv->n_blank) {
		csv->n_blank--;
		r->line = csv->blank++;
		nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": empty line", nn_input_name(csv->input),
			r->line);
		return 2;
	}
	r->line = csv->line;
	r->quoted = walk.found & NN_SCAN_QUOTE;
	if (ended == 0 && r->quoted && walk.inside)
		return nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": a quote is never closed",
			       nn_input_name(csv->input), r->line);
	nn_input_take(csv->input, r->length + (ended == 1));
	csv->line += 1 + (r->quoted ? walk.newlines : 0);
	if (ended == 0 && nn_csv_keep(csv, r, err) < 0)
		return -1;
	if (r->text[r->length - 1] == '\r') {
		/* without a newline it ends no line */
		walk.lone_cr |= ended == 0;
		walk.found |= ended == 0 ? NN_SCAN_CR : 0;
		r->length--;
	}
	if (!csv->told)
		take_separator(csv, r->text, r->length);
	return check_bytes(csv, r, &walk, err) < 0 ? 2 : 1;
}

int nn_csv_ready(struct nn_csv *csv, struct nn_error *err)
{
	const unsigned char *b;
	size_t got, before;

	if (!nn_input_is_pipe(csv->input))
		return 1;
	for (;;) {
		if (csv->started) {
			skip_blank(csv);
			b = nn_input_held(csv->input, &got);
			/*
			 * a line with quotes may go on: nn_csv_next would wait, so it must hold an
			 * even number of them
			 */
			if (got) {
				const unsigned char *at = b, *end;
				bool inside = false;

				while ((end = memchr(at, '\n', got - (size_t)(at - b)))) {
					for (; at < end; at++)
						inside ^= *at == '"';
					if (!inside)
						return 1;
					at = end + 1;
				}
			}
		}
		if (!nn_input_ready(csv->input))
			return 0;
		nn_input_held(csv->input, &before);
		if (nn_input_more(csv->input, &b, &got, err) < 0)
			return -1;
		if (got == before || !csv->started)
			return 1;
	}
}

/*
 * The quoted field at *at, which then is its separator or the record's end. Its text lies in the
 * record where no quotes are doubled, else in csv->unquoted.
 */
static int unquote(struct nn_csv *csv, const struct nn_record *r, size_t *at,
		   struct nn_field *field, size_t column, struct nn_error *err)
{
	const char *end = r->text + r->length, *p = r->text + *at + 1, *q;
	char *to = (char *)csv->unquoted.data + csv->n_unquoted;

	*field = (struct nn_field){ p, 0 };
	for (;; p = q + 2) {
		q = memchr(p, '"', (size_t)(end - p));
		if (q + 1 == end || q[1] != '"')
			break;
		q++;
		/* up to the first of two quotes */
		memcpy(to + field->length, p, (size_t)(q - p));
		field->length += (size_t)(q - p);
		field->text = to;
		q--;
	}
	if (field->text == to) {
		memcpy(to + field->length, p, (size_t)(q - p));
		csv->n_unquoted += field->length + (size_t)(q - p);
	}
	field->length += (size_t)(q - p);
	q++;
	if (q < end && *q != csv->separator)
		return nn_fail(err, NN_EFORMAT,
			       "%s:%" PRIu64 ":%zu: other characters follow the closing quote",
			       nn_input_name(csv->input), nn_csv_field_line(csv, r, column - 1),
			       column);
	*at = (size_t)(q - r->text);
	return 0;
}

int nn_csv_begin(struct nn_csv *csv, const struct nn_record *r, struct nn_error *err)
{
	csv->n_unquoted = 0;
	if (r->quoted && nn_block_reserve(&csv->unquoted, r->length + 1, err) < 0)
		return nn_fail_at(err, "%s", nn_input_name(csv->input));
	return 0;
}

/* blanks: those around a field without quotes are part of it. */
static int take_field(struct nn_csv *csv, const struct nn_record *r, size_t column, bool blanks,
		      size_t *at, struct nn_field *field, struct nn_error *err)
{
	const char *end;

	if (r->quoted && *at < r->length && r->text[*at] == '"')
		return unquote(csv, r, at, field, column + 1, err);
	field->text = r->text + *at;
	end = memchr(field->text, csv->separator, r->length - *at);
	field->length = end ? (size_t)(end - field->text) : r->length - *at;
	*at += field->length;
	if (!blanks)
		nn_trim(&field->text, &field->length);
	return 0;
}

int nn_csv_field(struct nn_csv *csv, const struct nn_record *r, size_t column, size_t *at,
		 struct nn_field *field, struct nn_error *err)
{
	return take_field(csv, r, column, false, at, field, err);
}

int nn_csv_field_too_long(const struct nn_csv *csv, const struct nn_record *r, size_t column,
			  size_t length, struct nn_error *err)
{
	char said[NN_LIMIT_TEXT];

	return nn_fail(err, NN_EFORMAT,
		       "%s:%" PRIu64 ":%zu: field of %zu bytes, expected at most %s",
		       nn_input_name(csv->input), r->line, column + 1, length,
		       nn_limit_said(NN_LIMIT_FIELD, length, said));
}

static int add_field(struct nn_csv *csv, const struct nn_record *r, size_t n, struct nn_field field,
		     struct nn_error *err)
{
	struct nn_field *fields;
	char said[NN_LIMIT_TEXT];

	if (field.length > nn_limit(NN_LIMIT_FIELD))
		return nn_csv_field_too_long(csv, r, n, field.length, err);
	if (n == nn_limit(NN_LIMIT_COLUMNS))
		return nn_fail(err, NN_EFORMAT, "%s:%" PRIu64 ": more than %s",
			       nn_input_name(csv->input), r->line,
			       nn_limit_said(NN_LIMIT_COLUMNS, 0, said));
	if ((n + 1) * sizeof field > csv->fields.room &&
	    nn_block_reserve(&csv->fields, 2 * (n + 32) * sizeof field, err) < 0)
		return nn_fail_at(err, "%s", nn_input_name(csv->input));
	fields = (struct nn_field *)csv->fields.data;
	fields[n] = field;
	return 0;
}

int nn_csv_split(struct nn_csv *csv, const struct nn_record *r, bool blanks,
		 const struct nn_field **fields, size_t *n, struct nn_error *err)
{
	struct nn_field field;
	size_t at = 0;

	if (nn_csv_begin(csv, r, err) < 0)
		return -1;
	for (*n = 0; *n == 0 || at < r->length; ++*n) {
		at += *n > 0;
		if (take_field(csv, r, *n, blanks, &at, &field, err) < 0 ||
		    add_field(csv, r, *n, field, err) < 0)
			return -1;
	}
	*fields = (const struct nn_field *)csv->fields.data;
	return 0;
}

uint64_t nn_csv_field_line(const struct nn_csv *csv, const struct nn_record *r, size_t field)
{
	bool inside = false, fresh = true, closed = false;
	uint64_t line = r->line;

	for (size_t i = 0; r->quoted && i < r->length && field > 0; i++) {
		char c = r->text[i];

		line += c == '\n';
		if (inside) {
			closed = c == '"';
			inside = !closed;
			continue;
		}
		inside = c == '"' && (fresh || closed);
		fresh = c == csv->separator;
		closed = false;
		field -= fresh;
	}
	return line;
}
