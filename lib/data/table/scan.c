/* Which unusual bytes a text holds: one pass that compilers turn into vectors. */
#include "base/wide.h"
#include "data/table/scan.h"

#define LANES 64

/* Byte and the one after it: anything that is looked for? */
static inline unsigned char is_odd(unsigned char c, unsigned char next)
{
	return (unsigned char)((c == '"') | (c == 0) | (c & 0x80) | ((c == '\r') & (next != '\n')));
}

/* The same of s[n + 1], one answer. */
NN_WIDE(unsigned char, any_odd, (const unsigned char *s, size_t n), (s, n))
{
	unsigned char lane[LANES] = { 0 }, any = 0;
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (size_t k = 0; k < LANES; k++)
			lane[k] |= is_odd(s[i + k], s[i + k + 1]);
	for (size_t k = 0; k < LANES; k++)
		any |= lane[k];
	for (; i < n; i++)
		any |= is_odd(s[i], s[i + 1]);
	return any;
}

bool nn_csv_clean(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;

	return n == 0 || (!any_odd(s, n - 1) && !is_odd(s[n - 1], '\n'));
}

NN_WIDE(unsigned, scan, (const unsigned char *s, size_t n), (s, n))
{
	unsigned char quote = 0, nul = 0, high = 0, cr = 0;

	for (size_t i = 0; i < n; i++) {
		quote |= s[i] == '"';
		nul |= s[i] == 0;
		high |= s[i] & 0x80;
	}
	for (size_t i = 1; i < n; i++)
		cr |= (s[i - 1] == '\r') & (s[i] != '\n');
	return (quote ? NN_SCAN_QUOTE : 0) | (cr ? NN_SCAN_CR : 0) | (nul ? NN_SCAN_NUL : 0) |
	       (high ? NN_SCAN_HIGH : 0);
}

unsigned nn_csv_scan(const char *text, size_t n)
{
	return nn_csv_clean(text, n) ? 0 : scan((const unsigned char *)text, n);
}
