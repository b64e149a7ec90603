/* Strings of JSON: checked to be UTF-8, escapes written back as the characters that they mean. */
#include "config.h"
#include <string.h>

#include "base/text.h"
#include "file/json/pull-inside.h"

/* ---- escapes ---- */

/* Four hexadecimal digits, or -1. */
static int hex4(const char *s, const char *end)
{
	int value = 0;

	if (end - s < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		unsigned char c = (unsigned char)s[i], letter = c | 0x20;

		if (c >= '0' && c <= '9')
			value = value * 16 + c - '0';
		else if (letter >= 'a' && letter <= 'f')
			value = value * 16 + letter - 'a' + 10;
		else
			return -1;
	}
	return value;
}

static char *put_utf8(char *to, unsigned c)
{
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*to++ = (char)(0xe0 | c >> 12);
		} else {
			*to++ = (char)(0xf0 | c >> 18);
			*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (c & 0x3f));
	return to;
}

/* \uXXXX at *from, or two of them that are a surrogate pair; false: they are not. */
static bool take_unicode(const char **from, const char *end, char **to)
{
	const char *s = *from;
	int high = hex4(s + 2, end), low;

	if (high < 0 || (high >= 0xdc00 && high <= 0xdfff))
		return false;
	s += 6;
	if (high >= 0xd800 && high <= 0xdbff) {
		if (end - s < 6 || s[0] != '\\' || s[1] != 'u')
			return false;
		low = hex4(s + 2, end);
		if (low < 0xdc00 || low > 0xdfff)
			return false;
		high = 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00);
		s += 6;
	}
	*to = put_utf8(*to, (unsigned)high);
	*from = s;
	return true;
}

/* The escape at *from, which two bytes follow at least; written to *to, which is not behind it. */
static bool take_escape(const char **from, const char *end, char **to)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *letter;

	if ((*from)[1] == 'u')
		return end - *from >= 6 && take_unicode(from, end, to);
	letter = (*from)[1] ? strchr(letters, (*from)[1]) : NULL;
	if (!letter)
		return false;
	*(*to)++ = meant[letter - letters];
	*from += 2;
	return true;
}

/* ---- strings ---- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Bytes that stand for themselves alone: not above 127, a control character, a quote, a backslash.
 */
static inline bool is_plain(char c)
{
	return (signed char)c >= 0x20 && c != '"' && c != '\\';
}

/* Where those end that s begins with. */
static const char *plain_end(const char *s, const char *end)
{
	uint64_t x, quote, slash, others;

	for (; end - s >= 8; s += 8) {
		memcpy(&x, s, sizeof x);
		quote = x ^ EACH('"');
		slash = x ^ EACH('\\');
		/* the high bit of a byte that is 0, or below 0x20, and of bytes above one perhaps
		 */
		others = (quote - EACH(1)) | (slash - EACH(1)) | (x - EACH(0x20)) | x;
		if (others & EACH(0x80))
			break;
	}
	while (s < end && is_plain(*s))
		s++;
	return s;
}

static int wrong(struct nn_pull *p, const char *at, const char *what)
{
	p->token = at;
	return nn_pull_fail(p, "found %s", what);
}

int nn_pull_string(struct nn_pull *p)
{
	const char *s = p->at + 1, *end = p->end, *begin;
	char *to = p->at + 1;
	size_t n;

	p->text = to;
	for (;;) {
		begin = s;
		s = plain_end(s, end);
		n = (size_t)(s - begin);
		if (s < end && (unsigned char)*s >= 0x80) {
			size_t more = nn_utf8_length(s, (size_t)(end - s));

			if (more == 0)
				return wrong(p, s, "bytes that are not UTF-8");
			n += more;
			s += more;
		}
		if (to != begin)
			memmove(to, begin, n);
		to += n;
		if (s == end)
			return wrong(p, p->at, "a string without end");
		if (*s == '"')
			break;
		if (*s == '\\' && (end - s < 2 || !take_escape(&s, end, &to)))
			return wrong(p, s, "an escape that JSON does not have");
		if (s < end && (unsigned char)*s < 0x20)
			return wrong(p, s, "a control character in a string");
	}
	p->length = (size_t)(to - p->text);
	p->at += s + 1 - p->at;
	return 0;
}
