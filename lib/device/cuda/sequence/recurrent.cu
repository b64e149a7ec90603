/*
 * Steps of recurrent layers: a unit of a row is a thread's. Where rows are few the kernel has the
 * product that the step needs, too.
 */
#include "device/cpu/vec/math.h"
#include "device/cuda/product/tiny.h"
#include "device/cuda/sequence/recurrent.h"

#define NN_GATES 4 /* at most */

NN_INLINE unsigned gates_of(const struct nn_recurrent_args *a)
{
	return a->cell == NN_CELL_LSTM ? 4 : a->cell == NN_CELL_GRU ? 3 : 1;
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

NN_INLINE bool has_state(const struct nn_recurrent_args *a)
{
	return !a->at_first || a->state;
}

/* ---- forward ---- */

/*
 * What unit j of a row begins the step with: by gate the input's sum, and of the state's its bias,
 * where there is one; its cell, its output.
 */
struct unit {
	real x[NN_GATES], of[NN_GATES], c, h;
};

NN_INLINE struct unit unit_of(const struct nn_recurrent_args *a, size_t row, size_t j)
{
	const size_t n = a->units;
	const real *x = a->ahead + (row * a->steps + a->t) * a->sums + j, *begin = state_of(a, row);
	struct unit u;
	NN_UNROLL
	for (unsigned g = 0; g < NN_GATES; g++) {
		u.x[g] = g < gates_of(a) ? x[g * n] : 0;
		u.of[g] = a->bias && g < gates_of(a) ? a->bias[g * n + j] : 0;
	}
	u.h = !a->at_first ? a->y[(row * a->steps + a->earlier) * n + j] : begin ? begin[j] : 0;
	u.c = !a->at_first                       ? a->c[row * n + j]
	      : begin && a->cell == NN_CELL_LSTM ? begin[n + j]
						 : 0;
	return u;
}

NN_INLINE real lstm_step(const struct nn_recurrent_args *a, struct unit *u, real *gates)
{
	real in = v_sigmoid(v_add(u->x[0], u->of[0])), f = v_sigmoid(v_add(u->x[1], u->of[1])),
	     g = v_tanh(v_add(u->x[2], u->of[2])), o = v_sigmoid(v_add(u->x[3], u->of[3]));
	u->c = v_cut(v_fma(f, u->c, v_mul(in, g)));
	if (gates) {
		gates[0] = in;
		gates[a->units] = f;
		gates[2 * a->units] = g;
		gates[3 * a->units] = o;
	}
	return v_mul(o, v_tanh(u->c));
}

NN_INLINE real gru_step(const struct nn_recurrent_args *a, const struct unit *u, real *gates)
{
	real r = v_sigmoid(v_add(u->x[0], u->of[0])), z = v_sigmoid(v_add(u->x[1], u->of[1])),
	     m = v_tanh(v_fma(r, u->of[2], u->x[2]));
	if (gates) {
		gates[0] = r;
		gates[a->units] = z;
		gates[2 * a->units] = m;
		gates[3 * a->units] = u->of[2];
	}
	return v_cut(v_fma(z, v_sub(u->h, m), m));
}

NN_INLINE real rnn_step(const struct nn_recurrent_args *a, const struct unit *u, real *gates)
{
	real sum = v_add(u->x[0], u->of[0]),
	     y = a->cell == NN_CELL_RNN ? v_tanh(sum)
					: v_select(v_le(sum, v_zero()), v_zero(), sum);
	if (gates)
		gates[0] = y;
	return y;
}

/* The step of unit j of a row, whose sums of the state are there. */
NN_INLINE void step_unit(const struct nn_recurrent_args *a, size_t row, size_t j, struct unit *u)
{
	const size_t at = row * a->steps + a->t, i = row * a->units + j;
	const bool lstm = a->cell == NN_CELL_LSTM;
	real *gates = a->gates ? a->gates + at * a->kept + j : NULL, y = 0;
	if (a->at_first && lstm && a->first_cells)
		a->first_cells[i] = u->c;
	if (!has_step(a, row))
		u->c = 0;
	else if (lstm)
		y = lstm_step(a, u, gates);
	else if (a->cell == NN_CELL_GRU)
		y = gru_step(a, u, gates);
	else
		y = rnn_step(a, u, gates);
	if (a->before)
		a->before[at * a->units + j] = u->h;
	if (a->before && lstm)
		a->cells[at * a->units + j] = u->c;
	a->c[i] = u->c;
	a->y[at * a->units + j] = y;
}

NN_MAP(recurrent, struct nn_recurrent_args)
{
	const size_t row = i / a->units, j = i % a->units;
	struct unit u = unit_of(a, row, j);
	NN_UNROLL
	for (unsigned g = 0; g < NN_GATES; g++)
		if (has_state(a) && g < gates_of(a))
			u.of[g] = a->of_state[row * a->sums + g * a->units + j];
	step_unit(a, row, j, &u);
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

/* ---- the same with its product: a block's channels are gates of NN_STEP_UNITS units ---- */

struct step_room {
	struct tiny tiny;
	real sum[NN_TINY_ROWS][NN_TINY_CHANNELS];
};

struct step_sums {
	struct tiny_sum tiny;
	struct unit unit;
};

/* A unit of a row for each of the first threads. */
NN_INLINE bool has_unit(struct nn_spot p, const struct step_sums *r)
{
	return p.thread / NN_STEP_UNITS < r->tiny.rows;
}

NN_INLINE void begin_step(const struct nn_recurrent_step_args *a, struct nn_spot p,
			  struct step_room *s, struct step_sums *r)
{
	const struct nn_conv *c = &a->t.p.c;
	const uint32_t across = (uint32_t)(a->r.units / NN_STEP_UNITS),
		       down = (uint32_t)p.block / across,
		       at = p.thread % (NN_TINY_CHANNELS / NN_WIDE) * NN_WIDE,
		       gate = at / NN_STEP_UNITS;
	r->tiny.m = (size_t)down * NN_TINY_ROWS;
	r->tiny.n = ((uint32_t)p.block - down * across) * NN_STEP_UNITS;
	r->tiny.w.w = NULL;
	if (gate < gates_of(&a->r))
		r->tiny.w =
			column_of(a->t.p.w, 0, gate * a->r.units + r->tiny.n + at % NN_STEP_UNITS,
				  c->cout, c->cin);
	start_tiny(&a->t, p, &s->tiny, &r->tiny, false);
	if (has_unit(p, r))
		r->unit = unit_of(&a->r, r->tiny.m + p.thread / NN_STEP_UNITS,
				  r->tiny.n + p.thread % NN_STEP_UNITS);
	if (!tiny_adds(p))
		NN_COPIED(NN_TINY_TURNS - 2);
}

NN_INLINE void turn_step(const struct nn_recurrent_step_args *a, struct nn_spot p,
			 struct step_room *s, struct step_sums *r, bool input, size_t d,
			 unsigned turn)
{
	turn_tiny(&a->t, p, &s->tiny, &r->tiny, input, d, turn);
}

NN_INLINE void show_sums(const struct nn_recurrent_step_args *a, struct nn_spot p,
			 struct step_room *s, struct step_sums *r)
{
	(void)a;
	NN_UNROLL
	for (unsigned j = 0; j < NN_TINY_EACH; j++)
		if (tiny_adds(p))
			s->sum[tiny_row(p)][tiny_channel(false, p, j)] = r->tiny.sum[j];
}

NN_INLINE void step_units(const struct nn_recurrent_step_args *a, struct nn_spot p,
			  struct step_room *s, struct step_sums *r)
{
	const unsigned row = p.thread / NN_STEP_UNITS, j = p.thread % NN_STEP_UNITS;
	if (!has_unit(p, r))
		return;
	NN_UNROLL
	for (unsigned g = 0; g < NN_GATES; g++) {
		const real sum = s->sum[row][g * NN_STEP_UNITS + j];
		if (has_state(&a->r))
			r->unit.of[g] = a->r.bias ? v_add(sum, r->unit.of[g]) : sum;
	}
	step_unit(&a->r, r->tiny.m + row, r->tiny.n + j, &r->unit);
}

NN_SCRIPT(recurrent_step, struct nn_recurrent_step_args, struct step_room, struct step_sums,
	  NN_TINY_THREADS)
{
	unsigned turn = 0;
	NN_PHASE(begin_step);
	for (size_t d = 0; d < a->t.depth; d += NN_TINY_DEPTH, turn++)
		NN_PHASE(turn_step, false, d, turn);
	NN_PHASE(show_sums);
	NN_PHASE(step_units);
}

/* ---- backward ---- */

NN_INLINE real sigmoid_back(real y, real d)
{
	return v_mul(d, v_mul(y, v_sub(1, y)));
}

NN_INLINE real tanh_back(real y, real d)
{
	return v_mul(d, v_fnma(y, y, 1));
}

/* What unit j of a row kept, and the gradients that reach it. */
struct unit_back {
	real gates[NN_GATES], cell, earlier, before, dy, dh, dc;
};

NN_INLINE struct unit_back unit_back_of(const struct nn_recurrent_args *a, size_t row, size_t j)
{
	const size_t n = a->units, at = row * a->steps + a->t, i = row * n + j;
	const bool lstm = a->cell == NN_CELL_LSTM;
	struct unit_back u;
	NN_UNROLL
	for (unsigned g = 0; g < NN_GATES; g++)
		u.gates[g] = g * n < a->kept ? a->gates[at * a->kept + g * n + j] : 0;
	u.cell = lstm ? a->cells[at * n + j] : 0;
	u.earlier = !lstm          ? 0
		    : !a->at_first ? a->cells[(row * a->steps + a->earlier) * n + j]
		    : a->state     ? a->first_cells[i]
				   : 0;
	u.before = a->cell == NN_CELL_GRU ? a->before[at * n + j] : 0;
	u.dy = a->dy[at * n + j];
	u.dh = a->at_last ? 0 : a->dh[i];
	u.dc = a->at_last ? 0 : a->dc[i];
	return u;
}

NN_INLINE void lstm_back(struct unit_back *u, size_t n, real dh, real *of)
{
	real in = u->gates[0], f = u->gates[1], g = u->gates[2], o = u->gates[3],
	     shown = v_tanh(u->cell), d = v_cut(v_add(u->dc, tanh_back(shown, v_mul(dh, o))));
	of[0] = sigmoid_back(in, v_mul(d, g));
	of[n] = sigmoid_back(f, v_mul(d, u->earlier));
	of[2 * n] = tanh_back(g, v_mul(d, in));
	of[3 * n] = sigmoid_back(o, v_mul(dh, shown));
	u->dc = v_mul(d, f);
}

/* What of the state before is kept passes by the products: it is what dh becomes. */
NN_INLINE real gru_back(const struct unit_back *u, size_t n, real dh, real *of_x, real *of_h)
{
	real r = u->gates[0], z = u->gates[1], m = u->gates[2],
	     dm = tanh_back(m, v_mul(dh, v_sub(1, z)));
	of_x[0] = of_h[0] = sigmoid_back(r, v_mul(dm, u->gates[3]));
	of_x[n] = of_h[n] = sigmoid_back(z, v_mul(dh, v_sub(u->before, m)));
	of_x[2 * n] = dm;
	of_h[2 * n] = v_mul(dm, r);
	return v_mul(dh, z);
}

/* u->dh: towards the state, from the sums of the step behind it; of gru with what it keeps. */
NN_INLINE void back_unit(const struct nn_recurrent_args *a, size_t row, size_t j,
			 struct unit_back *u)
{
	const size_t n = a->units, at = row * a->steps + a->t, i = row * n + j;
	real *of_x = a->of_x + at * a->sums + j, *of_h = a->of_h + at * a->sums + j, kept = 0,
	     dh = v_cut(v_add(u->dy, u->dh));
	if (!has_step(a, row)) {
		for (size_t o = 0; o < a->sums; o += n)
			of_x[o] = of_h[o] = 0;
		u->dc = 0;
	} else if (a->cell == NN_CELL_LSTM) {
		lstm_back(u, n, dh, of_x);
	} else if (a->cell == NN_CELL_GRU) {
		kept = gru_back(u, n, dh, of_x, of_h);
	} else {
		real y = u->gates[0];
		of_x[0] = a->cell == NN_CELL_RNN ? tanh_back(y, dh)
						 : v_select(v_le(y, v_zero()), v_zero(), dh);
	}
	a->dh[i] = kept;
	a->dc[i] = u->dc;
}

NN_MAP(recurrent_back, struct nn_recurrent_args)
{
	struct unit_back u = unit_back_of(a, i / a->units, i % a->units);
	back_unit(a, i / a->units, i % a->units, &u);
}

/* ---- the same with the product towards the state ---- */

struct back_sums {
	struct tiny_sum tiny;
	struct unit_back unit[NN_TINY_EACH];
};

/* Unit n of row m for each sum j of the thread. */
#define NN_EACH_UNIT(...) \
	NN_UNROLL \
	for (unsigned j = 0; j < NN_TINY_EACH; j++) { \
		const size_t m = r->tiny.m + tiny_row(p), \
			     n = r->tiny.n + tiny_channel(true, p, j); \
		if (tiny_adds(p) && tiny_row(p) < r->tiny.rows && n < a->r.units) \
			__VA_ARGS__ \
	}

NN_INLINE void begin_back(const struct nn_recurrent_step_args *a, struct nn_spot p, struct tiny *s,
			  struct back_sums *r)
{
	const uint32_t across = (uint32_t)((a->r.units + NN_TINY_CHANNELS - 1) / NN_TINY_CHANNELS),
		       down = (uint32_t)p.block / across;
	r->tiny.m = (size_t)down * NN_TINY_ROWS;
	r->tiny.n = ((uint32_t)p.block - down * across) * NN_TINY_CHANNELS;
	start_tiny(&a->t, p, s, &r->tiny, true);
	NN_EACH_UNIT({ r->unit[j] = unit_back_of(&a->r, m, n); });
	if (!tiny_adds(p))
		NN_COPIED(NN_TINY_TURNS - 2);
}

NN_INLINE void turn_back(const struct nn_recurrent_step_args *a, struct nn_spot p, struct tiny *s,
			 struct back_sums *r, size_t d, unsigned turn)
{
	turn_tiny(&a->t, p, s, &r->tiny, true, d, turn);
}

NN_INLINE void back_units(const struct nn_recurrent_step_args *a, struct nn_spot p, struct tiny *s,
			  struct back_sums *r)
{
	(void)s;
	NN_EACH_UNIT({
		if (!a->r.at_last)
			r->unit[j].dh =
				a->t.p.add ? r->unit[j].dh + r->tiny.sum[j] : r->tiny.sum[j];
		back_unit(&a->r, m, n, &r->unit[j]);
	});
}

NN_SCRIPT(recurrent_step_back, struct nn_recurrent_step_args, struct tiny, struct back_sums,
	  NN_TINY_THREADS)
{
	unsigned turn = 0;
	NN_PHASE(begin_back);
	for (size_t d = 0; d < a->t.depth; d += NN_TINY_DEPTH, turn++)
		NN_PHASE(turn_back, d, turn);
	NN_PHASE(back_units);
}
