/*
 * Numbers of an update that follow from others: clipping, trust ratios, and whether a loss is
 * finite.
 */
#include <math.h>

#include "device/cpu/kernels.h"
#include "device/cpu/sum.h"
#include "device/ratio.h"

/* To the length call->most of the whole gradient, whose squares are added in the program's order.
 */
void NN_K(clip)(const struct nn_clip_call *call)
{
	real *squares = call->work;
	struct nn_sum_pair pair = { squares, squares };
	size_t n = 0;
	double clip;
	for (size_t p = 0; p < call->n; p++)
		if (call->role[p] != NN_BUFFER)
			squares[n++] = (real)call->squares[p];
	*call->norm = sqrt((double)v_sum(v_term_value, &pair, n));
	clip = call->most / (*call->norm + 1e-6);
	if (call->most > 0 && clip < 1)
		call->now->clip = clip;
}

void NN_K(ratio)(const struct nn_ratio_call *call)
{
	static double (*const ratios[NN_N_OPTIMIZERS])(double w, double g, double decay) = {
#define NN_OPTIMIZER(ID, id, lr, weight_decay, eps, slots, ratio, ...) ratio,
#include "device/optimizers.def"
	};
	for (size_t p = 0; p < call->n; p++) {
		double w = sqrt(call->w[p]), g = sqrt(call->g[p]);
		bool scaled = call->role[p] == NN_WEIGHT || call->role[p] == NN_ROW_TABLE;
		if (!call->along)
			g *= call->now->clip;
		call->ratio[p] = scaled ? ratios[call->kind](w, g, call->weight_decay) : 1;
	}
}

void NN_K(hold)(struct nn_queue *queue, const double *losses, size_t step, size_t n,
		struct nn_now *now)
{
	real stack[64];
	int depth = 0;
	(void)queue;
	for (size_t i = 0; i < n; i++) {
		real sum = (real)losses[i * step];
		for (size_t node = i; node & 1; node >>= 1)
			sum = stack[--depth] + sum;
		stack[depth++] = sum;
	}
	if (!isfinite(stack[0]))
		now->hold = 1;
}
