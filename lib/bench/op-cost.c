/* What a pass over a trial costs at least: floating-point operations, and bytes to and from memory.
 */
#include <math.h>

#include "bench/op-trial.h"

static size_t real_size(const struct nn_op_trial *t)
{
	return nn_dtype_size(t->device->dtype);
}

static size_t in_values(const struct nn_op_trial *t, int j)
{
	return t->rows * nn_shape_count(&t->site.in[j]);
}

/* Pairs of an output and a tap that lie inside the image, along one side. */
static double taps_inside(size_t in, size_t kernel, size_t stride, size_t pad, size_t dilation)
{
	size_t out = (in + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
	double n = 0;

	for (size_t k = 0; k < kernel; k++)
		for (size_t o = 0; o < out; o++)
			n += o * stride + k * dilation - pad < in;
	return n;
}

static double conv_flop(const struct nn_op_trial *t)
{
	const struct nn_conv2d *c = t->site.attrs;
	const size_t *d = t->site.in[0].dim;

	return 2 * taps_inside(d[1], c->kernel[0], c->stride[0], c->pad[0], c->dilation[0]) *
	       taps_inside(d[2], c->kernel[1], c->stride[1], c->pad[1], c->dilation[1]) *
	       (double)(d[0] / c->groups) * (double)c->out;
}

double nn_op_trial_flop(const struct nn_op_trial *t, bool backward)
{
	const struct nn_op *op = nn_ops[t->op];
	bool product = t->op == NN_OP_dense || t->op == NN_OP_conv2d;
	double flop = t->op == NN_OP_conv2d ? conv_flop(t)
		      : op->flops ? (double)op->flops(t->site.attrs, t->site.in, t->site.n_in,
						      &t->site.out)
				  : (double)t->out_size;

	if (backward)
		flop *= product ? 1 + t->site.want_dx : 0;
	return flop * (double)t->rows;
}

static double in_bytes(const struct nn_op_trial *t)
{
	double n = 0;

	for (int j = 0; j < t->site.n_in; j++)
		n += (double)in_values(t, j);
	return n * (double)real_size(t);
}

/* Of a table the rows that are asked for. */
static double param_bytes(const struct nn_op_trial *t)
{
	double n = 0;

	for (int p = 0; p < t->n_params; p++)
		n += t->params[p].role == NN_ROW_TABLE
			     ? fmin((double)nn_shape_count(&t->params[p].shape),
				    (double)in_values(t, 0) * (double)t->params[p].shape.dim[1])
			     : (double)nn_shape_count(&t->params[p].shape);
	return n * (double)real_size(t);
}

double nn_op_trial_bytes(const struct nn_op_trial *t, bool backward)
{
	const struct nn_op *op = nn_ops[t->op];
	unsigned needs = op->needs ? op->needs(t->site.attrs) : op->flags;
	double in = in_bytes(t), out = (double)(t->rows * t->out_size * real_size(t)),
	       first = (double)(in_values(t, 0) * real_size(t));

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
			(NN_OP_TRIAL_SETS - 1) * (backward ? out : in_bytes(t)));
}
