/* HTTP answers, a line and a stretch of bytes at a time. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "bench/load/answer.h"

const char *const nn_load_part_names[NN_LOAD_PARTS] = { "read", "parse", "queue", "compute",
							"format" };

void nn_load_answer_init(struct nn_load_answer *a, char *body, size_t most)
{
	memset(a, 0, offsetof(struct nn_load_answer, line));
	a->body = body;
	a->most = most;
}

/* ---- words of a header ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* text[*n] without blanks at both ends. */
static const char *trim(const char *text, size_t *n)
{
	for (; *n > 0 && is_blank(*text); --*n)
		text++;
	while (*n > 0 && is_blank(text[*n - 1]))
		--*n;
	return text;
}

static bool is_word(const char *text, size_t n, const char *word)
{
	return n > 0 && (*text | 0x20) == *word && n == strlen(word) &&
	       strncasecmp(text, word, n) == 0;
}

/* The element of a list before the next separator outside quotes; *text and *n go behind it. */
static const char *next_element(const char **text, size_t *n, char separator, size_t *length)
{
	const char *element = *text;
	bool quoted = false;
	size_t i = 0;

	for (; i < *n && (quoted || element[i] != separator); i++) {
		quoted ^= element[i] == '"';
		i += quoted && element[i] == '\\' && i + 1 < *n;
	}
	*length = i;
	i += i < *n;
	*text += i;
	*n -= i;
	return trim(element, length);
}

static bool has_word(const char *list, size_t n, const char *word)
{
	while (n > 0) {
		size_t length;
		const char *element = next_element(&list, &n, ',', &length);

		if (is_word(element, length, word))
			return true;
	}
	return false;
}

/* One metric, "queue;desc=x;dur=1.5", whose name is text[0..n) before the first semicolon. */
static void take_metric(struct nn_load_answer *a, const char *text, size_t n)
{
	size_t length;
	const char *name = next_element(&text, &n, ';', &length);
	int part = 0;

	while (part < NN_LOAD_PARTS && !is_word(name, length, nn_load_part_names[part]))
		part++;
	while (part < NN_LOAD_PARTS && n > 0) {
		const char *parameter = next_element(&text, &n, ';', &length);
		double ms;

		if (length > 4 && strncasecmp(parameter, "dur=", 4) == 0 &&
		    nn_parse_f64(parameter + 4, length - 4, &ms) && ms >= 0) {
			a->part[part] += ms / 1e3;
			a->timed = true;
		}
	}
}

/*
 * What nn-serve writes of a part, "queue;dur=1.234", without a look at what else the grammar has;
 * its bytes, 0: it is something else.
 */
static size_t take_plain_metric(struct nn_load_answer *a, int part, const char *text, size_t n)
{
	const char *name = nn_load_part_names[part];
	size_t length = strlen(name), at = length + 5, point;
	double us = 0;

	if (n < at || memcmp(text, name, length) != 0 || memcmp(text + length, ";dur=", 5) != 0)
		return 0;
	for (point = 0; at < n && text[at] != ','; at++) {
		if (text[at] == '.' && point == 0)
			point = at;
		else if (text[at] >= '0' && text[at] <= '9')
			us = us * 10 + (text[at] - '0');
		else
			return 0;
	}
	if (point <= length + 5 || at != point + 4)
		return 0;
	a->part[part] += us / 1e6;
	a->timed = true;
	return at;
}

static void take_timing(struct nn_load_answer *a, const char *list, size_t n)
{
	for (int part = 0; part < NN_LOAD_PARTS; part++) {
		size_t plain = take_plain_metric(a, part, list, n);

		plain += plain > 0 && plain < n;
		list += plain;
		n -= plain;
		while (plain > 0 && n > 0 && is_blank(*list)) {
			list++;
			n--;
		}
	}
	while (n > 0) {
		size_t length;
		const char *metric = next_element(&list, &n, ',', &length);

		take_metric(a, metric, length);
	}
}

/* ---- lines ---- */

static int take_status_line(struct nn_load_answer *a, struct nn_error *err)
{
	const char *l = a->line;
	char quoted[NN_QUOTED];

	if (a->length < 12 || memcmp(l, "HTTP/1.", 7) != 0 || l[8] != ' ' ||
	    strspn(l + 9, "0123456789") != 3 || (l[12] != ' ' && l[12] != '\0'))
		return nn_fail(err, NN_EFAIL, "expected an answer of HTTP/1.1, got %s",
			       nn_quote(quoted, l, a->length));
	a->status = (l[9] - '0') * 100 + (l[10] - '0') * 10 + l[11] - '0';
	a->close = l[7] == '0';
	a->state = NN_LOAD_HEADER;
	return 0;
}

static int take_length(struct nn_load_answer *a, const char *value, size_t n, struct nn_error *err)
{
	char quoted[NN_QUOTED];
	uint64_t length;

	if (!nn_parse_u64(value, n, &length) || (a->sized && length != a->left))
		return nn_fail(err, NN_EFAIL, "expected one Content-Length, got %s",
			       nn_quote(quoted, value, n));
	a->left = length;
	a->sized = true;
	return 0;
}

static int take_header(struct nn_load_answer *a, struct nn_error *err)
{
	const char *colon = memchr(a->line, ':', a->length);
	char quoted[NN_QUOTED];
	size_t name, n;

	if (!colon || colon == a->line)
		return nn_fail(err, NN_EFAIL, "expected a header, got %s",
			       nn_quote(quoted, a->line, a->length));
	name = (size_t)(colon - a->line);
	n = a->length - name - 1;
	colon = trim(colon + 1, &n);
	if (is_word(a->line, name, "content-length"))
		return take_length(a, colon, n, err);
	if (is_word(a->line, name, "transfer-encoding"))
		a->chunked |= has_word(colon, n, "chunked");
	else if (is_word(a->line, name, "connection"))
		a->close = has_word(colon, n, "close") ||
			   (a->close && !has_word(colon, n, "keep-alive"));
	else if (is_word(a->line, name, "server-timing"))
		take_timing(a, colon, n);
	return 0;
}

/* The empty line after the headers: what follows. */
static void end_head(struct nn_load_answer *a)
{
	if (a->status < 200) { /* the answer is yet to come */
		nn_load_answer_init(a, a->body, a->most);
		a->begun = true;
	} else if (a->status == 204 || a->status == 304)
		a->state = NN_LOAD_DONE;
	else if (a->chunked)
		a->state = NN_LOAD_CHUNK_SIZE;
	else if (a->sized)
		a->state = a->left ? NN_LOAD_BODY : NN_LOAD_DONE;
	else
		a->state = NN_LOAD_UNTIL_CLOSE;
	if (a->state == NN_LOAD_UNTIL_CLOSE)
		a->close = true;
}

static int take_chunk_size(struct nn_load_answer *a, struct nn_error *err)
{
	size_t digits = strspn(a->line, "0123456789abcdefABCDEF");
	char quoted[NN_QUOTED];

	if (digits == 0 || digits > 15 || !strchr("; \t", a->line[digits]))
		return nn_fail(err, NN_EFAIL, "expected the size of a chunk, got %s",
			       nn_quote(quoted, a->line, a->length));
	a->left = strtoull(a->line, NULL, 16);
	a->state = a->left ? NN_LOAD_CHUNK : NN_LOAD_TRAILER;
	a->lines = 0;
	return 0;
}

/* line[length] is whole, NUL after it. */
static int take_line(struct nn_load_answer *a, struct nn_error *err)
{
	switch (a->state) {
	case NN_LOAD_STATUS_LINE:
		return take_status_line(a, err);
	case NN_LOAD_HEADER:
		if (a->length > 0)
			return take_header(a, err);
		end_head(a);
		return 0;
	case NN_LOAD_CHUNK_SIZE:
		return take_chunk_size(a, err);
	case NN_LOAD_CHUNK_END:
		if (a->length > 0)
			return nn_fail(err, NN_EFAIL, "a chunk is longer than its size");
		a->state = NN_LOAD_CHUNK_SIZE;
		return 0;
	default:
		if (a->length == 0)
			a->state = NN_LOAD_DONE;
		return 0;
	}
}

/* Bytes up to the end of a line; how many were taken. */
static size_t add_line(struct nn_load_answer *a, const char *bytes, size_t n, struct nn_error *err)
{
	const char *end = memchr(bytes, '\n', n);
	size_t more = end ? (size_t)(end - bytes) : n;

	if (more >= NN_LOAD_LINE - a->length) {
		nn_fail(err, NN_EFAIL, "a line of the answer's head has more than %d bytes",
			NN_LOAD_LINE - 1);
		return n;
	}
	memcpy(a->line + a->length, bytes, more);
	a->length += more;
	if (!end)
		return n;
	if (a->length > 0 && a->line[a->length - 1] == '\r')
		a->length--;
	a->line[a->length] = '\0';
	if (++a->lines > NN_LOAD_LINES && a->state != NN_LOAD_CHUNK_SIZE &&
	    a->state != NN_LOAD_CHUNK_END)
		nn_fail(err, NN_EFAIL, "the answer's head has more than %d lines", NN_LOAD_LINES);
	else
		take_line(a, err);
	a->length = 0;
	return more + 1;
}

/* ---- bodies ---- */

static size_t add_body(struct nn_load_answer *a, const char *bytes, size_t n)
{
	size_t taken = a->state == NN_LOAD_UNTIL_CLOSE || n < a->left ? n : (size_t)a->left;
	size_t kept = taken < a->most - a->got ? taken : a->most - a->got;

	if (kept > 0)
		memcpy(a->body + a->got, bytes, kept);
	a->got += kept;
	if (a->state == NN_LOAD_UNTIL_CLOSE)
		return taken;
	a->left -= taken;
	if (a->left == 0)
		a->state = a->state == NN_LOAD_CHUNK ? NN_LOAD_CHUNK_END : NN_LOAD_DONE;
	return taken;
}

bool nn_load_answer_take(struct nn_load_answer *a, const char *bytes, size_t n, size_t *used,
			 struct nn_error *err)
{
	err->code = NN_OK;
	a->begun |= n > 0;
	for (*used = 0; *used < n && a->state != NN_LOAD_DONE && err->code == NN_OK;) {
		bool body = a->state == NN_LOAD_BODY || a->state == NN_LOAD_CHUNK ||
			    a->state == NN_LOAD_UNTIL_CLOSE;

		*used += body ? add_body(a, bytes + *used, n - *used)
			      : add_line(a, bytes + *used, n - *used, err);
	}
	return a->state == NN_LOAD_DONE && err->code == NN_OK;
}

bool nn_load_answer_end(struct nn_load_answer *a)
{
	if (a->state == NN_LOAD_UNTIL_CLOSE)
		a->state = NN_LOAD_DONE;
	return a->state == NN_LOAD_DONE;
}
