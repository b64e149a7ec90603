/*
 * A dense layer's gradient towards its weights and bias, leaves summed along the tree in registers
 * and the nearest cache.
 */
#include "base/cpu.h"
#include "device/cpu/product/dense.h"
#include "device/cpu/product/outer.h"
#include "device/cpu/product/pack.h"

#define NN_SHORT_LEAF 32 /* rows: those of two go side by side */
#define NN_ASK_ROWS 64   /* rows of a tile whose results are worth asking for */
#define NN_MOST_TILES 64 /* of a block of inputs */
#define NN_COLUMN_VECTORS 8 /* of a bias whose sums go side by side */
#define NN_COPY_AHEAD 8     /* rows that are asked for before they are copied */

/*
 * Are leaves so short that stores of their sums on the way cost more than loads twice as many? On
 * AMD's cores, the only ones with SSE4A, which take two cycles for a store of 64 bytes; elsewhere
 * it costs up to 9 %.
 */
#ifdef NN_PAIR
static bool pairs_pay(const struct nn_outer *o)
{
	return o->pixels <= NN_SHORT_LEAF * o->n_leaves && NN_CPU_HAS(SSE4A);
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
 * What goes on beside the products of a tile where there is a sink, in parts, so that neither takes
 * what the other needs: memory that the sink touches for the tile is asked for, and the tile before
 * this one, whose memory has come by now, is given to it.
 */
struct beside {
	const struct nn_sink *sink;
	real *tiles[2]; /* room */
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
	for (int i = 0; i < 3 && b->sink->touched[i]; i++)
		b->touched[i] = (const char *)((const real *)b->sink->touched[i] + at);
	b->last = b->now;
	b->now = (struct run){ at, n, b->last.g == b->tiles[0] ? b->tiles[1] : b->tiles[0] };
	return b->now.g;
}

/*
 * Stores that wait for memory hold up the sums' stores: what a tile stores at its end is asked for
 * at its beginning.
 */
NN_INLINE void fetch(const real *d, size_t n, size_t ds, size_t vectors)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < vectors; j++)
			__builtin_prefetch(d + i * ds + j * VL, 1);
}

/* A block of inputs and a panel: their first element of the gradient, channels, width. */
struct place {
	size_t at, channels, width;
};

/* dy of a panel, of which each tile reads two vectors a row; the next two are `pair` on. */
struct slopes {
	const real *at;
	size_t pair;
};

static const real *pair_at(struct slopes dy, size_t c)
{
	return dy.at + c / (2 * VL) * dy.pair;
}

/* Two vectors of dy stay in the nearest cache while the tiles pass. */
static void store_block(const struct nn_outer *model, const struct tiles tiles[2], const real *x,
			struct slopes dy, struct place p, real *dw)
{
	const bool far = model->pixels >= NN_ASK_ROWS;
	struct nn_outer o = *model;
	o.ds = p.width;
	nn_clear_padding(dw + p.at, p.width, p.channels, 0, tiles->from[tiles->n]);
	for (size_t c = 0; c < p.channels; c += 2 * VL) {
		const size_t left = p.channels - c, vectors = left > VL ? 2 : 1;
		const struct tiles *const t = &tiles[vectors - 1];
		o.last = left >= 2 * VL ? VL : left > VL ? left - VL : left;
		for (size_t i = 0; i < t->n; i++) {
			const size_t n = t->from[i + 1] - t->from[i];
			real *const to = dw + p.at + t->from[i] * p.width + c;
			if (far && !t->busy)
				fetch(to, n, p.width, vectors);
			o.next = to + n * p.width;
			o.next_size = far ? n * p.width * sizeof(real) : 0;
			t->run[o.last == VL][n](&o, x + t->x[i], pair_at(dy, c), to);
		}
	}
}

/* A tile's inputs have all channels before the next ones do: what the sink is given lies together.
 */
static void give_block(const struct nn_outer *model, const struct tiles tiles[2], const real *x,
		       struct slopes dy, struct place p)
{
	const struct tiles *const cut = &tiles[p.channels > VL];
	const size_t pairs = (p.channels + 2 * VL - 1) / (2 * VL);
	struct beside *const b = model->arg;
	struct nn_outer o = *model;
	o.ds = p.width;
	for (size_t i = 0; i < cut->n; i++) {
		const size_t n = cut->from[i + 1] - cut->from[i];
		real *const g = begin_tile(b, p.at + cut->from[i] * p.width, n * p.width,
					   cut->busy ? pairs * o.n_leaves : 1);
		nn_clear_padding(g, p.width, p.channels, 0, n);
		if (!cut->busy)
			do_part(b);
		for (size_t c = 0; c < p.channels; c += 2 * VL) {
			const size_t left = p.channels - c, vectors = left > VL ? 2 : 1;
			o.last = left >= 2 * VL ? VL : left > VL ? left - VL : left;
			tiles[vectors - 1].run[o.last == VL][n](&o, x + cut->x[i], pair_at(dy, c),
								g + c);
		}
	}
}

/* The block's inputs, from k0 on, of panel p. */
static void block(const struct nn_matrix *d, const struct nn_outer *o, const struct tiles tiles[2],
		  const real *x, struct slopes dy, real *dw, size_t k0, size_t p)
{
	const size_t panel = p * NN_PANEL, width = nn_panel_width(d->out, panel);
	const struct place place = { panel * d->in + k0 * width, nn_least(d->out - panel, width),
				     width };
	if (o->beside)
		give_block(o, tiles, x, dy, place);
	else
		store_block(o, tiles, x, dy, place, dw);
}

/* Ask for a row that is copied soon: rows lie so far apart that nobody guesses them. */
NN_INLINE void ask(const real *row, size_t n)
{
	for (size_t i = 0; i < n; i += 64 / sizeof(real))
		__builtin_prefetch(row + i);
}

/* Rows x n of x as strips of a tile's inputs, `step` reals apart. */
static void copy_strips(const real *x, size_t x_row, size_t rows, size_t n, real *to, size_t step)
{
	const size_t strips = (n + NN_DENSE_STRIP - 1) / NN_DENSE_STRIP;
	size_t from[NN_MOST_TILES + 1];
	for (size_t s = 0; s <= strips; s++)
		from[s] = s * n / strips;
	for (size_t r = 0; r < rows; r++, x += x_row, to += NN_DENSE_STRIP_ROW) {
		ask(x + NN_COPY_AHEAD * x_row, n);
		for (size_t s = 0; s < strips; s++)
			nn_copy_row(x + from[s], nn_least(n - from[s], NN_DENSE_STRIP_ROW),
				    to + s * step);
	}
}

/*
 * Panels [p0, p1) of dy, pair after pair of vectors: rows that follow each other fill all sets of
 * the nearest cache. Read in the order of memory.
 */
static void copy_pairs(const struct nn_matrix *d, size_t rows, const real *dy, size_t p0, size_t p1,
		       real *to)
{
	const size_t begin = p0 * NN_PANEL, n = nn_least(d->out, p1 * NN_PANEL) - begin,
		     whole = n / (2 * VL) * (2 * VL), step = nn_dense_pair_step(rows) / (2 * VL);
	for (size_t r = 0; r < rows; r++) {
		const real *const from = dy + r * d->y_row + begin;
		real *const row = to + r * 2 * VL;
		for (size_t c = 0; c < whole; c += 2 * VL) {
			v_store(row + c * step, v_load(from + c));
			v_store(row + c * step + VL, v_load(from + c + VL));
		}
		if (whole < n)
			nn_copy_row(from + whole, n - whole, row + whole * step);
	}
}

static void rows_gradient(const struct nn_matrix *d, const real *x, const real *dy,
			  const size_t *leaf, size_t n_leaves, bool first, real *dw,
			  const struct nn_sink *sink, size_t k0, size_t k1, size_t p0, size_t p1,
			  void *scratch)
{
	const size_t rows = leaf[n_leaves] - leaf[0], inputs = nn_dense_weights_inputs(rows);
	const bool copy_x = nn_dense_strips_pay(d, rows, p1 - p0);
	const bool copy_y =
		nn_dense_pairs_pay(d, rows) && k1 - k0 >= nn_least(inputs, 4 * NN_TILE_2);
	real *const x_copy = scratch, *const y_copy = x_copy + nn_dense_weights_x(d, rows);
	const size_t panels = copy_y ? nn_dense_weights_panels(d, rows) : p1 - p0;
	const size_t pair = copy_y ? nn_dense_pair_step(rows) : 2 * VL;
	const size_t strips = copy_x ? nn_dense_strip_step(rows) : 0;
	_Alignas(64) real room[2][NN_TILE_MAX * NN_PANEL];
	struct beside b = { .sink = sink,
			    .tiles = { room[0], room[1] },
			    .ask = rows >= NN_ASK_ROWS };
	struct nn_outer o = { .rows = 1,
			      .pixels = rows,
			      .first = first,
			      .leaf = leaf,
			      .n_leaves = n_leaves,
			      .beside = sink ? do_part : NULL,
			      .arg = &b };
	struct tiles tiles[2];
	for (size_t vectors = 1; vectors <= 2; vectors++)
		choose_tiles(&tiles[vectors - 1], &o, vectors);
	o.x_pixel = copy_x ? NN_DENSE_STRIP_ROW : d->x_row;
	o.y_pixel = copy_y ? 2 * VL : d->y_row;
	for (size_t q = p0, q1; q < p1; q = q1) {
		q1 = nn_least(q + panels, p1);
		if (copy_y)
			copy_pairs(d, rows, dy, q, q1, y_copy);
		for (size_t k = k0, next; k < k1; k = next) {
			next = nn_least(k + inputs, k1);
			if (copy_x && (k1 - k0 > inputs || q == p0))
				copy_strips(x + k, d->x_row, rows, next - k, x_copy, strips);
			for (int i = 0; i < 2; i++)
				cut_tiles(&tiles[i], next - k, strips);
			for (size_t p = q; p < q1; p++) {
				const struct slopes y = {
					copy_y ? y_copy + (p - q) * (NN_PANEL / (2 * VL)) * pair
					       : dy + p * NN_PANEL,
					pair
				};
				block(d, &o, tiles, copy_x ? x_copy : x + k, y, dw, k, p);
			}
		}
	}
	if (b.now.n)
		sink->take(sink, b.now.at, b.now.g, b.now.n);
}

/* What is computed: inputs [k0, k1) of panels [p0, p1). */
struct part {
	size_t k0, k1, p0, p1;
};

/* The chains of a long leaf go on from block to block, where the sums stay in the caches. */
static void long_leaf(const struct nn_matrix *d, const real *x, const real *dy, size_t rows,
		      bool first, real *dw, struct part part, void *scratch)
{
	const size_t most = NN_DENSE_DW_BLOCK;
	for (size_t r = 0; r < rows; r += most) {
		const size_t bounds[] = { 0, nn_least(most, rows - r) };
		rows_gradient(d, x + r * d->x_row, dy + r * d->y_row, bounds, 1, first && r == 0,
			      dw, NULL, part.k0, part.k1, part.p0, part.p1, scratch);
	}
}

static void add_part(const struct nn_matrix *d, real *left, const real *right, struct part part)
{
	for (size_t p = part.p0; p < part.p1; p++) {
		const size_t width = nn_panel_width(d->out, p * NN_PANEL),
			     at = p * NN_PANEL * d->in + part.k0 * width;
		NN_K(leaf_add)(left + at, right + at, (part.k1 - part.k0) * width);
	}
}

/* Long leaves wait in scratch for their neighbours, short ones where outer_tree keeps them. */
void NN_K(dense_weight_gradient)(const struct nn_matrix *d, const real *x, const real *dy,
				 const size_t *leaf, size_t n_leaves, bool first, real *dw,
				 const struct nn_sink *sink, size_t k0, size_t k1, size_t p0,
				 size_t p1, void *scratch)
{
	const size_t rows = leaf[n_leaves] - leaf[0], n = nn_dense_weights_sums(d);
	const struct part part = { k0, k1, p0, p1 };
	real *sum[NN_DENSE_DW_WAITING + 1] = { dw }, *rest = scratch;
	if (sink || !nn_dense_leaves_long(d, rows, n_leaves)) {
		rows_gradient(d, x, dy, leaf, n_leaves, first, dw, sink, k0, k1, p0, p1, scratch);
		return;
	}
	for (size_t level = 1; n_leaves >> level; level++, rest += n)
		sum[level] = rest;
	for (size_t i = 0, top = 0; i < n_leaves; i++, top++) {
		const size_t from = leaf[i] - leaf[0];
		long_leaf(d, x + from * d->x_row, dy + from * d->y_row, leaf[i + 1] - leaf[i],
			  first || i > 0, sum[top], part, rest);
		for (size_t left = i; left & 1; left >>= 1, top--)
			add_part(d, sum[top - 1], sum[top], part);
	}
}

/*
 * NV vectors of columns, the last one with `last` channels. Alone each chain would wait for its own
 * sums, and read a line or two of each row.
 */
NN_INLINE void column_sums(int NV, const struct nn_matrix *d, const real *dy, const size_t *leaf,
			   size_t n_leaves, bool first, size_t last, real *db)
{
	const vm lanes = vm_first(last);
	vr waiting[NN_OUTER_LEVELS][NN_COLUMN_VECTORS], sum[NN_COLUMN_VECTORS];
	int n_waiting = 0;
	NN_UNROLL
	for (int j = 0; j < NV; j++)
		sum[j] = first ? v_zero() : v_load_m(db + j * VL, j < NV - 1 ? vm_first(VL) : lanes);
	for (size_t i = 0; i < n_leaves; i++) {
		for (size_t r = leaf[i]; r < leaf[i + 1]; r++, dy += d->y_row) {
			NN_UNROLL
			for (int j = 0; j < NV - 1; j++)
				sum[j] = v_add(v_load(dy + j * VL), sum[j]);
			sum[NV - 1] = v_add(v_load_m(dy + (NV - 1) * VL, lanes), sum[NV - 1]);
		}
		for (size_t left = i; left & 1; left >>= 1) {
			n_waiting--;
			NN_UNROLL
			for (int j = 0; j < NV; j++)
				sum[j] = v_add(waiting[n_waiting][j], sum[j]);
		}
		if (i + 1 == n_leaves)
			break;
		NN_UNROLL
		for (int j = 0; j < NV; j++) {
			waiting[n_waiting][j] = sum[j];
			sum[j] = v_zero();
		}
		n_waiting++;
	}
	NN_UNROLL
	for (int j = 0; j < NV - 1; j++)
		v_store(db + j * VL, sum[j]);
	v_store_m(db + (NV - 1) * VL, lanes, sum[NV - 1]);
}

void NN_K(dense_bias_gradient)(const struct nn_matrix *d, const real *dy, const size_t *leaf,
			       size_t n_leaves, bool first, real *db)
{
	size_t o = 0;
	for (; o + NN_COLUMN_VECTORS * VL <= d->out; o += NN_COLUMN_VECTORS * VL)
		column_sums(NN_COLUMN_VECTORS, d, dy + o, leaf, n_leaves, first, VL, db + o);
	for (; o < d->out; o += VL)
		column_sums(1, d, dy + o, leaf, n_leaves, first, nn_least(d->out - o, VL), db + o);
}

void NN_K(leaf_add)(real *left, const real *right, size_t n)
{
	size_t i = 0;
	for (; i + VL <= n; i += VL)
		v_store(left + i, v_add(v_load(left + i), v_load(right + i)));
	v_store_n(left + i, n - i, v_add(v_load_n(left + i, n - i), v_load_n(right + i, n - i)));
}
