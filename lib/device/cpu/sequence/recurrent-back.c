/*
 * recurrent, backward: step by step from the end of the way, the gradients of the gates' sums, of
 * the input and of the state; from those of all steps then the parameters'.
 *
 * Gradients of sums are kept in groups of columns, [group][position][column]: rows of all columns
 * lie so far apart that the products for the weights would copy them first.
 */
#include "device/cpu/kernels.h"
#include "device/cpu/product/dense.h"
#include "device/cpu/product/pack.h"
#include "device/cpu/sequence/recurrent.h"
#include "device/cpu/vec/math.h"

#define NN_SMALL 100000 /* multiplications and additions done before a pool has woken */
#define NN_COLUMNS ((size_t)NN_PANEL) /* of a group at most */
#ifndef NN_BLOCK
#define NN_BLOCK ((size_t)128) /* positions of a block at most */
#endif

/*
 * Gradients of the sums by group: of the input's product [0], and of the state's [1], which differ
 * in gru's n alone and are the same array where they do not.
 */
struct back {
	struct nn_recurrence r;
	real *sums[2];
	size_t positions, groups;
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

static size_t group_columns(const struct back *b, size_t group)
{
	return nn_recurrent_least(NN_COLUMNS, b->r.sums - group * NN_COLUMNS);
}

/*
 * Reals from group to group: an odd number of lines, so that groups of a position, which are
 * written one after the other, fall into different sets of the caches.
 */
static size_t group_reals(size_t positions)
{
	return NN_COLUMNS * positions + NN_LANES;
}

static real *group_at(const struct back *b, int product, size_t group)
{
	return b->sums[product] + group * group_reals(b->positions);
}

/* The sums' gradients of a position into their groups. */
static void keep(const struct back *b, int product, size_t position, const real *from)
{
	for (size_t g = 0; g < b->groups; g++) {
		const size_t n = group_columns(b, g);
		nn_recurrent_keep(&b->r, from + g * NN_COLUMNS, n,
				  group_at(b, product, g) + position * n);
	}
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

/* Of a tree: sums that wait for their neighbours at most. */
static size_t levels(size_t n_leaves)
{
	size_t n = 0;
	while (n_leaves >> (n + 1))
		n++;
	return n;
}

/*
 * Columns of a group of a weight, whose sums over a leaf are one chain. A block of positions stays
 * in the nearest cache while the inputs pass; leaves wait in scratch for their neighbours.
 */
static void weight_group(const struct back *b, int param, size_t group, real *scratch)
{
	const struct nn_recurrence *r = &b->r;
	const struct nn_call *call = r->call;
	struct nn_matrix d = param == 0 ? r->x : r->h;
	const real *x = param == 0 ? call->x[0] : r->before, *dy = group_at(b, param, group);
	d.out = d.y_row = group_columns(b, group);
	const size_t n = d.in * nn_panel_width(d.out, 0);
	real *sum[64] = { (real *)call->dw[param] + group * NN_COLUMNS * d.in };
	for (size_t i = 1; i <= levels(call->n_leaves); i++, scratch += n)
		sum[i] = scratch;
	for (size_t i = 0, top = 0; i < call->n_leaves; i++) {
		for (size_t from = b->leaf[i], to; from < b->leaf[i + 1]; from = to) {
			to = nn_recurrent_least(from + NN_BLOCK, b->leaf[i + 1]);
			const size_t bounds[] = { 0, to - from };
			NN_K(dense_weight_gradient)
			(&d, x + from * d.x_row, dy + from * d.y_row, bounds, 1,
			 from == b->leaf[i] && (i > 0 || call->first), sum[top], NULL, 0, d.in, 0,
			 1, scratch);
		}
		for (size_t left = i; left & 1; left >>= 1, top--)
			NN_K(leaf_add)(sum[top - 1], sum[top], n);
		top++;
	}
}

/* The two are one where the sums' gradients are. */
static void bias_part(const struct back *b, size_t group)
{
	const struct nn_recurrence *r = &b->r;
	const struct nn_call *call = r->call;
	struct nn_matrix d = r->x;
	real *done = NULL;
	d.out = d.y_row = group_columns(b, group);
	for (int product = 0; product < 2; product++) {
		real *db = call->dw[2 + product];
		if (!db)
			continue;
		db += group * NN_COLUMNS;
		if (done && b->sums[0] == b->sums[1])
			memcpy(db, done, d.out * sizeof(real));
		else
			NN_K(dense_bias_gradient)
		(&d, group_at(b, product, group), b->leaf, call->n_leaves, call->first, db);
		done = db;
	}
}

/* Both weights of a group follow each other, and the biases, while it is in the cache. */
static void gradient_piece(void *arg, size_t group, int thread)
{
	const struct back *b = arg;
	void *scratch = b->scratch + (size_t)thread * b->scratch_size;
	for (int param = 0; param < 2; param++)
		if (b->wanted[param])
			weight_group(b, param, group, scratch);
	if (b->r.attrs->bias)
		bias_part(b, group);
}

/* ---- both ---- */

/* Are there two arrays of the sums' gradients? */
static bool two_kinds(const struct nn_recurrence *r)
{
	return r->attrs->cell == NN_CELL_GRU;
}

static size_t thread_bytes(const struct nn_recurrence *r, size_t rows, size_t leaves)
{
	const size_t most = nn_recurrent_rows(rows);
	const size_t way = 2 * nn_recurrent_bytes(most * r->units) +
			   (two_kinds(r) ? 2 : 1) * nn_recurrent_bytes(most * r->sums);
	const size_t x = NN_K(dense_scratch)(&r->x, rows * r->steps),
		     h = NN_K(dense_scratch)(&r->h, rows * r->steps);
	const size_t waiting = levels(leaves) * (r->x.in > r->units ? r->x.in : r->units);
	return way + nn_recurrent_bytes(waiting * NN_PANEL) + ((x > h ? x : h) + 63) / 64 * 64;
}

static size_t sums_bytes(const struct nn_recurrence *r, size_t rows)
{
	const size_t groups = (r->sums + NN_COLUMNS - 1) / NN_COLUMNS;
	return nn_recurrent_bytes(groups * group_reals(rows * r->steps));
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
	       (size_t)threads * thread_bytes(&r, max_rows, max_leaves);
}

static struct back back_of(const struct nn_call *call)
{
	struct back b = { .r = nn_recurrence_in(call), .positions = call->rows };
	char *at = call->work;
	b.positions *= b.r.steps;
	b.groups = (b.r.sums + NN_COLUMNS - 1) / NN_COLUMNS;
	b.sums[0] = b.sums[1] = (real *)(void *)at;
	at += sums_bytes(&b.r, call->rows);
	if (two_kinds(&b.r)) {
		b.sums[1] = (real *)(void *)at;
		at += sums_bytes(&b.r, call->rows);
	}
	b.leaf = (size_t *)(void *)at;
	b.scratch = at + leaf_bytes(call->n_leaves);
	b.scratch_size = thread_bytes(&b.r, call->rows, call->n_leaves);
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
	nn_pool_run(pool, b.r.pieces, way_back, &b);
	nn_pool_run(pool, b.groups, gradient_piece, &b);
}
