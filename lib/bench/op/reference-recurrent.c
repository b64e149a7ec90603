/* The recurrent layers as plain loops in double. */
#include <math.h>

#include "base/memory.h"
#include "bench/op/reference.h"

/* W x + b of row `of` of a recurrent layer's weights: param 0 of the input, 1 of the state. */
static double gate_sum(const struct nn_reference *r, int param, size_t of, const double *x,
		       size_t n)
{
	const struct nn_recurrent *a = r->site->attrs;
	double sum = a->bias ? r->w[2 + param][of] : 0;
	for (size_t k = 0; x && k < n; k++)
		sum += r->w[param][of * n + k] * x[k];
	return sum;
}

static double sigmoid_of(double x)
{
	return nn_reference_activation(NN_ACT_SIGMOID, 0, x);
}

/* Unit j at a step whose values are x; h: the state before, or NULL; *c: of the unit. */
static double recurrent_unit(const struct nn_reference *r, size_t j, const double *x,
			     const double *h, double *c)
{
	const struct nn_recurrent *a = r->site->attrs;
	size_t in = r->site->in[0].dim[1], n = a->units;
	double of_x[4] = { 0 }, of_h[4] = { 0 };
	for (size_t g = 0; g < nn_cell_gates(a->cell); g++) {
		of_x[g] = gate_sum(r, 0, g * n + j, x, in);
		of_h[g] = gate_sum(r, 1, g * n + j, h, n);
	}
	if (a->cell == NN_CELL_RNN)
		return tanh(of_x[0] + of_h[0]);
	if (a->cell == NN_CELL_RNN_RELU)
		return fmax(of_x[0] + of_h[0], 0);
	if (a->cell == NN_CELL_GRU) {
		double reset = sigmoid_of(of_x[0] + of_h[0]), z = sigmoid_of(of_x[1] + of_h[1]);
		return (1 - z) * tanh(of_x[2] + reset * of_h[2]) + z * (h ? h[j] : 0);
	}
	*c = sigmoid_of(of_x[1] + of_h[1]) * *c +
	     sigmoid_of(of_x[0] + of_h[0]) * tanh(of_x[2] + of_h[2]);
	return sigmoid_of(of_x[3] + of_h[3]) * tanh(*c);
}

void nn_reference_recurrent(const struct nn_reference *r)
{
	const struct nn_recurrent *a = r->site->attrs;
	size_t steps = r->site->in[0].dim[0], in = r->site->in[0].dim[1], n = a->units;
	double *cells = nn_alloc(r->rows * n + 1, sizeof *cells, NULL);
	for (size_t i = 0; cells && i < r->rows * steps; i++) {
		size_t row = i / steps, t = a->reverse ? steps - 1 - i % steps : i % steps;
		double *y = r->y + (row * steps + t) * n;
		for (size_t j = 0; j < n; j++)
			y[j] = recurrent_unit(r, j, r->x[0] + (row * steps + t) * in,
					      i % steps == 0 ? NULL
					      : a->reverse   ? y + n
							     : y - n,
					      &cells[row * n + j]);
	}
	for (size_t i = 0; !cells && i < r->rows * steps * n; i++)
		r->y[i] = NAN;
	nn_free(cells);
}
