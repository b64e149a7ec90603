/* Sums over arrays: nn_sum of values and of squares. */
#include "device/cpu/sum.h"
#include "device/cpu/kernels.h"

void NN_K(sum)(struct nn_queue *queue, const void *values, size_t n, double *result)
{
	struct nn_sum_pair pair = { values, values };
	(void)queue;
	*result = (double)v_sum(v_term_value, &pair, n);
}

void NN_K(sum_squares)(struct nn_queue *queue, const void *values, size_t n, double *result)
{
	struct nn_sum_pair pair = { values, values };
	(void)queue;
	*result = (double)v_sum(v_term_product, &pair, n);
}

void NN_K(sum_list_squares)(struct nn_queue *queue, const struct nn_row_list *list, double *result)
{
	NN_K(sum_squares)(queue, list->value, *list->n * list->width, result);
}
