/* A growing string, UTF-8, JSON strings, and the nearest of some words. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static bool reserve(struct nn_text *text, size_t n)
{
	size_t wanted = text->length + n + 1, room = text->room ? text->room : 64;
	char *data;

	if (text->failed || wanted < n)
		return false;
	if (wanted <= text->room)
		return true;
	while (room < wanted)
		room = room > SIZE_MAX / 2 ? wanted : room * 2;
	data = realloc(text->data, room);
	if (!data) {
		text->failed = true;
		return false;
	}
	text->data = data;
	text->room = room;
	return true;
}

void nn_text_add_bytes(struct nn_text *text, const char *bytes, size_t n)
{
	if (!reserve(text, n))
		return;
	memcpy(text->data + text->length, bytes, n);
	text->length += n;
	text->data[text->length] = '\0';
}

void nn_text_add(struct nn_text *text, const char *string)
{
	nn_text_add_bytes(text, string, strlen(string));
}

void nn_text_addf(struct nn_text *text, const char *format, ...)
{
	size_t room = text->data ? text->room - text->length : 0;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(room ? text->data + text->length : NULL, room, format, args);
	va_end(args);
	if (n < 0 || !reserve(text, (size_t)n)) {
		if (room)
			text->data[text->length] = '\0';
		return;
	}
	if ((size_t)n >= room) {
		va_start(args, format);
		vsnprintf(text->data + text->length, (size_t)n + 1, format, args);
		va_end(args);
	}
	text->length += (size_t)n;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void nn_text_add_json(struct nn_text *text, const char *bytes, size_t n)
{
	nn_text_add(text, "\"");
	for (size_t i = 0, step; i < n; i += step) {
		unsigned char c = (unsigned char)bytes[i];

		for (step = 0; i + step < n && is_plain((unsigned char)bytes[i + step]);)
			step++;
		if (step > 0) {
			nn_text_add_bytes(text, bytes + i, step);
			continue;
		}
		step = nn_utf8_length(bytes + i, n - i);
		if (step > 1)
			nn_text_add_bytes(text, bytes + i, step);
		else if (step == 0)
			nn_text_add(text, "\xef\xbf\xbd");
		else if (c == '"' || c == '\\')
			nn_text_addf(text, "\\%c", c);
		else if (c == '\n' || c == '\t')
			nn_text_add(text, c == '\n' ? "\\n" : "\\t");
		else
			nn_text_addf(text, "\\u%04x", c);
		step += step == 0;
	}
	nn_text_add(text, "\"");
}

void nn_text_clear(struct nn_text *text)
{
	text->length = 0;
	if (text->data)
		text->data[0] = '\0';
}

void nn_text_free(struct nn_text *text)
{
	free(text->data);
	*text = (struct nn_text){ 0 };
}

/* No surrogates, nothing overlong, nothing above U+10FFFF. */
size_t nn_utf8_length(const char *bytes, size_t n)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t length;

	if (s[0] < 0x80)
		return 1;
	length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || length > n)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

size_t nn_utf8_prefix(const char *bytes, size_t n)
{
	size_t at = 0, step;

	while (at < n && (step = nn_utf8_length(bytes + at, n - at)) > 0)
		at += step;
	return at;
}

/* Edit distance with transpositions of neighbours; words of at most 63 bytes. */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	size_t row[3][64];

	for (size_t j = 0; j <= m; j++)
		row[1][j] = j;
	for (size_t i = 1; i <= n; i++) {
		memmove(row[0], row[1], sizeof row[0]); /* row[0] -> i-1; row[2] keeps i-2 */
		row[1][0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t best = row[0][j - 1] + (a[i - 1] != b[j - 1]);

			if (row[0][j] + 1 < best)
				best = row[0][j] + 1;
			if (row[1][j - 1] + 1 < best)
				best = row[1][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    row[2][j - 2] + 1 < best)
				best = row[2][j - 2] + 1;
			row[1][j] = best;
		}
		memmove(row[2], row[0], sizeof row[2]);
	}
	return row[1][m];
}

bool nn_text_lists(const char *list, const char *word, size_t n)
{
	for (size_t length; *list; list += length + (list[length] != '\0')) {
		length = strcspn(list, " ,");
		if (length == n && memcmp(list, word, n) == 0)
			return true;
	}
	return false;
}

const char *nn_did_you_mean(const char *word, const char *(*next)(const void *arg, size_t i),
			    const void *arg)
{
	size_t length = strlen(word), most = length / 3 < 3 ? length / 3 : 3;
	const char *best = NULL, *candidate;

	if (length > 62 || most == 0)
		return NULL;
	for (size_t i = 0; (candidate = next(arg, i)); i++) {
		size_t d;

		if (strlen(candidate) > 62)
			continue;
		d = distance(word, candidate);
		if (d <= most) {
			best = candidate;
			most = d ? d - 1 : 0;
			if (d == 0)
				break;
		}
	}
	return best;
}
