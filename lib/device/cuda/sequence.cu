/* Recurrent layers: a thread for each unit of a row. */
#include "device/cpu/vec/math.h"
#include "device/cuda/phase.h"

/* What the state adds to the sum of gate `gate` of unit j: `of` the products, NULL: it is zero. */
NN_INLINE real state_sum(const struct nn_recurrent_args *a, const real *of, size_t gate, size_t j)
{
	size_t o = gate * a->units + j;
	return of ? of[o] : a->bias ? a->bias[o] : 0;
}

NN_INLINE real lstm_step(const struct nn_recurrent_args *a, const real *x, const real *of, size_t j,
			 real *c, real *gates)
{
	size_t n = a->units;
	real in = v_sigmoid(v_add(x[j], state_sum(a, of, 0, j))),
	     f = v_sigmoid(v_add(x[n + j], state_sum(a, of, 1, j))),
	     g = v_tanh(v_add(x[2 * n + j], state_sum(a, of, 2, j))),
	     o = v_sigmoid(v_add(x[3 * n + j], state_sum(a, of, 3, j)));
	*c = v_cut(v_fma(f, *c, v_mul(in, g)));
	if (gates) {
		gates[j] = in;
		gates[n + j] = f;
		gates[2 * n + j] = g;
		gates[3 * n + j] = o;
	}
	return v_mul(o, v_tanh(*c));
}

NN_INLINE real gru_step(const struct nn_recurrent_args *a, const real *x, const real *of,
			const real *h, size_t j, real *gates)
{
	size_t n = a->units;
	real r = v_sigmoid(v_add(x[j], state_sum(a, of, 0, j))),
	     z = v_sigmoid(v_add(x[n + j], state_sum(a, of, 1, j))), of_h = state_sum(a, of, 2, j),
	     m = v_tanh(v_fma(r, of_h, x[2 * n + j]));
	if (gates) {
		gates[j] = r;
		gates[n + j] = z;
		gates[2 * n + j] = m;
		gates[3 * n + j] = of_h;
	}
	return v_cut(v_fma(z, v_sub(h ? h[j] : 0, m), m));
}

NN_INLINE bool has_step(const struct nn_recurrent_args *a, size_t row)
{
	return !a->lengths || a->t < a->lengths[row];
}

/* What a row goes on with: its output, of lstm its cells; NULL: it begins here. */
NN_INLINE real *state_of(const struct nn_recurrent_args *a, size_t row)
{
	return a->state ? a->state + row * (a->cell == NN_CELL_LSTM ? 2 : 1) * a->units : NULL;
}

NN_MAP(recurrent, struct nn_recurrent_args)
{
	size_t row = i / a->units, j = i % a->units, at = row * a->steps + a->t;
	bool lstm = a->cell == NN_CELL_LSTM;
	const real *x = a->ahead + at * a->sums, *begin = state_of(a, row),
		   *h = a->at_first ? begin : a->y + (row * a->steps + a->earlier) * a->units;
	const real *of = h ? a->of_state + row * a->sums : NULL;
	real *gates = a->gates ? a->gates + at * a->kept : NULL, y = 0, c = 0;
	if (!a->at_first)
		c = a->c[i];
	else if (lstm && begin)
		c = begin[a->units + j];
	if (a->at_first && lstm && a->first_cells)
		a->first_cells[i] = c;
	if (!has_step(a, row)) {
		c = 0;
	} else if (lstm) {
		y = lstm_step(a, x, of, j, &c, gates);
	} else if (a->cell == NN_CELL_GRU) {
		y = gru_step(a, x, of, h, j, gates);
	} else {
		real sum = v_add(x[j], state_sum(a, of, 0, j));
		y = a->cell == NN_CELL_RNN ? v_tanh(sum) : v_select(v_le(sum, v_zero()), v_zero(), sum);
		if (gates)
			gates[j] = y;
	}
	if (a->before)
		a->before[at * a->units + j] = h ? h[j] : 0;
	if (a->before && lstm)
		a->cells[at * a->units + j] = c;
	a->c[i] = c;
	a->y[at * a->units + j] = y;
}

/* After the last step. */
NN_MAP(recurrent_keep, struct nn_recurrent_args)
{
	size_t row = i / a->units, j = i % a->units;
	real *state = state_of(a, row);
	state[j] = a->y[(row * a->steps + a->t) * a->units + j];
	if (a->cell == NN_CELL_LSTM)
		state[a->units + j] = a->c[i];
}

NN_INLINE real sigmoid_back(real y, real d)
{
	return v_mul(d, v_mul(y, v_sub(1, y)));
}

NN_INLINE real tanh_back(real y, real d)
{
	return v_mul(d, v_fnma(y, y, 1));
}

NN_INLINE void lstm_back(const struct nn_recurrent_args *a, size_t at, size_t row, size_t j, real dh,
			 real *dc, real *of)
{
	size_t n = a->units;
	const real *gates = a->gates + at * a->kept + j;
	real in = gates[0], f = gates[n], g = gates[2 * n], o = gates[3 * n],
	     shown = v_tanh(a->cells[at * n + j]),
	     c = !a->at_first ? a->cells[(row * a->steps + a->earlier) * n + j]
		 : a->state   ? a->first_cells[row * n + j]
			      : 0,
	     d = v_cut(v_add(*dc, tanh_back(shown, v_mul(dh, o))));
	of[0] = sigmoid_back(in, v_mul(d, g));
	of[n] = sigmoid_back(f, v_mul(d, c));
	of[2 * n] = tanh_back(g, v_mul(d, in));
	of[3 * n] = sigmoid_back(o, v_mul(dh, shown));
	*dc = v_mul(d, f);
}

/* What of the state before is kept passes by the products: it is what dh becomes. */
NN_INLINE real gru_back(const struct nn_recurrent_args *a, size_t at, size_t j, real dh, real *of_x,
			real *of_h)
{
	size_t n = a->units;
	const real *gates = a->gates + at * a->kept + j;
	real r = gates[0], z = gates[n], m = gates[2 * n], h = a->before[at * n + j],
	     dm = tanh_back(m, v_mul(dh, v_sub(1, z)));
	of_x[0] = of_h[0] = sigmoid_back(r, v_mul(dm, gates[3 * n]));
	of_x[n] = of_h[n] = sigmoid_back(z, v_mul(dh, v_sub(h, m)));
	of_x[2 * n] = dm;
	of_h[2 * n] = v_mul(dm, r);
	return v_mul(dh, z);
}

/* dh: towards the state, from the sums of the step behind it; of gru with what it keeps. */
NN_MAP(recurrent_back, struct nn_recurrent_args)
{
	size_t row = i / a->units, j = i % a->units, at = row * a->steps + a->t;
	real *of_x = a->of_x + at * a->sums + j, *of_h = a->of_h + at * a->sums + j,
	     dh = a->at_last ? 0 : a->dh[i], dc = a->at_last ? 0 : a->dc[i], kept = 0;
	dh = v_cut(v_add(a->dy[at * a->units + j], dh));
	if (!has_step(a, row)) {
		for (size_t o = 0; o < a->sums; o += a->units)
			of_x[o] = of_h[o] = 0;
		dc = 0;
	} else if (a->cell == NN_CELL_LSTM) {
		lstm_back(a, at, row, j, dh, &dc, of_x);
	} else if (a->cell == NN_CELL_GRU) {
		kept = gru_back(a, at, j, dh, of_x, of_h);
	} else {
		real y = a->gates[at * a->kept + j];
		of_x[0] = a->cell == NN_CELL_RNN ? tanh_back(y, dh)
						 : v_select(v_le(y, v_zero()), v_zero(), dh);
	}
	a->dh[i] = kept;
	a->dc[i] = dc;
}
