/*
 * A dense layer's gradient towards its weights and bias, leaves summed along the tree in registers
 * and the nearest cache.
 */
#include "device/cpu/product/dense.h"
#include "device/cpu/product/outer.h"
#include "device/cpu/product/pack.h"

#define NN_SHORT_LEAF 32 /* rows: those of two go side by side */
#define NN_ASK_ROWS 64   /* rows of a tile whose results are worth asking for */
#define NN_MOST_TILES 64 /* of a block of inputs */

/*
 * Are leaves so short that stores of their sums on the way cost more than loads twice as many? On
 * AMD's cores, which take two cycles for a store of 64 bytes; elsewhere it costs up to 9 %.
 */
#ifdef NN_PAIR
static bool pairs_pay(const struct nn_outer *o)
{
	return o->pixels <= NN_SHORT_LEAF * o->n_leaves && __builtin_cpu_is("amd");
}
#endif

/* Tiles of one or two vectors. */
struct tiles {
	nn_outer_function *const *run[2]; /* [last == VL][inputs] */
	size_t widest;
	bool busy;                         /* they do what is beside them themselves */
	size_t n, from[NN_MOST_TILES + 1]; /* inputs from[i] to from[i + 1] - 1 of a block */
	size_t x[NN_MOST_TILES];           /* where these begin in x */
};

static void choose_tiles(struct tiles *t, const struct nn_outer *o, size_t vectors)
{
	const bool tree = o->first && o->n_leaves > 1;
	t->widest = vectors == 2 ? NN_TILE_2 : NN_TILE_1;
	t->busy = tree;
	for (int whole = 0; whole < 2; whole++)
		t->run[whole] = (tree ? NN_K(outer_tree) : NN_K(outer))[whole][vectors - 1];
#ifdef NN_PAIR
	if (tree && vectors == 2 && pairs_pay(o)) {
		t->widest = NN_PAIR;
		t->busy = false;
		for (int whole = 0; whole < 2; whole++)
			t->run[whole] = NN_K(outer_pairs)[whole];
	}
#endif
}

/* Cut n inputs as evenly as they can be; strips: x is in strips, so many reals apart, or 0. */
static void cut_tiles(struct tiles *t, size_t n, size_t strips)
{
	const size_t parts = strips ? (n + NN_DENSE_STRIP - 1) / NN_DENSE_STRIP : 1;
	t->n = 0;
	for (size_t s = 0; s < parts; s++) {
		const size_t begin = s * n / parts, end = (s + 1) * n / parts,
			     tiles = (end - begin + t->widest - 1) / t->widest;
		for (size_t i = 0; i < tiles; i++, t->n++) {
			const size_t at = i * (end - begin) / tiles;
			t->from[t->n] = begin + at;
			t->x[t->n] = strips ? s * strips + at : at;
		}
	}
	t->from[t->n] = n;
}

/* Packed elements [at, at + n) of the gradient, where they are computed. */
struct run {
	size_t at, n;
	real *g;
};

/*
 * What goes on beside the products of a tile, in parts, so that neither takes what the other needs:
 * memory that will be touched when the tile is complete is asked for, and the tile before this one,
 * whose memory has come by now, is given to the sink.
 */
struct beside {
	const struct nn_sink *sink;
	real *tiles[2]; /* with a sink */
	real *dw;       /* without */
	bool ask;
	size_t done, share; /* elements of either: in parts so far, in a part */
	const char *touched[3];
	struct run now, last;
};

static void do_part(void *arg)
{
	struct beside *b = arg;
	const size_t from = b->done, to = b->done = from + b->share;
	if (b->ask)
		for (size_t at = from * sizeof(real); at < to * sizeof(real); at += 64)
			for (int i = 0; i < 3 && b->touched[i]; i++)
				__builtin_prefetch(b->touched[i] + at, 1);
	if (from < b->last.n)
		b->sink->take(b->sink, b->last.at + from, b->last.g + from,
			      nn_least(b->share, b->last.n - from));
}

/* A tile of n elements at `at` begins: where it is to be computed. */
static real *begin_tile(struct beside *b, size_t at, size_t n, size_t parts)
{
	const size_t most = b->now.n > n ? b->now.n : n;
	b->done = 0;
	b->share = nn_round_up((most + parts - 1) / parts, NN_LANES);
	if (!b->sink) { /* what is asked for is the next tile's */
		b->touched[0] = (const char *)(b->dw + at + n);
		return b->dw + at;
	}
	for (int i = 0; i < 3 && b->sink->touched[i]; i++)
		b->touched[i] = (const char *)((const real *)b->sink->touched[i] + at);
	b->last = b->now;
	b->now = (struct run){ at, n, b->last.g == b->tiles[0] ? b->tiles[1] : b->tiles[0] };
	return b->now.g;
}

static void end_tiles(struct beside *b)
{
	if (b->sink && b->now.n)
		b->sink->take(b->sink, b->now.at, b->now.g, b->now.n);
}

/*
 * Channels [begin, end) of a block's inputs; a tile's inputs have all of them before the next ones
 * do. to: the place in the gradient of the first input's first channel in the panel.
 */
static void block_columns(const struct nn_outer *o, const struct tiles tiles[2], const real *x,
			  const real *dy, size_t to, size_t begin, size_t end)
{
	const struct tiles *const cut = &tiles[end - begin > VL];
	const size_t pairs = (end - begin + 2 * VL - 1) / (2 * VL);
	struct beside *const b = o->arg;
	const bool idle = !b->sink && !b->ask;
	struct nn_outer tile = *o;
	for (size_t i = 0; i < cut->n; i++) {
		const size_t n = cut->from[i + 1] - cut->from[i];
		const size_t at = to + cut->from[i] * o->ds;
		real *const g =
			idle ? b->dw + at
			     : begin_tile(b, at, n * o->ds, cut->busy ? pairs * o->n_leaves : 1);
		if (b->sink)
			nn_clear_padding(g, o->ds, end, 0, n);
		if (!idle && !cut->busy)
			do_part(b);
		for (size_t c = begin; c < end; c += 2 * VL) {
			const size_t left = end - c, vectors = left > VL ? 2 : 1;
			tile.last = left >= 2 * VL ? VL : left > VL ? left - VL : left;
			tiles[vectors - 1].run[tile.last == VL][n](&tile, x + cut->x[i], dy + c,
								   g + c);
		}
	}
}

/*
 * The block's inputs, from k0 on, of panel p. A sink is given whole rows of the panel; else two
 * vectors of dy at a time stay in the nearest cache.
 */
static void block(const struct nn_matrix *d, const struct nn_outer *model,
		  const struct tiles tiles[2], const real *x, const real *dy, size_t k0, size_t p)
{
	const size_t panel = p * NN_PANEL, width = nn_panel_width(d->out, panel),
		     channels = nn_least(d->out - panel, width);
	const size_t to = panel * d->in + k0 * width;
	const struct beside *const b = model->arg;
	struct nn_outer o = *model;
	o.ds = width;
	if (!b->sink)
		nn_clear_padding(b->dw + to, width, channels, 0, tiles->from[tiles->n]);
	for (size_t begin = 0, end; begin < channels; begin = end) {
		end = b->sink ? channels : nn_least(begin + 2 * VL, channels);
		block_columns(&o, tiles, x, dy, to, begin, end);
	}
}

/* Rows x n of x as strips of a tile's inputs, `step` reals apart. */
static void copy_strips(const real *x, size_t x_row, size_t rows, size_t n, real *to, size_t step)
{
	const size_t strips = (n + NN_DENSE_STRIP - 1) / NN_DENSE_STRIP;
	size_t from[NN_MOST_TILES + 1];
	for (size_t s = 0; s <= strips; s++)
		from[s] = s * n / strips;
	for (size_t r = 0; r < rows; r++, x += x_row, to += NN_DENSE_STRIP_ROW)
		for (size_t s = 0; s < strips; s++)
			nn_copy_row(x + from[s], nn_least(n - from[s], NN_DENSE_STRIP_ROW),
				    to + s * step);
}

/* Panels [p0, p1) of dy, each by itself with its rows close together; *row is then their step. */
static const real *copy_panels(const struct nn_matrix *d, size_t rows, const real *dy, size_t p0,
			       size_t p1, size_t *row, real *to)
{
	for (size_t p = p0; p < p1; p++)
		for (size_t r = 0; r < rows; r++)
			nn_copy_row(dy + r * d->y_row + p * NN_PANEL,
				    nn_least(d->out - p * NN_PANEL, NN_PANEL),
				    to + ((p - p0) * rows + r) * NN_PANEL);
	*row = NN_PANEL;
	return to;
}

void NN_K(dense_weight_gradient)(const struct nn_matrix *d, const real *x, const real *dy,
				 const size_t *leaf, size_t n_leaves, bool first, real *dw,
				 const struct nn_sink *sink, size_t k0, size_t k1, size_t p0,
				 size_t p1, void *scratch)
{
	const size_t rows = leaf[n_leaves] - leaf[0], inputs = nn_dense_weights_inputs(rows);
	const bool copy_x = nn_dense_strips_pay(d, rows, p1 - p0);
	const bool copy_y =
		rows <= NN_DENSE_DW_ROWS && nn_rows_apart(d->y_row) && k1 - k0 >= inputs;
	real *const x_copy = scratch, *const y_copy = x_copy + nn_dense_weights_x(d, rows);
	const size_t panels = copy_y ? nn_dense_weights_panels(d, rows) : p1 - p0;
	const size_t strips = copy_x ? nn_dense_strip_step(rows) : 0;
	_Alignas(64) real room[2][NN_TILE_MAX * NN_PANEL];
	struct beside b = {
		.sink = sink, .tiles = { room[0], room[1] }, .dw = dw, .ask = rows >= NN_ASK_ROWS
	};
	struct nn_outer o = { .rows = 1,
			      .pixels = rows,
			      .first = first,
			      .leaf = leaf,
			      .n_leaves = n_leaves,
			      .beside = do_part,
			      .arg = &b };
	struct tiles tiles[2];
	for (size_t vectors = 1; vectors <= 2; vectors++)
		choose_tiles(&tiles[vectors - 1], &o, vectors);
	o.x_pixel = copy_x ? NN_DENSE_STRIP_ROW : d->x_row;
	for (size_t q = p0, q1; q < p1; q = q1) {
		q1 = nn_least(q + panels, p1);
		o.y_pixel = d->y_row;
		const real *const y = copy_y ? copy_panels(d, rows, dy, q, q1, &o.y_pixel, y_copy)
					     : dy + q * NN_PANEL;
		const size_t step = copy_y ? rows * NN_PANEL : NN_PANEL;
		for (size_t k = k0, next; k < k1; k = next) {
			next = nn_least(k + inputs, k1);
			if (copy_x)
				copy_strips(x + k, d->x_row, rows, next - k, x_copy, strips);
			for (int i = 0; i < 2; i++)
				cut_tiles(&tiles[i], next - k, strips);
			for (size_t p = q; p < q1; p++)
				block(d, &o, tiles, copy_x ? x_copy : x + k, y + (p - q) * step, k,
				      p);
		}
	}
	end_tiles(&b);
}

/* Rows [r0, r1) added to sum. */
static vr column_sum(const struct nn_matrix *d, const real *dy, size_t r0, size_t r1, vm lanes,
		     vr sum)
{
	for (size_t r = r0; r < r1; r++)
		sum = v_add(v_load_m(dy + r * d->y_row, lanes), sum);
	return sum;
}

void NN_K(dense_bias_gradient)(const struct nn_matrix *d, const real *dy, const size_t *leaf,
			       size_t n_leaves, bool first, real *db)
{
	for (size_t o = 0; o < d->out; o += VL) {
		const vm lanes = vm_first(nn_least(d->out - o, VL));
		vr waiting[NN_OUTER_LEVELS], sum = first ? v_zero() : v_load_m(db + o, lanes);
		int n_waiting = 0;
		for (size_t i = 0; i < n_leaves; i++) {
			sum = column_sum(d, dy + o, leaf[i] - leaf[0], leaf[i + 1] - leaf[0], lanes,
					 sum);
			for (size_t left = i; left & 1; left >>= 1)
				sum = v_add(waiting[--n_waiting], sum);
			if (i + 1 < n_leaves) {
				waiting[n_waiting++] = sum;
				sum = v_zero();
			}
		}
		v_store_m(db + o, lanes, sum);
	}
}

void NN_K(leaf_add)(real *left, const real *right, size_t n)
{
	size_t i = 0;
	for (; i + VL <= n; i += VL)
		v_store(left + i, v_add(v_load(left + i), v_load(right + i)));
	v_store_n(left + i, n - i, v_add(v_load_n(left + i, n - i), v_load_n(right + i, n - i)));
}
