/* Sequences: a thread for each score, value or unit; its chains. */
#include "device/cpu/softmax.h"
#include "device/cuda/product/panels.h"

/* ---- attention ---- */

/* An array of a head of the batch, from its first value on. */
NN_INLINE const real *head_at(const struct nn_attention_args *a, const real *array, size_t row,
			      size_t piece)
{
	size_t head = a->first + piece;
	return array + head / a->heads * a->t * row + head % a->heads * a->size;
}

/* Positions of the row that a head belongs to. */
NN_INLINE size_t length_of(const struct nn_attention_args *a, size_t piece)
{
	return a->lengths ? a->lengths[(a->first + piece) / a->heads] : a->t;
}

/* Positions that q attends to; those behind the row's to none. */
NN_INLINE size_t attended(const struct nn_attention_args *a, size_t piece, size_t q)
{
	size_t length = length_of(a, piece);
	return q >= length ? 0 : a->causal ? q + 1 : length;
}

NN_MAP(attention_pairs, struct nn_attention_args)
{
	size_t k = i % a->t, q = i / a->t % a->t, piece = i / a->t / a->t;
	const real *x = head_at(a, a->a, a->a_row, piece) + q * a->a_row,
		   *w = head_at(a, a->b, a->b_row, piece) + k * a->b_row;
	real sum = 0;
	if (k >= attended(a, piece, q))
		return;
	for (size_t j = 0; j < a->size; j++)
		sum = r_fma(x[j], v_mul(w[j], a->scale), sum);
	a->score[i] = sum;
}

NN_MAP(attention_weigh, struct nn_attention_args)
{
	real *score = a->score + i * a->t;
	size_t n = attended(a, i / a->t, i % a->t);
	if (n > 0)
		v_softmax(score, score, n);
}

NN_MAP(attention_back, struct nn_attention_args)
{
	real *slope = a->score + i * a->t;
	size_t n = attended(a, i / a->t, i % a->t);
	if (n > 0)
		v_softmax_back(a->a + i * a->t, slope, slope, n, false);
}

NN_MAP(attention_mix, struct nn_attention_args)
{
	size_t k = i % a->size, q = i / a->size % a->t, piece = i / a->size / a->t;
	const real *b = head_at(a, a->b, a->b_row, piece) + k,
		   *score = a->score + piece * a->t * a->t + (a->turned ? q : q * a->t);
	size_t n = attended(a, piece, q), begin = a->turned && a->causal ? q : 0,
	       end = a->turned && n > 0 ? length_of(a, piece) : n, step = a->turned ? a->t : 1;
	real sum = 0;
	for (size_t j = begin; j < end; j++)
		sum = r_fma(score[j * step], v_mul(b[j * a->b_row], a->scale), sum);
	nn_put((real *)head_at(a, a->to, a->to_row, piece) + q * a->to_row + k, v_mul(sum, a->out),
	       a->add);
}

/* ---- attention of a step, which what came before has left its keys and values to ---- */

/* Key `t` of a row and head; values lie behind the keys. */
NN_INLINE real *kept_at(const struct nn_attention_args *a, size_t row, size_t head, bool value,
			size_t t)
{
	size_t all = a->heads * a->size;
	return a->state + ((2 * row + value) * a->t + t) * all + head * a->size;
}

NN_MAP(attention_keep, struct nn_attention_args)
{
	size_t all = a->heads * a->size, row = i / all, at = i % all;
	const real *x = a->a + row * 3 * all;
	kept_at(a, row, 0, false, a->now)[at] = v_mul(x[all + at], a->scale);
	kept_at(a, row, 0, true, a->now)[at] = x[2 * all + at];
}

NN_MAP(attention_step, struct nn_attention_args)
{
	size_t k = i % (a->now + 1), piece = i / (a->now + 1), row = piece / a->heads,
	       head = piece % a->heads;
	const real *x = a->a + (row * 3 * a->heads + head) * a->size,
		   *w = kept_at(a, row, head, false, k);
	real sum = 0;
	for (size_t j = 0; j < a->size; j++)
		sum = r_fma(x[j], w[j], sum);
	a->score[piece * a->t + k] = sum;
}

NN_MAP(attention_step_weigh, struct nn_attention_args)
{
	v_softmax(a->score + i * a->t, a->score + i * a->t, a->now + 1);
}

NN_MAP(attention_step_mix, struct nn_attention_args)
{
	size_t k = i % a->size, piece = i / a->size, row = piece / a->heads;
	real sum = 0;
	for (size_t j = 0; j <= a->now; j++)
		sum = r_fma(a->score[piece * a->t + j],
			    kept_at(a, row, piece % a->heads, true, j)[k], sum);
	a->to[i] = sum;
}

/* ---- recurrent ---- */

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
