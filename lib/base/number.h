/* Numbers as text, in the C locale whatever the environment says. */
#ifndef NN_BASE_NUMBER_H
#define NN_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NN_NUMBER 32 /* bytes that any number fits in */

/*
 * The fewest digits that read back to the same value in its own type; "-0", "nan", "inf", "-inf".
 * Returns the length; buffer holds NN_NUMBER bytes and is NUL-terminated.
 */
size_t nn_format_f32(char *buffer, float value);
size_t nn_format_f64(char *buffer, double value);
/* Of an f32 where the value is one, else of an f64: for messages on values of either type. */
size_t nn_format_real(char *buffer, double value);
size_t nn_format_u64(char *buffer, uint64_t value);
/*
 * As printf's %.6g where that reads back, else as its %.9g, with .0 behind a whole number that has
 * no exponent; NaN, Infinity, -Infinity: what TensorFlow Serving writes.
 */
size_t nn_format_f32_g(char *buffer, float value);

/*
 * [+-]?digits[.digits][(e|E)[+-]?digits] with a leading or trailing point allowed, correctly
 * rounded; all n bytes must belong to it. Overflow gives false with *value = +-inf, underflow 0 or
 * a subnormal. No hex, inf, nan, blanks.
 */
bool nn_parse_f64(const char *text, size_t n, double *value);
bool nn_parse_f32(const char *text, size_t n, float *value); /* rounded once, to f32 */

/* Decimal digits only; false on anything else or overflow. */
bool nn_parse_u64(const char *text, size_t n, uint64_t *value);
/* [+-]?digits */
bool nn_parse_i64(const char *text, size_t n, int64_t *value);
/* digits with an optional K M G T (1024) / s m h suffix; times in seconds may have a fraction. */
bool nn_parse_size(const char *text, size_t n, uint64_t *bytes);
bool nn_parse_seconds(const char *text, size_t n, double *seconds);

/*
 * A list of N and FIRST:LAST*FACTOR, separated by commas, into values[room]: how many, or what is
 * wrong. Numbers are 1 to most, a factor is at least 2.
 */
struct nn_ranges {
	bool (*parse)(const char *text, size_t n, uint64_t *value); /* nn_parse_u64, _size */
	uint64_t most;
	uint64_t factor; /* where none is written; 0: it has to be */
};
enum { NN_RANGES_WRONG = -1, NN_RANGES_MOST = -2, NN_RANGES_ROOM = -3 };
int nn_parse_ranges(const char *list, const struct nn_ranges *ranges, size_t *values, int room);

#endif
