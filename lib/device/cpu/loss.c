/* Losses row by row. */
#include "device/cpu/kernels.h"
#include "device/cpu/loss.h"

static void rows_piece(void *arg, size_t begin, size_t end, int thread)
{
	(void)thread;
	for (size_t r = begin; r < end; r++)
		row_loss(arg, r);
}

void NN_K(loss)(const struct nn_loss_call *call)
{
	nn_cpu_split(call->pool, call->rows, 1, 64 * sizeof(real) * call->positions * call->columns,
		     rows_piece, (void *)call);
}
