/*
 * recurrent, backward: step by step from the end of the way, the gradients of the gates' sums, of
 * the input and of the state; from those of all steps then the parameters'.
 */
#include "device/cpu/kernels.h"
#include "device/cpu/product/dense.h"
#include "device/cpu/product/pack.h"
#include "device/cpu/sequence/recurrent.h"
#include "device/cpu/vec/math.h"

#define NN_SMALL 100000 /* multiplications and additions done before a pool has woken */

/*
 * Gradients of the sums, [position][sums]: of the input's product [0], and of the state's [1],
 * which differ in gru's n alone and are the same array where they do not.
 */
struct back {
	struct nn_recurrence r;
	real *sums[2];
	size_t positions;
	size_t columns, groups; /* of the weights: what a piece of the work has, and their number */
	size_t *leaf; /* bounds in positions */
	char *scratch;
	size_t scratch_size;
	bool wanted[2]; /* is the gradient of the weight? */
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

/* The sums' gradients of a position. */
static void keep(const struct back *b, int product, size_t position, const real *from)
{
	nn_recurrent_keep(&b->r, from, b->r.sums, b->sums[product] + position * b->r.sums);
}

/* What a thread has for the rows of a piece: [row][units], [row][sums]. */
struct lane {
	real *dh, *dc, *sums[2];
	void *scratch;
};

static struct lane lane_of(const struct back *b, int thread)
{
	const size_t most = nn_recurrent_rows(b->r.call->rows),
		     units = nn_recurrent_bytes(most * b->r.units),
		     sums = nn_recurrent_bytes(most * b->r.sums);
	char *at = b->scratch + (size_t)thread * b->scratch_size;
	struct lane lane = { .dh = (real *)(void *)at, .dc = (real *)(void *)(at + units) };
	at += 2 * units;
	lane.sums[0] = lane.sums[1] = (real *)(void *)at;
	at += sums;
	if (b->sums[0] != b->sums[1]) {
		lane.sums[1] = (real *)(void *)at;
		at += sums;
	}
	lane.scratch = at;
	return lane;
}

static struct place place_of(const struct back *b, const struct lane *lane, size_t i, size_t row,
			     size_t t, bool at_first)
{
	const struct nn_recurrence *r = &b->r;
	const size_t n = r->units, at = row * r->steps + t, kept = nn_recurrent_at(r, row, t);
	const size_t earlier = nn_recurrent_at(r, row, r->attrs->reverse ? t + 1 : t - 1);
	const bool lstm = r->attrs->cell == NN_CELL_LSTM;
	return (struct place){
		.n = n,
		.gates = r->gates + kept * r->kept,
		.before = r->before + at * n,
		.cell = lstm ? r->cells + kept * n : NULL,
		.cell_before = !lstm            ? NULL
			       : !at_first      ? r->cells + earlier * n
			       : r->call->state ? r->first_cells + row * n
						: NULL,
		.dy = (const real *)r->call->dy + at * n,
		.dh = lane->dh + i * n,
		.dc = lane->dc + i * n,
		.of_x = lane->sums[0] + i * r->sums,
		.of_h = lane->sums[1] + i * r->sums,
	};
}

/* Ask for n reals, in the second-level cache; inlined: see product/conv.c. */
NN_INLINE void ask(const real *at, size_t n)
{
	for (size_t i = 0; i < n; i += 64 / sizeof(real))
		__builtin_prefetch(at + i, 0, 2);
}

/* What the row reads at the step before. */
NN_INLINE void ask_for(const struct place *p, size_t kept)
{
	ask(p->gates, kept);
	ask(p->dy, p->n);
	if (p->cell_before)
		ask(p->cell_before, p->n);
}

static void row_back(const struct back *b, struct place *p, size_t row, size_t t)
{
	const struct nn_recurrence *r = &b->r;
	if (!nn_recurrent_has(r, row, t)) {
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
	keep(b, 0, row * r->steps + t, p->of_x);
	if (b->sums[0] != b->sums[1])
		keep(b, 1, row * r->steps + t, p->of_h);
}

static void way_back(void *arg, size_t piece, int thread)
{
	const struct back *b = arg;
	const struct nn_recurrence *r = &b->r;
	const struct nn_call *call = r->call;
	const size_t begin = call->rows * piece / r->pieces,
		     n = call->rows * (piece + 1) / r->pieces - begin;
	const size_t longest = nn_recurrent_longest(r, begin, n), row = r->steps * r->x.in;
	const struct lane lane = lane_of(b, thread);
	real *dx = call->dx[0] ? (real *)call->dx[0] + begin * row : NULL;
	struct nn_matrix x = r->x;

	x.x_row = row;
	memset(lane.dh, 0, n * r->units * sizeof(real));
	memset(lane.dc, 0, n * r->units * sizeof(real));
	for (size_t i = r->steps; i-- > 0;) {
		const size_t t = nn_recurrent_step(r, i);
		for (size_t k = 0; k < n; k++) {
			struct place p = place_of(b, &lane, k, begin + k, t, i == 0);
			if (i > 0) {
				const size_t next = nn_recurrent_step(r, i - 1);
				const struct place then =
					place_of(b, &lane, k, begin + k, next, i == 1);
				ask_for(&then, r->kept);
			}
			row_back(b, &p, begin + k, t);
			if (t >= longest && dx && !call->dx_add[0])
				memset(dx + k * row + t * x.in, 0, x.in * sizeof(real));
		}
		if (t >= longest)
			continue;
		if (dx)
			NN_K(dense_input_gradient)
		(&x, n, lane.sums[0], call->w[0], dx + t * x.in, call->dx_add[0], 0, x.in,
		 lane.scratch);
		if (i > 0)
			NN_K(dense_input_gradient)
		(&r->h, n, lane.sums[1], call->w[1], lane.dh, r->attrs->cell == NN_CELL_GRU, 0,
		 r->units, lane.scratch);
	}
	NN_STREAMED(); /* before others are told */
}

/* ---- the parameters', from the sums' gradients of all steps ---- */

/*
 * Columns of a group, whole panels: sums of leaves that wait for their neighbours are to stay in
 * the caches, and each thread is to have a group.
 */
static size_t columns_of(const struct nn_recurrence *r, size_t threads)
{
	const size_t in = r->x.in > r->units ? r->x.in : r->units,
		     fit = (NN_DENSE_FAR - 1) / sizeof(real) / (in * NN_PANEL),
		     share = (nn_panels(r->sums) + threads - 1) / threads,
		     panels = nn_recurrent_least(fit, share);
	return (panels ? panels : 1) * NN_PANEL;
}

/* A product of n columns of the sums. */
static struct nn_matrix part_of(const struct nn_recurrence *r, int product, size_t n)
{
	struct nn_matrix d = product == 0 ? r->x : r->h;
	d.out = n;
	return d;
}

static void weight_group(const struct back *b, int product, size_t begin, size_t n, void *scratch)
{
	const struct nn_recurrence *r = &b->r;
	const struct nn_call *call = r->call;
	const struct nn_matrix d = part_of(r, product, n);
	NN_K(dense_weight_gradient)
	(&d, product == 0 ? call->x[0] : r->before, b->sums[product] + begin, b->leaf,
	 call->n_leaves, call->first, (real *)call->dw[product] + begin * d.in, NULL, 0, d.in, 0,
	 NN_K(dense_panels)(&d), scratch);
}

/* The two are one where the sums' gradients are. */
static void bias_group(const struct back *b, size_t begin, size_t n)
{
	const struct nn_call *call = b->r.call;
	real *done = NULL;
	for (int product = 0; product < 2; product++) {
		const struct nn_matrix d = part_of(&b->r, product, n);
		real *db = call->dw[2 + product];
		if (!db)
			continue;
		db += begin;
		if (done && b->sums[0] == b->sums[1])
			memcpy(db, done, n * sizeof(real));
		else
			NN_K(dense_bias_gradient)
		(&d, b->sums[product] + begin, b->leaf, call->n_leaves, call->first, db);
		done = db;
	}
}

static void gradient_piece(void *arg, size_t group, int thread)
{
	const struct back *b = arg;
	const size_t begin = group * b->columns,
		     n = nn_recurrent_least(b->columns, b->r.sums - begin);
	void *scratch = b->scratch + (size_t)thread * b->scratch_size;
	for (int product = 0; product < 2; product++)
		if (b->wanted[product])
			weight_group(b, product, begin, n, scratch);
	if (b->r.attrs->bias)
		bias_group(b, begin, n);
}

/* ---- both ---- */

/* Are there two arrays of the sums' gradients? */
static bool two_kinds(const struct nn_recurrence *r)
{
	return r->attrs->cell == NN_CELL_GRU;
}

static size_t thread_bytes(const struct nn_recurrence *r, size_t rows)
{
	const size_t most = nn_recurrent_rows(rows), n = columns_of(r, 1);
	const size_t way = 2 * nn_recurrent_bytes(most * r->units) +
			   (two_kinds(r) ? 2 : 1) * nn_recurrent_bytes(most * r->sums);
	size_t scratch = 0;
	for (int product = 0; product < 2; product++) {
		const struct nn_matrix d = part_of(r, product, nn_recurrent_least(n, r->sums));
		const size_t back = NN_K(dense_scratch)(product == 0 ? &r->x : &r->h, most),
			     weights = NN_K(dense_scratch)(&d, rows * r->steps);
		scratch = scratch > back ? scratch : back;
		scratch = scratch > weights ? scratch : weights;
	}
	return way + (scratch + 63) / 64 * 64;
}

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
	return (two_kinds(&r) ? 2 : 1) * sums_bytes(&r, max_rows) + leaf_bytes(max_leaves) +
	       (size_t)threads * thread_bytes(&r, max_rows);
}

static struct back back_of(const struct nn_call *call)
{
	struct back b = { .r = nn_recurrence_in(call), .positions = call->rows };
	char *at = call->work;
	b.positions *= b.r.steps;
	b.sums[0] = b.sums[1] = (real *)(void *)at;
	at += sums_bytes(&b.r, call->rows);
	if (two_kinds(&b.r)) {
		b.sums[1] = (real *)(void *)at;
		at += sums_bytes(&b.r, call->rows);
	}
	b.leaf = (size_t *)(void *)at;
	b.scratch = at + leaf_bytes(call->n_leaves);
	b.scratch_size = thread_bytes(&b.r, call->rows);
	for (size_t i = 0; i <= call->n_leaves; i++)
		b.leaf[i] = call->leaf[i] * b.r.steps;
	for (int param = 0; param < 2; param++)
		b.wanted[param] = call->dw[param]; /* else it is frozen */
	return b;
}

void NN_K(recurrent_back)(const struct nn_call *call)
{
	struct back b = back_of(call);
	const size_t flops = 2 * b.positions * b.r.sums * (b.r.x.in + b.r.units);
	struct nn_pool *pool = flops < NN_SMALL ? NULL : call->pool;

	b.r.pieces = nn_recurrent_pieces(call->rows, (size_t)nn_pool_threads(pool));
	b.columns = columns_of(&b.r, (size_t)nn_pool_threads(pool));
	b.groups = (b.r.sums + b.columns - 1) / b.columns;
	nn_pool_run(pool, b.r.pieces, way_back, &b);
	nn_pool_run(pool, b.groups, gradient_piece, &b);
}
