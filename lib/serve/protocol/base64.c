/* Padding may be left away, as some clients do; nothing else may. */
#include <stdint.h>
#include <string.h>

#include "serve/protocol/base64.h"

/* The six bits of a character; 64: it has none. */
static unsigned bits_of(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (unsigned)(at - digits) : 64;
}

bool nn_base64_decode(const char *text, size_t n, char *bytes, size_t *n_bytes)
{
	uint32_t group = 0;

	*n_bytes = 0;
	if (n % 4 == 0 && n > 0 && text[n - 1] == '=')
		n -= text[n - 2] == '=' ? 2 : 1;
	if (n % 4 == 1)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned bits = bits_of(text[i]);

		if (bits == 64)
			return false;
		group = group << 6 | bits;
		if (i % 4 > 0) /* 2, 4 and 6 bits of the next byte are left */
			bytes[(*n_bytes)++] = (char)(group >> (6 - i % 4 * 2) & 0xff);
	}
	return true;
}
