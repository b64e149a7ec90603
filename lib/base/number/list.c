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

/* Behind the comma at s and the blanks around it; NULL: there is no comma. */
static inline const char *next_number(const char *s, const char *end)
{
	while (s < end && is_blank(*s))
		s++;
	if (s == end || *s != ',')
		return NULL;
	s++;
	while (s < end && is_blank(*s))
		s++;
	return s;
}

/* ---- lists ---- */

#define LIST(name, type, one, parse) \
	static size_t name(const char **text, const char *end, type *values, size_t n) \
	{ \
		const char *p = *text, *last = p, *q; \
		size_t i = 0; \
		while (i < n) { \
			q = one(p, end, &values[i]); \
			if (!q) { \
				q = nn_number_end(p, end); \
				if (!q || !parse(p, (size_t)(q - p), &values[i])) \
					break; \
			} \
			last = q; \
			i++; \
			p = next_number(q, end); \
			if (!p) \
				break; \
		} \
		*text = last; \
		return i; \
	}

#define NO_VECTOR(p, end, value) NULL
LIST(plain_list_f32, float, NO_VECTOR, nn_parse_f32)
LIST(plain_list_f64, double, NO_VECTOR, nn_parse_f64)

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

NN_WIDE static inline const char *wide_one_f32(const char *p, const char *end, float *value)
{
	struct line_decimal d;
	const char *q;
	double v;

	if (end - p < WIDE_BYTES)
		return NULL;
	q = short_wide(p, &v);
	if (q && !near_tie(v, 0)) {
		*value = (float)v;
		return is_strict(p, q) ? q : NULL;
	}
	q = long_wide(p, &d);
	return q && is_strict(p, q) && decimal_f32(&d, value) ? q : NULL;
}

NN_WIDE static inline const char *wide_one_f64(const char *p, const char *end, double *value)
{
	const char *q = end - p < WIDE_BYTES ? NULL : short_wide(p, value);

	return q && is_strict(p, q) ? q : NULL;
}

NN_WIDE LIST(wide_list_f32, float, wide_one_f32, nn_parse_f32)
NN_WIDE LIST(wide_list_f64, double, wide_one_f64, nn_parse_f64)
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
