/* Which unusual bytes a line holds: one pass that compilers turn into vectors. */
#include "base/wide.h"
#include "data/csv.h"

NN_WIDE static unsigned scan(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned char quote = 0, cr = 0, nul = 0, high = 0;

	for (size_t i = 0; i < n; i++) {
		quote |= s[i] == '"';
		cr |= s[i] == '\r';
		nul |= s[i] == 0;
		high |= s[i];
	}
	return (quote ? NN_SCAN_QUOTE : 0) | (cr ? NN_SCAN_CR : 0) | (nul ? NN_SCAN_NUL : 0) |
	       (high & 0x80 ? NN_SCAN_HIGH : 0);
}

unsigned nn_csv_scan(const char *text, size_t n)
{
	return scan(text, n);
}
