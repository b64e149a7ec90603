/*
 * recurrent, backward: step by step from the end of the way, the gradients of the gates' sums; of
 * those of all steps then that of the input and those of the parameters.
 */
#include "device/cpu/kernels.h"
#include "device/cpu/recurrent.h"
#include "device/cpu/vec/math.h"

#define NN_SMALL 100000 /* multiplications and additions that are done before a pool has woken */

/*
 * Gradients of a gate's sums by position: towards the input's product, and towards the state's,
 * which differ in gru's n alone.
 */
struct back {
	struct nn_recurrence r;
	real *of_x, *of_h;
	size_t *leaf; /* bounds in positions */
	char *scratch;
	size_t scratch_size;
	size_t parts[3]; /* pieces of dx, of each weight */
};

/* A row at a step. */
struct place {
	size_t n;
	const real *gates, *before, *cell, *cell_before; /* cell_before NULL: zeros */
	const real *dy;
	real *dh, *dc, *of_x, *of_h;
};

/* ---- a row at a step: of_x and of_h from dy and what comes from the step behind it ---- */

NN_INLINE vr from_behind(const struct place *p, size_t j, size_t k)
{
	return v_cut(v_add(v_get(p->dy + j, k), v_get(p->dh + j, k)));
}

NN_INLINE vr sigmoid_back(vr y, vr d)
{
	return v_mul(d, v_mul(y, v_sub(v_set(1), y)));
}

NN_INLINE vr tanh_back(vr y, vr d)
{
	return v_mul(d, v_fnma(y, y, v_set(1)));
}

static void rnn_back(bool relu, const struct place *p)
{
	NN_EACH(j, k, p->n, {
		const vr d = from_behind(p, j, k), y = v_get(p->gates + j, k);
		v_put(p->of_x + j, k,
		      relu ? v_select(v_le(y, v_zero()), v_zero(), d) : tanh_back(y, d));
	});
}

static void lstm_back(const struct place *p)
{
	const size_t n = p->n;
	NN_EACH(j, k, n, {
		const vr i = v_get(p->gates + j, k), f = v_get(p->gates + n + j, k),
			 g = v_get(p->gates + 2 * n + j, k), o = v_get(p->gates + 3 * n + j, k);
		const vr shown = v_tanh(v_get(p->cell + j, k)), dh = from_behind(p, j, k);
		const vr dc = v_cut(v_add(v_get(p->dc + j, k), tanh_back(shown, v_mul(dh, o))));
		const vr c = p->cell_before ? v_get(p->cell_before + j, k) : v_zero();
		v_put(p->of_x + j, k, sigmoid_back(i, v_mul(dc, g)));
		v_put(p->of_x + n + j, k, sigmoid_back(f, v_mul(dc, c)));
		v_put(p->of_x + 2 * n + j, k, tanh_back(g, v_mul(dc, i)));
		v_put(p->of_x + 3 * n + j, k, sigmoid_back(o, v_mul(dh, shown)));
		v_put(p->dc + j, k, v_mul(dc, f));
	});
}

/* What of the state before is kept passes by the products: it is left in dh. */
static void gru_back(const struct place *p)
{
	const size_t n = p->n;
	NN_EACH(j, k, n, {
		const vr r = v_get(p->gates + j, k), z = v_get(p->gates + n + j, k),
			 m = v_get(p->gates + 2 * n + j, k), of_h = v_get(p->gates + 3 * n + j, k);
		const vr dh = from_behind(p, j, k), h = v_get(p->before + j, k);
		const vr dm = tanh_back(m, v_mul(dh, v_sub(v_set(1), z)));
		const vr dr = sigmoid_back(r, v_mul(dm, of_h));
		const vr dz = sigmoid_back(z, v_mul(dh, v_sub(h, m)));
		v_put(p->of_x + j, k, dr);
		v_put(p->of_h + j, k, dr);
		v_put(p->of_x + n + j, k, dz);
		v_put(p->of_h + n + j, k, dz);
		v_put(p->of_x + 2 * n + j, k, dm);
		v_put(p->of_h + 2 * n + j, k, v_mul(dm, r));
		v_put(p->dh + j, k, v_mul(dh, z));
	});
}

/* ---- the way back of a piece of rows ---- */

static struct place place_of(const struct back *b, size_t row, size_t t, bool at_first)
{
	const struct nn_recurrence *r = &b->r;
	const size_t n = r->units, at = row * r->steps + t;
	const size_t earlier = r->attrs->reverse ? at + 1 : at - 1;
	const bool lstm = r->attrs->cell == NN_CELL_LSTM;
	return (struct place){
		.n = n,
		.gates = r->gates + at * r->kept,
		.before = r->before + at * n,
		.cell = lstm ? r->cells + at * n : NULL,
		.cell_before = lstm && !at_first ? r->cells + earlier * n : NULL,
		.dy = (const real *)r->call->dy + at * n,
		.of_x = b->of_x + at * r->sums,
		.of_h = b->of_h + at * r->sums,
	};
}

static void row_back(const struct back *b, struct place *p, bool has)
{
	const struct nn_recurrence *r = &b->r;
	if (!has) {
		memset(p->of_x, 0, r->sums * sizeof(real));
		memset(p->of_h, 0, r->sums * sizeof(real));
		memset(p->dh, 0, p->n * sizeof(real));
		memset(p->dc, 0, p->n * sizeof(real));
	} else if (r->attrs->cell == NN_CELL_LSTM) {
		lstm_back(p);
	} else if (r->attrs->cell == NN_CELL_GRU) {
		gru_back(p);
	} else {
		rnn_back(r->attrs->cell == NN_CELL_RNN_RELU, p);
	}
}

static void way_back(void *arg, size_t piece, int thread)
{
	const struct back *b = arg;
	const struct nn_recurrence *r = &b->r;
	const size_t begin = r->call->rows * piece / r->pieces,
		     n = r->call->rows * (piece + 1) / r->pieces - begin,
		     size = nn_recurrent_bytes(nn_recurrent_rows(r->call->rows) * r->units);
	char *at = b->scratch + (size_t)thread * b->scratch_size;
	real *dh = (real *)(void *)at, *dc = (real *)(void *)(at + size);
	struct nn_matrix d = r->h;

	d.y_row = r->steps * r->sums;
	memset(dh, 0, n * r->units * sizeof(real));
	memset(dc, 0, n * r->units * sizeof(real));
	for (size_t i = r->steps; i-- > 0;) {
		const size_t t = nn_recurrent_step(r, i);
		for (size_t k = 0; k < n; k++) {
			struct place p = place_of(b, begin + k, t, i == 0);
			p.dh = dh + k * r->units;
			p.dc = dc + k * r->units;
			row_back(b, &p, nn_recurrent_has(r, begin + k, t));
		}
		if (i > 0)
			NN_K(dense_input_gradient)
		(&d, n, b->of_h + (begin * r->steps + t) * r->sums, r->call->w[1], dh,
		 r->attrs->cell == NN_CELL_GRU, 0, r->units, at + 2 * size);
	}
}

/* ---- what follows from the sums' gradients of all steps ---- */

static void cut(size_t n, size_t unit, size_t pieces, size_t i, size_t *begin, size_t *end)
{
	const size_t units = (n + unit - 1) / unit;
	*begin = nn_recurrent_least(units * i / pieces * unit, n);
	*end = nn_recurrent_least(units * (i + 1) / pieces * unit, n);
}

static void input_piece(const struct back *b, size_t i, void *scratch)
{
	const struct nn_recurrence *r = &b->r;
	size_t begin, end;
	cut(r->call->rows * r->steps, NN_PANEL, b->parts[0], i, &begin, &end);
	if (begin < end)
		NN_K(dense_input_gradient)
	(&r->x, end - begin, b->of_x + begin * r->sums, r->call->w[0],
	 (real *)r->call->dx[0] + begin * r->x.in, r->call->dx_add[0], 0, r->x.in, scratch);
}

static void weight_piece(const struct back *b, int param, size_t i, void *scratch)
{
	const struct nn_recurrence *r = &b->r;
	const struct nn_call *call = r->call;
	const struct nn_matrix *d = param == 0 ? &r->x : &r->h;
	size_t begin, end;
	cut(NN_K(dense_panels)(d), 1, b->parts[1 + param], i, &begin, &end);
	if (begin < end)
		NN_K(dense_weight_gradient)
	(d, param == 0 ? call->x[0] : r->before, param == 0 ? b->of_x : b->of_h, b->leaf,
	 call->n_leaves, call->first, call->dw[param], NULL, 0, d->in, begin, end, scratch);
}

/* The two are one where the gradients of the sums are. */
static void biases(const struct back *b)
{
	const struct nn_recurrence *r = &b->r;
	const struct nn_call *call = r->call;
	if (call->dw[2])
		NN_K(dense_bias_gradient)
	(&r->x, b->of_x, b->leaf, call->n_leaves, call->first, call->dw[2]);
	if (call->dw[3])
		NN_K(dense_bias_gradient)
	(&r->h, b->of_h, b->leaf, call->n_leaves, call->first, call->dw[3]);
}

static void gradient_piece(void *arg, size_t i, int thread)
{
	const struct back *b = arg;
	void *scratch = b->scratch + (size_t)thread * b->scratch_size;
	if (i < b->parts[0]) {
		input_piece(b, i, scratch);
		return;
	}
	i -= b->parts[0];
	for (int param = 0; param < 2; i -= b->parts[1 + param], param++)
		if (i < b->parts[1 + param]) {
			weight_piece(b, param, i, scratch);
			return;
		}
	biases(b);
}

/* ---- both ---- */

static size_t thread_bytes(const struct nn_recurrence *r, size_t rows)
{
	const size_t x = NN_K(dense_scratch)(&r->x, rows * r->steps),
		     h = NN_K(dense_scratch)(&r->h, rows * r->steps),
		     way = 2 * nn_recurrent_bytes(nn_recurrent_rows(rows) * r->units) + h,
		     most = x > way ? x : way;
	return (most + 63) / 64 * 64;
}

/* Bytes of the sums' gradients: of one kind or, where they differ, of two. */
static size_t sums_bytes(const struct nn_recurrence *r, size_t rows)
{
	return nn_recurrent_bytes(rows * r->steps * r->sums);
}

static size_t leaf_bytes(size_t n_leaves)
{
	return ((n_leaves + 1) * sizeof(size_t) + 63) / 64 * 64;
}

size_t NN_K(recurrent_back_work)(const struct nn_site *site, size_t max_rows, size_t max_leaves,
				 int threads)
{
	const struct nn_recurrence r = nn_recurrence_of(site);
	return (r.attrs->cell == NN_CELL_GRU ? 2 : 1) * sums_bytes(&r, max_rows) +
	       leaf_bytes(max_leaves) + (size_t)threads * thread_bytes(&r, max_rows);
}

static struct back back_of(const struct nn_call *call)
{
	struct back b = { .r = nn_recurrence_in(call) };
	char *at = call->work;
	b.of_x = b.of_h = (real *)(void *)at;
	at += sums_bytes(&b.r, call->rows);
	if (b.r.attrs->cell == NN_CELL_GRU) {
		b.of_h = (real *)(void *)at;
		at += sums_bytes(&b.r, call->rows);
	}
	b.leaf = (size_t *)(void *)at;
	b.scratch = at + leaf_bytes(call->n_leaves);
	b.scratch_size = thread_bytes(&b.r, call->rows);
	for (size_t i = 0; i <= call->n_leaves; i++)
		b.leaf[i] = call->leaf[i] * b.r.steps;
	return b;
}

void NN_K(recurrent_back)(const struct nn_call *call)
{
	struct back b = back_of(call);
	const size_t positions = call->rows * b.r.steps,
		     flops = 2 * positions * b.r.sums * (b.r.x.in + b.r.units);
	struct nn_pool *pool = flops < NN_SMALL ? NULL : call->pool;
	const size_t threads = (size_t)nn_pool_threads(pool), most = threads > 1 ? 2 * threads : 1,
		     panels = NN_K(dense_panels)(&b.r.x);

	b.r.pieces = nn_recurrent_pieces(call->rows, threads);
	nn_pool_run(pool, b.r.pieces, way_back, &b);
	if (call->dx[0])
		b.parts[0] = nn_recurrent_least(most, (positions + NN_PANEL - 1) / NN_PANEL);
	for (int param = 0; param < 2; param++)
		if (call->dw[param]) /* else it is frozen */
			b.parts[1 + param] = nn_recurrent_least(most, panels);
	nn_pool_run(pool, b.parts[0] + b.parts[1] + b.parts[2] + b.r.attrs->bias, gradient_piece,
		    &b);
}
