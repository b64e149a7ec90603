/* Measurements in ascending order, and the one in the middle. */
#ifndef NN_BASE_MEDIAN_H
#define NN_BASE_MEDIAN_H

#include <stddef.h>

/* No NaN among them. */
void nn_sort(double *values, size_t n);
/*
 * The values are sorted in place; of an even number the larger one of the middle. n is 1 at least.
 */
double nn_median(double *values, size_t n);

#endif
