/*
 * What a pass over a trial costs at least: floating-point operations, and bytes to and from memory.
 */
#include <math.h>

#include "bench/op/trial.h"

static size_t real_size(const struct nn_op_trial *t)
{
	return nn_dtype_size(t->device->dtype);
}

double nn_op_trial_flop(const struct nn_op_trial *t, bool backward)
{
	const struct nn_op *op = nn_ops[t->op];
	double flop = (double)(op->flops_inside ? op->flops_inside(t->site.attrs, t->site.in)
						: nn_op_flops(t->op, t->site.attrs, t->site.in,
							      t->site.n_in, &t->site.out));

	if (backward)
		flop *= op->product ? 1 + t->site.want_dx : 0;
	return flop * (double)t->rows;
}

static double in_bytes(const struct nn_op_trial *t)
{
	double n = 0;

	for (int j = 0; j < t->site.n_in; j++)
		n += (double)nn_op_trial_in(t, j);
	return n * (double)real_size(t);
}

/* Of a table the rows that are asked for. */
static double param_bytes(const struct nn_op_trial *t)
{
	double n = 0;

	for (int p = 0; p < t->n_params; p++)
		n += t->params[p].role == NN_ROW_TABLE
			     ? fmin((double)nn_shape_count(&t->params[p].shape),
				    (double)nn_op_trial_in(t, 0) *
					    (double)t->params[p].shape.dim[1])
			     : (double)nn_shape_count(&t->params[p].shape);
	return n * (double)real_size(t);
}

double nn_op_trial_bytes(const struct nn_op_trial *t, bool backward)
{
	unsigned needs = nn_op_needs(t->op, t->site.attrs);
	double in = in_bytes(t), out = (double)(t->rows * t->out_size * real_size(t)),
	       first = (double)(nn_op_trial_in(t, 0) * real_size(t));

	if (!backward)
		return in + param_bytes(t) + out;
	/* dy; x and y where they are needed; weights for dx; what is written: dx and dw */
	return out + (needs & NN_OP_NEEDS_X ? in : 0) + (needs & NN_OP_NEEDS_Y ? out : 0) +
	       (t->site.want_dx ? in + param_bytes(t) : in - first) + param_bytes(t);
}

size_t nn_op_trial_span(const struct nn_op_trial *t, bool backward)
{
	double out = (double)(t->rows * t->out_size * real_size(t));

	return (size_t)(nn_op_trial_bytes(t, backward) +
			(t->sets - 1) * (backward ? out : in_bytes(t)));
}
