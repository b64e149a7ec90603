/* Numbers of JSON: a vector at once where the CPU has one, else one after the other. */
#include "base/number-list.h"
#include "base/number/wide.h"
#include "base/number.h"

/* ---- grammar ---- */

static const char *skip_digits(const char *s, const char *end)
{
	while (s < end && digit(*s) < 10)
		s++;
	return s;
}

const char *nn_number_end(const char *text, const char *end)
{
	const char *s = text + (text < end && *text == '-'), *first = s;

	s = skip_digits(s, end);
	if (s == first)
		return NULL;
	if (*first == '0')
		s = first + 1;
	if (s < end && *s == '.') {
		first = s + 1;
		s = skip_digits(first, end);
		if (s == first)
			return NULL;
	}
	if (s < end && (*s | 0x20) == 'e') {
		s++;
		s += s < end && (*s == '-' || *s == '+');
		first = s;
		s = skip_digits(first, end);
		if (s == first)
			return NULL;
	}
	return s;
}

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static inline const char *skip_blanks(const char *s, const char *end)
{
	while (s < end && is_blank(*s))
		s++;
	return s;
}

/* Behind the comma at s and the blanks in front of it; NULL: there is no comma. */
static inline const char *next_number(const char *s, const char *end)
{
	s = skip_blanks(s, end);
	return s < end && *s == ',' ? s + 1 : NULL;
}

/* ---- one after the other ---- */

#define PLAIN_ONE(name, type, parse) \
	static const char *name(const char *p, const char *end, type *value) \
	{ \
		const char *q = nn_number_end(p, end); \
		return q && parse(p, (size_t)(q - p), value) ? q : NULL; \
	}

PLAIN_ONE(plain_one_f32, float, nn_parse_f32)
PLAIN_ONE(plain_one_f64, double, nn_parse_f64)

/* many: how many numbers are read from p on, each with the comma behind it, before `one` is asked.
 */
#define LIST(name, type, many, one) \
	static size_t name(const char **text, const char *end, type *values, size_t n) \
	{ \
		const char *p = *text, *last = p, *q; \
		size_t i = 0; \
		while (i < n) { \
			if (p - *text >= 16) \
				i += many(&p, &last, end, values + i, n - i); \
			if (i > 0) \
				p = skip_blanks(p, end); \
			if (i == n || !(q = one(p, end, &values[i]))) \
				break; \
			last = q; \
			i++; \
			p = next_number(q, end); \
			if (!p) \
				break; \
		} \
		*text = last; \
		return i; \
	}

#define NONE(p, last, end, values, n) 0
LIST(plain_list_f32, float, NONE, plain_one_f32)
LIST(plain_list_f64, double, NONE, plain_one_f64)

/* ---- vectors ---- */

#ifdef NN_WIDE
/* Is p[..q), which was read as digits with a sign and a point perhaps, a number of JSON that ends?
 */
static inline bool is_strict(const char *p, const char *q)
{
	p += *p == '-';
	return digit(*p) < 10 && (*p != '0' || digit(p[1]) > 9) && q[-1] != '.' &&
	       (*q | 0x20) != 'e' && digit(*q) > 9 && *q != '.';
}

#define WIDE_BYTES 40 /* what the vectors and is_strict look at */

NN_WIDE static const char *wide_one_f32(const char *p, const char *end, float *value)
{
	struct line_decimal d;
	const char *q;
	double v;

	if (end - p < WIDE_BYTES)
		return plain_one_f32(p, end, value);
	q = short_wide(p, &v);
	if (q && !near_tie(v, 0)) {
		*value = (float)v;
		return is_strict(p, q) ? q : plain_one_f32(p, end, value);
	}
	q = long_wide(p, &d);
	return q && is_strict(p, q) && decimal_f32(&d, value) ? q : plain_one_f32(p, end, value);
}

NN_WIDE static const char *wide_one_f64(const char *p, const char *end, double *value)
{
	const char *q = end - p < WIDE_BYTES ? NULL : short_wide(p, value);

	return q && is_strict(p, q) ? q : plain_one_f64(p, end, value);
}

NN_WIDE static inline bool ended_f32(const char *p, const char *q, float *value)
{
	static const float signs[] = { 1, -1 };
	bool minus = *p == '-';
	struct line_decimal d;
	double v;

	if (ended_wide(p + minus, q, &v) && !near_tie(v, 0)) {
		*value = (float)v * signs[minus];
		return true;
	}
	return long_wide(p, &d) == q && is_strict(p, q) && decimal_f32(&d, value);
}

NN_WIDE static inline bool ended_f64(const char *p, const char *q, double *value)
{
	bool minus = *p == '-';

	if (!ended_wide(p + minus, q, value))
		return false;
	*value = signed_value(minus, *value);
	return true;
}

/*
 * Commas are found first, 64 bytes at once: so the CPU is at several numbers at a time, while
 * number after number each would wait for the end of the one before. A blank in front is allowed.
 * Sixteen bytes before *text may be read.
 */
#define MANY(name, type, ended) \
	NN_WIDE static inline size_t name(const char **text, const char **last, const char *end, \
					  type *values, size_t n) \
	{ \
		const char *p = *text, *block = p, *q; \
		size_t i = 0; \
		for (; end - block >= 64 + WIDE_BYTES; block += 64) \
			for (uint64_t mask = commas_wide(block); mask; mask &= mask - 1) { \
				q = block + __builtin_ctzll(mask); \
				if (__builtin_expect(*p == ' ', 0)) \
					p++; \
				if (i == n || !ended(p, q, &values[i])) \
					return i; \
				i++; \
				*last = q; \
				*text = p = q + 1; \
			} \
		return i; \
	}

MANY(many_f32, float, ended_f32)
MANY(many_f64, double, ended_f64)
NN_WIDE LIST(wide_list_f32, float, many_f32, wide_one_f32)
NN_WIDE LIST(wide_list_f64, double, many_f64, wide_one_f64)
#else
#define wide_list_f32 plain_list_f32
#define wide_list_f64 plain_list_f64
#endif

size_t nn_parse_list_f32(const char **text, const char *end, float *values, size_t n)
{
	return (has_wide() ? wide_list_f32 : plain_list_f32)(text, end, values, n);
}

size_t nn_parse_list_f64(const char **text, const char *end, double *values, size_t n)
{
	return (has_wide() ? wide_list_f64 : plain_list_f64)(text, end, values, n);
}
