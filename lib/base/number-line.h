/*
 * Numbers of a line of text, many at once: the common ones exactly and fast, the others are left to
 * nn_parse.
 */
#ifndef NN_BASE_NUMBER_LINE_H
#define NN_BASE_NUMBER_LINE_H

#include <stddef.h>

/* Bytes after the end of a line that may be read (their values do not matter). */
#define NN_LINE_PAD 64

/*
 * Up to n fields from *text on, each ended by `separator` or by `end`, where a byte lies that no
 * number has in it. Stops before a field that is not a simple number, which is left to the
 * caller. Returns how many values there are, each correctly rounded, once; *text is
 * where the next field begins, end + 1 after the last.
 */
size_t nn_parse_line_f32(const char **text, const char *end, char separator, float *values,
			 size_t n);
size_t nn_parse_line_f64(const char **text, const char *end, char separator, double *values,
			 size_t n);

#endif
