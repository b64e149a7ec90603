/* Measurements in ascending order, and the one in the middle. */
#include <stdlib.h>

#include "base/median.h"

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void nn_sort(double *values, size_t n)
{
	qsort(values, n, sizeof *values, by_value);
}

double nn_median(double *values, size_t n)
{
	nn_sort(values, n);
	return values[n / 2];
}
