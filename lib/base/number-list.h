/* Numbers of JSON: how they are written, and lists of them, many at once. */
#ifndef NN_BASE_NUMBER_LIST_H
#define NN_BASE_NUMBER_LIST_H

#include <stddef.h>

/*
 * Where the number ends that text begins with, as RFC 8259 has it: -?(0|[1-9][0-9]*), a fraction,
 * an exponent. NULL: it begins with something else. What follows may be anything.
 */
const char *nn_number_end(const char *text, const char *end);

/*
 * Up to n such numbers from *text on, commas and blanks between them. Stops before what is not
 * a number, or is one beyond the type. Returns how many values there are, each correctly rounded,
 * once; *text is right behind the last number. Nothing beyond `end` is read.
 */
size_t nn_parse_list_f32(const char **text, const char *end, float *values, size_t n);
size_t nn_parse_list_f64(const char **text, const char *end, double *values, size_t n);

#endif
