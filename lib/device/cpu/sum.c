/* Sums over arrays: nn_sum of values and of squares. */
#include "device/cpu/sum.h"
#include "device/cpu/kernels.h"

double NN_K(sum)(const void *values, size_t n)
{
	struct nn_sum_pair pair = { values, values };
	return (double)v_sum(v_term_value, &pair, n);
}

double NN_K(sum_squares)(const void *values, size_t n)
{
	struct nn_sum_pair pair = { values, values };
	return (double)v_sum(v_term_product, &pair, n);
}
