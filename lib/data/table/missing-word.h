/* Fields that say there is no value: what R, pandas and the archives of the web write. */
#ifndef NN_DATA_MISSING_WORD_H
#define NN_DATA_MISSING_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Blanks around a field are no part of a number, nor of what says that it is missing. */
static inline void nn_trim(const char **text, size_t *n)
{
	while (*n && (**text == ' ' || **text == '\t'))
		++*text, --*n;
	while (*n && ((*text)[*n - 1] == ' ' || (*text)[*n - 1] == '\t'))
		--*n;
}

/* Nothing but blanks, and the end of a line of other systems. */
static inline bool nn_is_blank(const char *text, size_t n)
{
	if (n && text[n - 1] == '\r')
		n--;
	nn_trim(&text, &n);
	return n == 0;
}

/* Blank, or a comment: # and what follows it. */
static inline bool nn_is_comment(const char *text, size_t n)
{
	nn_trim(&text, &n);
	return n == 0 || *text == '#' || nn_is_blank(text, n);
}

/* Nothing, NA, N/A, NaN, nan, null, NULL, ?, blanks around them or not. */
static inline bool nn_says_missing(const char *text, size_t n)
{
	static const char *const words[] = { "NA", "N/A", "NaN", "nan", "null", "NULL", "?" };

	nn_trim(&text, &n);
	if (n == 0)
		return true;
	if (n > 4 || (*text != 'N' && *text != 'n' && *text != '?'))
		return false;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i]) == n && memcmp(words[i], text, n) == 0)
			return true;
	return false;
}

#endif
