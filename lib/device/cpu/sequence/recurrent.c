/*
 * recurrent, forward: the products of the input for many steps at once, then step by step that of
 * the state and the gates; last.
 *
 * A piece of rows goes through all its steps on one thread, so nobody waits between steps. The sum
 * of a gate is the input's product with its bias, plus the state's product with its own.
 */
#include "device/cpu/kernels.h"
#include "device/cpu/leaf.h"
#include "device/cpu/sequence/recurrent.h"
#include "device/cpu/vec/math.h"

#define NN_SMALL 200000 /* multiplications and additions that are done before a pool has woken */
/* Steps whose products of the input are made ahead, and bytes of them, which stay in the caches. */
#define NN_AT_ONCE ((size_t)16)
#define NN_AHEAD ((size_t)262144)

/* The rows of a piece on their way. */
struct rows {
	const struct nn_recurrence *r;
	size_t begin, n,
		longest;    /* longest: steps of the longest, behind which nothing is computed */
	real *h, *c, *sums; /* the state, lstm's cell, the product of the state */
	/* of at_once steps from step `first` on, [step][row]: inputs, their products */
	real *x, *ahead;
	size_t first, at_once;
	void *scratch;
};

/* ---- a row at a step: gates from the input's sums a and the state's sums b ---- */

static void rnn_step(bool relu, size_t n, const real *a, const real *b, real *h)
{
	NN_EACH(j, k, n, {
		const vr sum = v_add(v_get(a + j, k), v_get(b + j, k));
		v_put(h + j, k, relu ? v_select(v_le(sum, v_zero()), v_zero(), sum) : v_tanh(sum));
	});
}

NN_INLINE vr gate_sum(const real *a, const real *b, size_t at, size_t k)
{
	return v_add(v_get(a + at, k), v_get(b + at, k));
}

/* One function after the other over the gates, whose chains then overlap; in `gates`. */
static void lstm_step(size_t n, const real *a, const real *b, real *c, real *h, real *gates)
{
	NN_EACH(j, k, 2 * n, { v_put(gates + j, k, v_sigmoid(gate_sum(a, b, j, k))); });
	NN_EACH(j, k, n, { v_put(gates + 2 * n + j, k, v_tanh(gate_sum(a, b, 2 * n + j, k))); });
	NN_EACH(j, k, n, { v_put(gates + 3 * n + j, k, v_sigmoid(gate_sum(a, b, 3 * n + j, k))); });
	NN_EACH(j, k, n, {
		const vr i = v_get(gates + j, k), f = v_get(gates + n + j, k);
		const vr g = v_get(gates + 2 * n + j, k), o = v_get(gates + 3 * n + j, k);
		const vr cell = v_cut(v_fma(f, v_get(c + j, k), v_mul(i, g)));
		v_put(c + j, k, cell);
		v_put(h + j, k, v_mul(o, v_tanh(cell)));
	});
}

static void gru_step(size_t n, const real *a, const real *b, real *h, real *gates)
{
	NN_EACH(j, k, n, {
		const vr r = v_sigmoid(gate_sum(a, b, j, k));
		const vr z = v_sigmoid(gate_sum(a, b, n + j, k));
		const vr of_h = v_get(b + 2 * n + j, k);
		const vr m = v_tanh(v_fma(r, of_h, v_get(a + 2 * n + j, k)));
		v_put(h + j, k, v_cut(v_fma(z, v_sub(v_get(h + j, k), m), m)));
		if (gates) {
			v_put(gates + j, k, r);
			v_put(gates + n + j, k, z);
			v_put(gates + 2 * n + j, k, m);
			v_put(gates + 3 * n + j, k, of_h);
		}
	});
}

/* Row i of the piece at step t. */
static void row_step(const struct rows *p, size_t i, size_t t)
{
	const struct nn_recurrence *r = p->r;
	const size_t n = r->units, at = (p->begin + i) * r->steps + t,
		     kept = nn_recurrent_at(r, p->begin + i, t);
	const real *a = t < p->longest ? p->ahead + ((t - p->first) * p->n + i) * r->sums : NULL;
	real *b = p->sums + i * r->sums;
	real *h = p->h + i * n, *c = p->c + i * n,
	     *gates = r->gates ? r->gates + kept * r->kept : NULL;

	if (r->before)
		nn_recurrent_keep(r, h, n, r->before + at * n);
	if (!nn_recurrent_has(r, p->begin + i, t)) {
		memset(h, 0, n * sizeof(real));
		memset(c, 0, n * sizeof(real));
	} else if (r->attrs->cell == NN_CELL_LSTM) {
		lstm_step(n, a, b, c, h, gates ? gates : b);
	} else if (r->attrs->cell == NN_CELL_GRU) {
		gru_step(n, a, b, h, gates);
	} else {
		rnn_step(r->attrs->cell == NN_CELL_RNN_RELU, n, a, b, h);
		if (gates)
			memcpy(gates, h, n * sizeof(real));
	}
	if (r->cells && r->attrs->cell == NN_CELL_LSTM)
		nn_recurrent_keep(r, c, n, r->cells + kept * n);
	memcpy((real *)r->call->y + at * n, h, n * sizeof(real));
}

/* ---- a piece of rows ---- */

/* The products of the input from step `first` on: of all rows, whose inputs are brought together.
 */
static void look_ahead(struct rows *p, size_t first)
{
	const struct nn_recurrence *r = p->r;
	const size_t steps = nn_recurrent_least(p->at_once, p->longest - first), in = r->x.in;
	const real *x = (const real *)r->call->x[0] + (p->begin * r->steps + first) * in;
	const struct nn_tail tail = { .bias = r->attrs->bias ? r->call->w[2] : NULL };

	p->first = first;
	for (size_t i = 0; i < steps && p->n > 1; i++)
		for (size_t row = 0; row < p->n; row++)
			memcpy(p->x + (i * p->n + row) * in, x + (row * r->steps + i) * in,
			       in * sizeof(real));
	NN_K(dense_forward)
	(&r->x, p->n * steps, p->n > 1 ? p->x : x, r->call->w[0], &tail, p->ahead, 0,
	 NN_K(dense_panels)(&r->x), p->scratch);
}

/* The product of the state, which is zeros at first. */
static void state_product(const struct rows *p, bool at_first)
{
	const struct nn_recurrence *r = p->r;
	const real *bias = r->attrs->bias ? r->call->w[3] : NULL;
	const struct nn_tail tail = { .bias = bias };

	if (!at_first)
		NN_K(dense_forward)
	(&r->h, p->n, p->h, r->call->w[1], &tail, p->sums, 0, NN_K(dense_panels)(&r->h),
	 p->scratch);
	else for (size_t i = 0; i < p->n; i++) if (bias)
		memcpy(p->sums + i * r->sums, bias, r->sums * sizeof(real));
	else memset(p->sums + i * r->sums, 0, r->sums * sizeof(real));
}

/* ---- scratch of a thread ---- */

static size_t at_once(const struct nn_recurrence *r, size_t rows)
{
	const size_t steps = NN_AHEAD / sizeof(real) / (rows * r->sums);
	return steps < 1 ? 1 : nn_recurrent_least(steps, NN_AT_ONCE);
}

/* Rows times at_once of so many rows or fewer, at most. */
static size_t most_ahead(const struct nn_recurrence *r, size_t rows)
{
	const size_t fit = nn_recurrent_least(NN_AHEAD / sizeof(real) / r->sums, rows * NN_AT_ONCE);
	return fit > rows ? fit : rows;
}

static size_t product_scratch(const struct nn_recurrence *r, size_t rows)
{
	const size_t x = NN_K(dense_scratch)(&r->x, most_ahead(r, rows)),
		     h = NN_K(dense_scratch)(&r->h, rows);
	return ((x > h ? x : h) + 63) / 64 * 64;
}

/* Bytes: state, cell, sums, inputs and products ahead, that of the products. */
static size_t thread_bytes(const struct nn_recurrence *r, size_t rows)
{
	const size_t ahead = most_ahead(r, rows);
	return 2 * nn_recurrent_bytes(rows * r->units) + nn_recurrent_bytes(rows * r->sums) +
	       nn_recurrent_bytes(ahead * r->x.in) + nn_recurrent_bytes(ahead * r->sums) +
	       product_scratch(r, rows);
}

static struct rows rows_of(const struct nn_recurrence *r, size_t piece, int thread)
{
	const struct nn_call *call = r->call;
	const size_t most = nn_recurrent_rows(call->rows);
	struct rows p = { .r = r, .begin = call->rows * piece / r->pieces };
	char *at = (char *)call->work + (size_t)thread * thread_bytes(r, most);

	p.n = call->rows * (piece + 1) / r->pieces - p.begin;
	p.longest = nn_recurrent_longest(r, p.begin, p.n);
	p.at_once = at_once(r, p.n);
	p.h = (real *)(void *)at;
	p.c = (real *)(void *)(at += nn_recurrent_bytes(most * r->units));
	p.sums = (real *)(void *)(at += nn_recurrent_bytes(most * r->units));
	p.x = (real *)(void *)(at += nn_recurrent_bytes(most * r->sums));
	p.ahead = (real *)(void *)(at += nn_recurrent_bytes(most_ahead(r, most) * r->x.in));
	p.scratch = at + nn_recurrent_bytes(most_ahead(r, most) * r->sums);
	return p;
}

/* What the rows of a piece go on with: where they begin here, zeros. */
static void begin_rows(const struct rows *p)
{
	const struct nn_recurrence *r = p->r;
	const size_t n = r->units, bytes = n * sizeof(real), step = nn_recurrent_state(r->attrs);
	const real *state = r->call->state ? (real *)r->call->state + p->begin * step : NULL;
	const bool lstm = r->attrs->cell == NN_CELL_LSTM;

	if (!state) {
		memset(p->h, 0, p->n * bytes);
		memset(p->c, 0, p->n * bytes);
		return;
	}
	for (size_t i = 0; i < p->n; i++) {
		memcpy(p->h + i * n, state + i * step, bytes);
		if (lstm)
			memcpy(p->c + i * n, state + i * step + n, bytes);
	}
	if (lstm && r->first_cells)
		memcpy(r->first_cells + p->begin * n, p->c, p->n * bytes);
}

static void end_rows(const struct rows *p)
{
	const struct nn_recurrence *r = p->r;
	const size_t n = r->units, step = nn_recurrent_state(r->attrs);
	real *state = r->call->state ? (real *)r->call->state + p->begin * step : NULL;

	for (size_t i = 0; state && i < p->n; i++) {
		memcpy(state + i * step, p->h + i * n, n * sizeof(real));
		if (r->attrs->cell == NN_CELL_LSTM)
			memcpy(state + i * step + n, p->c + i * n, n * sizeof(real));
	}
}

static void forward_piece(void *arg, size_t piece, int thread)
{
	const struct nn_recurrence *r = arg;
	struct rows p = rows_of(r, piece, thread);
	const size_t ahead = p.at_once;

	begin_rows(&p);
	for (size_t i = 0; i < r->steps; i++) {
		const size_t t = nn_recurrent_step(r, i);
		if (t < p.longest) {
			if (r->attrs->reverse ? t + 1 == p.longest || t + 1 == p.first
					      : t % ahead == 0)
				look_ahead(&p, t / ahead * ahead);
			state_product(&p, i == 0 && !r->call->state);
		}
		for (size_t row = 0; row < p.n; row++)
			row_step(&p, row, t);
	}
	end_rows(&p);
	NN_STREAMED(); /* before others are told */
}

static void forward(const struct nn_call *call)
{
	struct nn_recurrence r = nn_recurrence_in(call);
	const size_t flops = 2 * call->rows * r.steps * r.sums * (r.x.in + r.units);
	struct nn_pool *pool = flops < NN_SMALL ? NULL : call->pool;

	r.pieces = nn_recurrent_pieces(call->rows, (size_t)nn_pool_threads(pool));
	nn_pool_run(pool, r.pieces, forward_piece, &r);
}

/* ---- memory and packing ---- */

static size_t saved(const struct nn_site *site, size_t max_rows)
{
	const struct nn_recurrence r = nn_recurrence_of(site);
	const size_t reals =
		r.steps * nn_recurrent_saved(&r) + (r.attrs->cell == NN_CELL_LSTM ? r.units : 0);
	return site->training ? max_rows * reals * sizeof(real) : 0;
}

static size_t state(const struct nn_site *site)
{
	return nn_recurrent_state(site->attrs) * sizeof(real);
}

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	const struct nn_recurrence r = nn_recurrence_of(site);
	const size_t ahead = (size_t)threads * thread_bytes(&r, nn_recurrent_rows(max_rows));
	const size_t back =
		site->training ? NN_K(recurrent_back_work)(site, max_rows, max_leaves, threads) : 0;
	return ahead > back ? ahead : back;
}

static size_t packed(const struct nn_site *site, int param)
{
	const struct nn_recurrence r = nn_recurrence_of(site);
	return param == 0   ? NN_K(dense_packed)(&r.x)
	       : param == 1 ? NN_K(dense_packed)(&r.h)
			    : r.sums;
}

static void pack(const struct nn_site *site, int param, const void *canonical, void *packed)
{
	const struct nn_recurrence r = nn_recurrence_of(site);
	if (param < 2)
		NN_K(dense_pack)(param == 0 ? &r.x : &r.h, canonical, packed);
	else
		memcpy(packed, canonical, r.sums * sizeof(real));
}

static void unpack(const struct nn_site *site, int param, const void *packed, void *canonical)
{
	const struct nn_recurrence r = nn_recurrence_of(site);
	if (param < 2)
		NN_K(dense_unpack)(param == 0 ? &r.x : &r.h, packed, canonical);
	else
		memcpy(canonical, packed, r.sums * sizeof(real));
}

const struct nn_kernel NN_K(recurrent) = {
	.forward = forward,
	.backward = NN_K(recurrent_back),
	.saved = saved,
	.state = state,
	.work = work,
	.packed = packed,
	.pack = pack,
	.unpack = unpack,
};

/* ---- last ---- */

/* The step of a row that is its last; SIZE_MAX: it has none. */
static size_t last_of(const struct nn_call *call, size_t row)
{
	const size_t steps = call->site.in[0].dim[0];
	return (call->lengths ? call->lengths[row] : steps) - 1;
}

static void last_forward(const struct nn_call *call)
{
	const size_t steps = call->site.in[0].dim[0], n = call->site.in[0].dim[1];
	for (size_t row = 0; row < call->rows; row++) {
		const size_t t = last_of(call, row);
		real *y = (real *)call->y + row * n;
		if (t < steps)
			memcpy(y, (const real *)call->x[0] + (row * steps + t) * n,
			       n * sizeof(real));
		else
			memset(y, 0, n * sizeof(real));
	}
}

static void last_backward(const struct nn_call *call)
{
	const size_t steps = call->site.in[0].dim[0], n = call->site.in[0].dim[1];
	if (!call->dx[0])
		return;
	if (!call->dx_add[0])
		memset(call->dx[0], 0, call->rows * steps * n * sizeof(real));
	for (size_t row = 0; row < call->rows; row++) {
		const size_t t = last_of(call, row);
		const real *dy = (const real *)call->dy + row * n;
		real *dx = (real *)call->dx[0] + (row * steps + t) * n;
		if (t < steps)
			NN_EACH(j, k, n,
				{ v_put_gradient(dx + j, k, v_get(dy + j, k), call->dx_add[0]); });
	}
}

const struct nn_kernel NN_K(last) = { .forward = last_forward, .backward = last_backward };
