/*
 * Attention, head by head: scores q k / sqrt, softmax, the mean of the values. Scores are never all
 * in memory: a block of positions at a time, which backward computes again (Dao et al., 2022).
 *
 * Each element of the five products is one chain of fused multiply-adds from 0 over ascending k: in
 * scores over the values of a head, towards a position over those that it attends to, towards a key
 * or value over the positions that attend to it. A masked pair is in no chain. Keys are scaled when
 * they are copied, so a score is the chain alone.
 *
 * A row with a length is computed as one of that many positions; behind them are zeros, as in its
 * gradients.
 */
#include "device/cpu/kernels.h"
#include "device/cpu/product/outer.h"
#include "device/cpu/softmax.h"

#define BLOCK ((size_t)64) /* positions whose scores lie in memory */
#define TILE \
	((size_t)NN_TILE_2) /* those of a tile, less where the edge of the mask runs through \
			     */
#define MASKED ((size_t)(NN_TILE_2 < 6 ? NN_TILE_2 : 6))

/* An array of rows, `row` apart. */
struct rows {
	real *at;
	size_t row;
};

/* A head's copies and scores: a thread's work. */
struct head {
	size_t t, n; /* positions; values of a head */
	bool causal;
	struct rows input;              /* its queries; keys and values are as far apart */
	struct rows q, dy;              /* copies of queries and the gradient, for backward */
	struct rows keys, values;       /* scaled keys; values */
	struct rows keys_t, values_t;   /* the same, a value a row */
	struct rows score, slope;       /* of a block: softmax, and backward what flows back */
	struct rows dkeys, dvalues, dq; /* gradients of all keys, values; of a tile's queries */
};

static size_t up(size_t n)
{
	return (n + NN_LANES - 1) / NN_LANES * NN_LANES;
}

/* Of a row of positions: an odd number of lines, so that a column fills all sets of the caches. */
static size_t apart(size_t n)
{
	return up(n) | NN_LANES;
}

/* ---- the work of a thread ---- */

static real *take(real **at, size_t n)
{
	real *taken = *at;
	*at += n;
	return taken;
}

/* Reals of a copy a position a row, and a value a row; of a block of scores. */
struct sizes {
	size_t tall, flat, scores;
};

static struct sizes sizes(const struct nn_site *site)
{
	const struct nn_attention *a = site->attrs;
	const size_t t = site->out.dim[0], n = site->out.dim[1] / a->heads;
	return (struct sizes){ t * up(n), n * apart(t), (t < BLOCK ? t : BLOCK) * apart(t) };
}

static size_t reals(const struct nn_site *site)
{
	const struct sizes s = sizes(site);
	const size_t forward = s.flat + s.tall + s.scores;
	return site->training ? 2 * forward + 4 * s.tall + TILE * (s.tall / site->out.dim[0])
			      : forward;
}

static struct head lay_out(const struct nn_site *site, real *work)
{
	const struct nn_attention *a = site->attrs;
	const struct sizes s = sizes(site);
	const size_t t = site->out.dim[0], n = site->out.dim[1] / a->heads, step = up(n),
		     all = apart(t);
	struct head h = { .t = t,
			  .n = n,
			  .causal = a->causal,
			  .keys_t = { take(&work, s.flat), all },
			  .values = { take(&work, s.tall), step },
			  .score = { take(&work, s.scores), all } };
	if (!site->training)
		return h;
	h.values_t = (struct rows){ take(&work, s.flat), all };
	h.keys = (struct rows){ take(&work, s.tall), step };
	h.slope = (struct rows){ take(&work, s.scores), all };
	h.q = (struct rows){ take(&work, s.tall), step };
	h.dy = (struct rows){ take(&work, s.tall), step };
	h.dkeys = (struct rows){ take(&work, s.tall), step };
	h.dvalues = (struct rows){ take(&work, s.tall), step };
	h.dq = (struct rows){ take(&work, TILE * step), step };
	return h;
}

/* to = x times scale, padded with zeros. */
static void copy(const struct head *h, struct rows x, real scale, struct rows to)
{
	for (size_t t = 0; t < h->t; t++) {
		real *const at = to.at + t * to.row;
		NN_EACH(i, k, h->n,
			{ v_store(at + i, v_mul(v_get(x.at + t * x.row + i, k), v_set(scale))); });
		for (size_t i = (h->n + VL - 1) / VL * VL; i < to.row; i += VL)
			v_store(at + i, v_zero());
	}
}

/* The same, turned. */
static void turn(const struct head *h, struct rows x, real scale, struct rows to)
{
	for (size_t t = 0; t < to.row; t += VL)
		NN_EACH(i, k, h->n, {
			vr r[VL];
			for (size_t j = 0; j < VL; j++)
				r[j] = t + j < h->t ? v_get(x.at + (t + j) * x.row + i, k)
						    : v_zero();
			v_transpose(r);
			for (size_t j = 0; j < k; j++)
				v_store(to.at + (i + j) * to.row + t, v_mul(r[j], v_set(scale)));
		});
}

/* ---- products ---- */

static struct rows from(struct rows rows, size_t row, size_t column)
{
	return (struct rows){ rows.at + row * rows.row + column, rows.row };
}

/* y[rows][n] = the chains of x[rows][k] and w[k][n], rows of a tile; w has whole vectors. */
static void product(size_t rows, size_t k, size_t n, struct rows x, struct rows w, struct rows y)
{
	struct nn_tile t = {
		.kh = 1, .kw = 1, .kl = k, .xs = x.row, .ws = w.row, .ys = y.row, .last = VL
	};
	size_t o = 0;
	for (; o + 2 * VL <= n; o += 2 * VL)
		NN_K(tile)[1][rows](&t, x.at, w.at + o, y.at + o, NULL);
	if (o < n) {
		t.last = n - o > VL ? n - o - VL : n - o;
		NN_K(tile)[n - o > VL][rows](&t, x.at, w.at + o, y.at + o, NULL);
	}
}

/*
 * y[rows] = means of w with the weights x, for positions first, first + 1, ...: each over those
 * that it attends to, whose last ones the first rows of a tile lack.
 */
static void mean(const struct head *h, size_t first, size_t rows, struct rows x, struct rows w,
		 struct rows y)
{
	product(rows, h->causal ? first + 1 : h->t, h->n, x, w, y);
	if (!h->causal)
		return;
	const struct rows xs = from(x, 0, first), ws = from(w, first, 0);
	NN_EACH(i, k, h->n, {
		for (size_t r = 1; r < rows; r++) {
			real *const at = y.at + r * y.row + i;
			vr sum = v_get(at, k);
			for (size_t j = 1; j <= r; j++)
				sum = v_fma(v_set(xs.at[r * xs.row + j]),
					    v_load(ws.at + j * ws.row + i), sum);
			v_put(at, k, sum);
		}
	});
}

/*
 * d[j] goes on with the chains over rows of x[rows][j] and g[rows], for m <= TILE columns of x that
 * are all there; g and d have whole vectors.
 */
static void outer(size_t m, size_t rows, size_t n, struct rows x, struct rows g, struct rows d)
{
	const struct nn_outer t = { .rows = 1,
				    .pixels = rows,
				    .x_pixel = x.row,
				    .y_pixel = g.row,
				    .ds = d.row,
				    .last = VL };
	for (size_t o = 0; rows > 0 && o < n; o += 2 * VL)
		NN_K(outer)[1][n - o > VL][m](&t, x.at, g.at + o, d.at + o);
}

/* The first m - 1 columns of such a tile at the edge of the mask: row r has columns 0 .. r. */
static void edge(size_t m, size_t n, struct rows x, struct rows g, struct rows d)
{
	for (size_t i = 0; i < n; i += VL)
		for (size_t j = 0; j + 1 < m; j++) {
			vr sum = v_load(d.at + j * d.row + i);
			for (size_t r = j; r + 1 < m; r++)
				sum = v_fma(v_set(x.at[r * x.row + j]),
					    v_load(g.at + r * g.row + i), sum);
			v_store(d.at + j * d.row + i, sum);
		}
}

/*
 * d goes on over positions begin .. end - 1, whose weights are the rows of x: each key's and
 * value's over those that attend to it, of which the first ones of a tile attend to its first rows
 * alone.
 */
static void spread(const struct head *h, size_t begin, size_t end, struct rows x, struct rows g,
		   struct rows d)
{
	const size_t most = h->causal ? end : h->t;
	for (size_t j = 0, m; j < most; j += m) {
		const bool masked = h->causal && j >= begin;
		const size_t upto = h->causal && !masked ? begin : most,
			     tile = masked ? MASKED : TILE;
		m = upto - j < tile ? upto - j : tile;
		const size_t all = masked ? j + m - 1 : begin;
		if (masked)
			edge(m, h->n, from(x, j - begin, j), from(g, j, 0), from(d, j, 0));
		outer(m, end - all, h->n, from(x, all - begin, j), from(g, all, 0), from(d, j, 0));
	}
}

/* ---- forward ---- */

/* Columns of the scores of a position. */
static size_t attended(const struct head *h, size_t t)
{
	return h->causal ? t + 1 : h->t;
}

/* Chains of x of those positions with all that they attend to, in whole vectors. */
static void scores(const struct head *h, size_t first, size_t rows, struct rows x, struct rows w,
		   struct rows to)
{
	const size_t n = attended(h, first + rows - 1);
	product(rows, h->n, (n + VL - 1) / VL * VL, from(x, first, 0), w, to);
}

/* The softmax of positions first, first + 1, ..., whose queries are x, in rows of to. */
static void weigh(const struct head *h, size_t first, size_t rows, struct rows x, struct rows to)
{
	scores(h, first, rows, x, h->keys_t, to);
	real most[TILE], sum[TILE];
	/* what a row waits for is hidden by the others */
	for (size_t r = 0; r < rows; r++)
		most[r] = v_largest(to.at + r * to.row, attended(h, first + r));
	for (size_t r = 0; r < rows; r++)
		sum[r] = v_exp_sum(to.at + r * to.row, to.at + r * to.row, attended(h, first + r),
				   most[r]);
	for (size_t r = 0; r < rows; r++)
		v_divide(to.at + r * to.row, attended(h, first + r), sum[r]);
}

static real scale_of(const struct head *h)
{
	real t[VL];
	v_store(t, v_div(v_set(1), v_sqrt(v_set((real)h->n))));
	return t[0];
}

/* The array of a row of the batch from a head's first value on; parts: 3 of x, 1 of y. */
static struct rows part_of(const struct nn_call *call, const void *array, size_t parts,
			   size_t piece)
{
	const struct nn_attention *a = call->site.attrs;
	const size_t t = call->site.out.dim[0], n = call->site.out.dim[1];
	return (struct rows){ (real *)array + piece / a->heads * t * parts * n +
				      piece % a->heads * (n / a->heads),
			      parts * n };
}

/* Positions of a head of a row of the batch. */
static size_t length_of(const struct nn_call *call, size_t piece)
{
	const struct nn_attention *a = call->site.attrs;
	return call->lengths ? call->lengths[piece / a->heads] : call->site.out.dim[0];
}

/* Zeros at the positions behind those of the head, or these added. */
static void clear_behind(const struct nn_call *call, const struct head *h, struct rows y, bool add)
{
	for (size_t t = h->t; t < call->site.out.dim[0]; t++)
		NN_EACH(i, k, h->n, { v_put_gradient(y.at + t * y.row + i, k, v_zero(), add); });
}

/* Ask for a head's positions t, t + 1, ...: rows of an array lie far apart. */
NN_INLINE void ask(const struct head *h, struct rows x, size_t t, size_t rows)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t k = 0; k < h->n; k += 64 / sizeof(real))
			__builtin_prefetch(x.at + (t + i) * x.row + k, 0, 2);
}

/* The same of queries, keys and values of `piece`. */
NN_INLINE void ask_input(const struct nn_call *call, const struct head *h, const void *array,
			 size_t piece, size_t t, size_t rows)
{
	for (size_t part = 0; part < 3; part++)
		ask(h, from(part_of(call, array, 3, piece), 0, part * call->site.out.dim[1]), t,
		    rows);
}

/* A head of a row of the batch, its keys and values copied. */
static struct head open_head(const struct nn_call *call, size_t piece, int thread)
{
	const struct nn_site *site = &call->site;
	const size_t n = site->out.dim[1];
	struct head h = lay_out(site, (real *)call->work + (size_t)thread * reals(site));
	h.t = length_of(call, piece);
	h.input = part_of(call, call->x[0], 3, piece);
	turn(&h, from(h.input, 0, n), scale_of(&h), h.keys_t);
	copy(&h, from(h.input, 0, 2 * n), 1, h.values);
	return h;
}

static void forward_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	for (size_t p = begin; p < end; p++) {
		const struct head h = open_head(call, p, thread);
		const struct rows y = part_of(call, call->y, 1, p);
		const size_t tile = h.causal ? MASKED : TILE;
		for (size_t t = 0; t < h.t; t += tile) {
			const size_t rows = h.t - t < tile ? h.t - t : tile;
			if (p + 1 < end)
				ask_input(call, &h, call->x[0], p + 1, t, rows);
			weigh(&h, t, rows, h.input, h.score);
			mean(&h, t, rows, h.score, h.values, from(y, t, 0));
		}
		clear_behind(call, &h, y, false);
	}
}

/* Work of a head in bytes of memory, for nn_cpu_split. */
static void split(const struct nn_call *call,
		  void (*piece)(void *arg, size_t begin, size_t end, int thread), size_t products)
{
	const struct nn_attention *a = call->site.attrs;
	const size_t t = call->site.out.dim[0], n = call->site.out.dim[1] / a->heads;
	nn_cpu_split(call->pool, call->rows * a->heads, 1, products * t * (t + 8) * (n + 8), piece,
		     (void *)call);
}

/* ---- a step, whose state are scaled keys and values of a head, and of the next one ---- */

static struct sizes state_sizes(const struct nn_site *site)
{
	const struct nn_attention *a = site->attrs;
	const size_t n = site->out.dim[1] / a->heads;
	return (struct sizes){ a->steps * up(n), n * up(a->steps), up(a->steps) };
}

static void step_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const struct sizes s = state_sizes(&call->site);
	const size_t all = call->site.out.dim[1], now = call->step;
	for (size_t p = begin; p < end; p++) {
		real *state = (real *)call->state + p * (s.flat + s.tall);
		const struct nn_attention *a = call->site.attrs;
		const struct rows y = part_of(call, call->y, 1, p);
		struct head h = { .t = 1,
				  .n = all / a->heads,
				  .causal = true,
				  .input = part_of(call, call->x[0], 3, p),
				  .keys_t = { state, s.scores },
				  .values = { state + s.flat, up(all / a->heads) },
				  .score = { (real *)call->work + (size_t)thread * s.scores, 0 } };
		const real scale = scale_of(&h);
		for (size_t i = 0; i < h.n; i++)
			h.keys_t.at[i * s.scores + now] = h.input.at[all + i] * scale;
		copy(&h, from(h.input, 0, 2 * all), 1, from(h.values, now, 0));
		product(1, h.n, now + 1, h.input, h.keys_t, h.score);
		v_softmax(h.score.at, h.score.at, now + 1);
		product(1, now + 1, h.n, h.score, h.values, y);
	}
}

static void forward(const struct nn_call *call)
{
	const struct nn_attention *a = call->site.attrs;
	split(call, a->steps ? step_piece : forward_piece, 2);
}

/* ---- backward ---- */

/* dx = d * scale, or dx + that. */
static void give(const struct head *h, struct rows d, size_t rows, real scale, real *dx, bool add)
{
	for (size_t t = 0; t < rows; t++)
		NN_EACH(i, k, h->n, {
			v_put_gradient(dx + t * h->input.row + i, k,
				       v_mul(v_get(d.at + t * d.row + i, k), v_set(scale)), add);
		});
}

static void clear(struct rows d, size_t rows)
{
	for (size_t i = 0; i < rows * d.row; i += VL)
		v_store(d.at + i, v_zero());
}

/* ds becomes the gradient of the scores of positions first, first + 1, ... with softmax p. */
static void slopes(const struct head *h, size_t first, size_t rows, struct rows p, struct rows ds)
{
	real dot[TILE];
	for (size_t r = 0; r < rows; r++)
		dot[r] =
			v_softmax_dot(p.at + r * p.row, ds.at + r * ds.row, attended(h, first + r));
	for (size_t r = 0; r < rows; r++) {
		real *const at = ds.at + r * ds.row;
		v_softmax_slope(p.at + r * p.row, at, dot[r], at, attended(h, first + r), false);
	}
}

/* Softmax and slopes of positions begin .. end - 1, and the gradients of their queries. */
static void back_block(const struct nn_call *call, const struct head *h, size_t piece, size_t begin,
		       size_t end, bool next)
{
	const struct rows dx = part_of(call, call->dx[0], 3, piece);
	const bool add = call->dx_add[0];
	const size_t tile = h->causal ? MASKED : TILE;
	for (size_t t = begin; t < end; t += tile) {
		const size_t rows = end - t < tile ? end - t : tile;
		const struct rows p = from(h->score, t - begin, 0),
				  ds = from(h->slope, t - begin, 0);
		ask_input(call, h, call->dx[0], piece, t, rows);
		if (next) {
			ask_input(call, h, call->x[0], piece + 1, t, rows);
			ask(h, part_of(call, call->dy, 1, piece + 1), t, rows);
		}
		weigh(h, t, rows, h->q, p);
		scores(h, t, rows, h->dy, h->values_t, ds);
		slopes(h, t, rows, p, ds);
		mean(h, t, rows, ds, h->keys, h->dq);
		give(h, h->dq, rows, 1, from(dx, t, 0).at, add);
	}
}

static void backward_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct nn_call *call = arg;
	const size_t n = call->site.out.dim[1];
	const bool add = call->dx_add[0];
	for (size_t p = begin; p < end; p++) {
		const struct head h = open_head(call, p, thread);
		const struct rows dx = part_of(call, call->dx[0], 3, p);
		copy(&h, h.input, 1, h.q);
		copy(&h, part_of(call, call->dy, 1, p), 1, h.dy);
		copy(&h, from(h.input, 0, n), scale_of(&h), h.keys);
		turn(&h, from(h.input, 0, 2 * n), 1, h.values_t);
		clear(h.dkeys, h.t);
		clear(h.dvalues, h.t);
		for (size_t t = 0; t < h.t; t += BLOCK) {
			const size_t last = h.t - t < BLOCK ? h.t : t + BLOCK;
			back_block(call, &h, p, t, last, p + 1 < end);
			spread(&h, t, last, h.score, h.dy, h.dvalues);
			spread(&h, t, last, h.slope, h.q, h.dkeys);
		}
		give(&h, h.dkeys, h.t, scale_of(&h), dx.at + n, add);
		give(&h, h.dvalues, h.t, 1, dx.at + 2 * n, add);
		for (size_t part = 0; part < 3; part++)
			clear_behind(call, &h, from(dx, 0, part * n), add);
	}
}

static void backward(const struct nn_call *call)
{
	if (call->dx[0])
		split(call, backward_piece, 6);
}

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	(void)max_rows;
	(void)max_leaves;
	return (size_t)threads * sizeof(real) *
	       (((const struct nn_attention *)site->attrs)->steps ? state_sizes(site).scores
								    : reals(site));
}

static size_t state(const struct nn_site *site)
{
	const struct nn_attention *a = site->attrs;
	const struct sizes s = state_sizes(site);
	return a->heads * (s.flat + s.tall) * sizeof(real);
}

const struct nn_kernel NN_K(attention) = {
	.forward = forward, .backward = backward, .state = state, .work = work
};
