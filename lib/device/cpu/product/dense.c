/*
 * A dense layer forward: a 1x1 convolution whose pixels are rows, in blocks of k that go on with
 * the chain; of one row also with weights that nobody packed.
 */
#include "device/cpu/product/pack.h"
#include "device/cpu/product/dense.h"
#include "device/cpu/product/tile.h"

/* of a block, about: they stay in the second-level cache while all panels pass */
#define ROWS NN_DENSE_ROWS
#define STEPS NN_DENSE_STEPS /* k's of a block at most */
#define NN_FETCH_TILES 6     /* of a panel, in whose time the next one's weights can arrive */

static struct nn_tile tile_at(const struct nn_matrix *d, const struct nn_tail *tail, size_t o,
			      bool end)
{
	const size_t left = d->out - o;
	struct nn_tile t = { .kh = 1,
			     .kw = 1,
			     .xs = d->x_row,
			     .ys = d->y_row,
			     .fs = d->y_row,
			     .rs = tail->residual_row };
	t.ws = nn_panel_width(d->out, o / NN_PANEL * NN_PANEL);
	t.last = left >= 2 * VL ? VL : left > VL ? left - VL : left;
	if (end) {
		t.bias = tail->bias ? (const real *)tail->bias + o : NULL;
		t.act = tail->act;
		t.slope = (real)tail->slope;
	}
	return t;
}

/* The weights of channel o at step k. */
static const real *weights_at(const struct nn_matrix *d, const real *w, size_t o, size_t k)
{
	const size_t panel = o / NN_PANEL * NN_PANEL;
	return w + panel * d->in + k * nn_panel_width(d->out, panel) + (o - panel);
}

/*
 * Up to three rows: many panels at once, so that their loads stream. Returns the first channel that
 * is left.
 */
static size_t few_rows(const struct nn_matrix *d, size_t rows, const real *x, const real *w,
		       const struct nn_tail *tail, real *y, size_t o, size_t end)
{
	for (int level = NN_WIDE_LEVELS - 1; level > 0; level--) {
		nn_wide_function *const f = NN_K(wide)[rows][level];
		const size_t units = (size_t)1 << level, channels = units * 2 * VL;
		for (; f && o + channels <= end; o += channels) {
			const real *wu[8], *residual = tail->residual;
			if (nn_panel_width(d->out, (o + channels - 1) / NN_PANEL * NN_PANEL) <
			    NN_PANEL)
				break;
			for (size_t u = 0; u < units; u++)
				wu[u] = weights_at(d, w, o + u * 2 * VL, 0);
			struct nn_tile t = tile_at(d, tail, o, true);
			t.kl = d->in;
			f(&t, x, wu, y + o, residual ? residual + o : NULL);
		}
	}
	return o;
}

/* Ask for what the next tile goes on from or stores, far apart in y. */
NN_INLINE void fetch(const struct nn_matrix *d, const real *y, size_t rows, size_t vectors)
{
	for (size_t r = 0; r < rows; r++)
		for (size_t j = 0; j < vectors; j++)
			__builtin_prefetch(y + r * d->y_row + j * VL, 1, 2);
}

/*
 * Ask for share i of n of `reals` weights at w, in the second-level cache: the tiles of a panel do
 * it for the next one.
 */
NN_INLINE void fetch_weights(const real *w, size_t reals, size_t i, size_t n)
{
	const size_t lines = reals * sizeof(real) / 64;
	for (size_t line = i * lines / n; line < (i + 1) * lines / n; line++)
		__builtin_prefetch((const char *)w + line * 64, 0, 2);
}

/* Steps [k0, k1) of the chains of `rows` rows, for channels [o, end). */
static void block(const struct nn_matrix *d, size_t rows, const real *x, size_t xs, const real *w,
		  const struct nn_tail *tail, real *y, size_t o, size_t end, size_t k0, size_t k1)
{
	const size_t bytes = d->in * d->out * sizeof(real);
	const bool far = bytes >= NN_DENSE_FAR;
	for (; o < end; o += 2 * VL) {
		struct nn_tile t = tile_at(d, tail, o, k1 == d->in);
		const size_t vectors = d->out - o > VL ? 2 : 1,
			     widest = vectors == 2 ? NN_TILE_2 : NN_TILE_1;
		const size_t tiles = (rows + widest - 1) / widest, next = o + 2 * VL;
		const bool fetches = bytes >= 4 * NN_DENSE_FAR && tiles >= NN_FETCH_TILES &&
				     next % NN_PANEL == 0 && next < end;
		const real *residual =
			k1 == d->in && tail->residual ? (const real *)tail->residual + o : NULL;
		t.kl = k1 - k0;
		t.xs = xs;
		for (size_t i = 0; i < tiles; i++) {
			const size_t r0 = i * rows / tiles, r1 = (i + 1) * rows / tiles;
			real *const to = y + r0 * d->y_row + o;
			t.from = k0 ? to : NULL;
			if (fetches)
				fetch_weights(weights_at(d, w, next, k0), (k1 - k0) * t.ws, i,
					      tiles);
			if (far)
				fetch(d, i + 1 < tiles ? y + r1 * d->y_row + o : y + next,
				      (i + 2) * rows / tiles - r1, vectors);
			NN_K(tile)
			[vectors - 1][r1 - r0](&t, x + r0 * xs, weights_at(d, w, o, k0), to,
					       residual ? residual + r0 * t.rs : NULL);
		}
	}
}

void NN_K(dense_forward)(const struct nn_matrix *d, size_t rows, const real *x, const real *w,
			 const struct nn_tail *tail, real *y, size_t p0, size_t p1, void *scratch)
{
	static const struct nn_tail none;
	size_t o = p0 * NN_PANEL;
	const size_t end = p1 * NN_PANEL < d->out ? p1 * NN_PANEL : d->out;
	if (!tail)
		tail = &none;
	if (rows <= NN_WIDE_ROWS && rows > 0)
		o = few_rows(d, rows, x, w, tail, y, o, end);
	/* a residual may be y itself, which then cannot keep the chain between blocks */
	const size_t blocks = tail->residual || d->in == 0 ? 1 : (d->in + STEPS - 1) / STEPS;
	const size_t row_blocks = rows < 2 * ROWS - ROWS / 2 ? 1 : (rows + ROWS / 2) / ROWS;
	for (size_t i = 0; i < row_blocks; i++) {
		const size_t r = i * rows / row_blocks, n = (i + 1) * rows / row_blocks - r;
		struct nn_tail here = *tail;
		if (here.residual)
			here.residual = (const real *)here.residual + r * here.residual_row;
		for (size_t b = 0; b < blocks; b++) {
			const size_t k0 = b * d->in / blocks, k1 = (b + 1) * d->in / blocks;
			const real *xb = x + r * d->x_row + k0;
			size_t step = d->x_row;
			if (nn_aliased(d->x_row) && blocks > 1 && end - o >= 4 * NN_PANEL)
				xb = nn_copy_rows(xb, n, k1 - k0, &step, scratch);
			block(d, n, xb, step, w, &here, y + r * d->y_row, o, end, k0, k1);
		}
	}
}

/* ---- a row and weights as files have them ---- */

/* Steps at once: of so many a weight's row has a line of the cache. */
#define LINE (64 / sizeof(real) > VL ? 64 / sizeof(real) : VL)

/* A line of steps of the chains of VL channels, whose weights lie in rows[], in squares. */
NN_INLINE vr line_steps(vr chain, const real *x, const real *const rows[VL], size_t k)
{
	NN_UNROLL
	for (size_t end = k + LINE; k < end; k += VL) {
		vr square[VL];
		NN_UNROLL
		for (size_t i = 0; i < VL; i++)
			square[i] = v_load(rows[i] + k);
		v_transpose(square);
		NN_UNROLL
		for (size_t i = 0; i < VL; i++)
			chain = v_fma(v_set(x[k + i]), square[i], chain);
	}
	return chain;
}

NN_INLINE vr single_step(vr chain, const real *x, const real *const rows[VL], size_t k)
{
	real column[VL];
	for (size_t i = 0; i < VL; i++)
		column[i] = rows[i][k];
	return v_fma(v_set(x[k]), v_load(column), chain);
}

/* Two vectors of channels: one's squares are turned while the other's chain waits. */
void NN_K(dense_plain)(const struct nn_matrix *d, const real *x, const real *w,
		       const struct nn_tail *tail, real *y)
{
	for (size_t o = 0; o < d->out; o += 2 * VL) {
		const size_t vectors = d->out - o > VL ? 2 : 1;
		struct nn_tile end = tile_at(d, tail, o, true); /* of no steps */
		const real *rows[2][VL];
		real sums[2 * VL];
		vr chain[2] = { v_zero(), v_zero() };
		size_t k = 0;
		for (size_t i = 0; i < 2 * VL; i++) /* beyond the last one: that again */
			rows[i / VL][i % VL] = w + nn_least(o + i, d->out - 1) * d->in;
		for (; k + LINE <= d->in; k += LINE) {
			chain[0] = line_steps(chain[0], x, rows[0], k);
			chain[1] = line_steps(chain[1], x, rows[1], k);
		}
		for (; k < d->in; k++) {
			chain[0] = single_step(chain[0], x, rows[0], k);
			chain[1] = single_step(chain[1], x, rows[1], k);
		}
		v_store(sums, chain[0]);
		v_store(sums + VL, chain[1]);
		end.from = sums;
		NN_K(tile)[vectors - 1][1](&end, x, w, y + o, NULL);
	}
}
