/* A dense layer's input gradient with rows as the vectors' lanes: the packed weights serve as they are, broadcast. */
#include "device/cpu/product-dense.h"
#include "device/cpu/product-pack.h"
#include "device/cpu/product-tile.h"

/*
 * The tile is that of the forward product: its pixels are inputs k, NN_PANEL or NN_LANES apart in the packed weights, its weights are
 * dy transposed. What comes out is dx transposed. Both are transposed in scratch: rows * (in + out) elements instead of the in * out of
 * the weights.
 */

/* to[column][row], `stride` apart, VL columns: the transpose of rows x columns of from; missing rows are 0. */
static void transpose_in(const real *from, size_t from_row, size_t rows, size_t columns, real *to, size_t stride)
{
	for (size_t r = 0; r < rows; r += VL) {
		for (size_t c = 0; c < columns; c += VL) {
			const vm lanes = vm_first(nn_least(columns - c, VL));
			vr v[VL];
			NN_UNROLL
			for (size_t i = 0; i < VL; i++)
				v[i] = r + i < rows ? v_load_m(from + (r + i) * from_row + c, lanes) : v_zero();
			v_transpose(v);
			NN_UNROLL
			for (size_t i = 0; i < VL; i++)
				if (c + i < columns)
					v_store(to + (c + i) * stride + r, v[i]);
		}
	}
}

/* to[row][column] = or += the transpose of from[column][row]. */
static void transpose_out(const real *from, size_t stride, size_t rows, size_t columns, real *to, size_t to_row, bool add)
{
	for (size_t r = 0; r < rows; r += VL) {
		for (size_t c = 0; c < columns; c += VL) {
			const vm lanes = vm_first(nn_least(columns - c, VL));
			vr v[VL];
			NN_UNROLL
			for (size_t i = 0; i < VL; i++)
				v[i] = c + i < columns ? v_load(from + (c + i) * stride + r) : v_zero();
			v_transpose(v);
			NN_UNROLL
			for (size_t i = 0; i < VL; i++) {
				real *p = to + (r + i) * to_row + c;
				if (r + i < rows)
					v_store_m(p, lanes, add ? v_add(v[i], v_load_m(p, lanes)) : v[i]);
			}
		}
	}
}

/* What the chains of a block of inputs and rows need. */
struct block {
	const struct nn_matrix *d;
	const real *w, *dyt;             /* dyt[out - o0][stride] */
	real *dxt;                       /* [k - k0][stride] */
	size_t stride;                   /* rows, rounded up to VL */
	size_t k0, k1, o0, o1;
};

/* Out-channels [o, end) of one panel or several full ones, for inputs [k, next) of the block and all rows. */
static void panels(const struct block *b, size_t o, size_t end, size_t k, size_t next)
{
	const size_t width = nn_panel_width(b->d->out, o);
	struct nn_tile t = {
		.kh = end - o >= NN_PANEL ? (end - o) / NN_PANEL : 1,
		.kw = 1,
		.kl = nn_least(end - o, NN_PANEL),
		.x_kh = NN_PANEL * b->d->in,
		.w_kh = NN_PANEL * b->stride,
		.ws = b->stride,
		.xs = width,
		.ys = b->stride,
		.fs = b->stride,
		.last = VL,
	};
	const real *const w = b->w + o * b->d->in + (b->k0 + k) * width, *const dyt = b->dyt + (o - b->o0) * b->stride;
	for (size_t row = 0; row < b->stride; row += 2 * VL) {
		real *const to = b->dxt + k * b->stride + row;
		t.from = o ? to : NULL;
		NN_K(tile)[b->stride - row > VL][next - k](&t, w, dyt + row, to, NULL);
	}
}

/* A tile's weights stay in the nearest cache while all rows pass. */
static void chains(const struct block *b)
{
	const size_t full = b->o1 / NN_PANEL * NN_PANEL, n = b->k1 - b->k0;
	const size_t widest = b->stride > VL ? NN_TILE_2 : NN_TILE_1, tiles = (n + widest - 1) / widest;
	for (size_t i = 0; i < tiles; i++) {
		const size_t k = i * n / tiles, next = (i + 1) * n / tiles;
		if (full > b->o0)
			panels(b, b->o0, full, k, next);
		if (full < b->o1)
			panels(b, full, b->o1, k, next);
	}
}

static void rows_block(const struct nn_matrix *d, size_t rows, const real *dy, const real *w, real *dx, bool add, size_t k0,
		       size_t k1, real *scratch)
{
	struct block b = { .d = d, .w = w, .stride = nn_round_up(rows, VL) };
	real *const dyt = scratch;
	b.dyt = dyt;
	b.dxt = scratch + nn_least(d->out, NN_DENSE_DX_OUT) * b.stride;
	for (b.k0 = k0; b.k0 < k1; b.k0 = b.k1) {
		b.k1 = nn_least(k1, b.k0 + NN_DENSE_DX_IN);
		for (b.o0 = 0; b.o0 < d->out; b.o0 = b.o1) {
			b.o1 = nn_least(d->out, b.o0 + NN_DENSE_DX_OUT);
			if (d->out > NN_DENSE_DX_OUT || b.k0 == k0)
				transpose_in(dy + b.o0, d->y_row, rows, b.o1 - b.o0, dyt, b.stride);
			chains(&b);
		}
		transpose_out(b.dxt, b.stride, rows, b.k1 - b.k0, dx + b.k0, d->x_row, add);
	}
}

void NN_K(dense_input_gradient)(const struct nn_matrix *d, size_t rows, const real *dy, const real *w, real *dx, bool add,
				size_t k0, size_t k1, void *scratch)
{
	for (size_t r = 0; r < rows; r += NN_DENSE_DX_ROWS)
		rows_block(d, nn_least(rows - r, NN_DENSE_DX_ROWS), dy + r * d->y_row, w, dx + r * d->x_row, add, k0, k1,
			   scratch);
}

size_t NN_K(dense_scratch)(const struct nn_matrix *d, size_t rows)
{
	const size_t forward = nn_copied(nn_least(rows, 2 * NN_DENSE_ROWS), nn_least(d->in, NN_DENSE_STEPS));
	const size_t stride = nn_round_up(nn_least(rows, NN_DENSE_DX_ROWS), NN_LANES);
	const size_t input = (nn_least(d->out, NN_DENSE_DX_OUT) + nn_least(d->in, NN_DENSE_DX_IN)) * stride;
	const size_t weights = nn_dense_weights_scratch(rows);
	const size_t most = forward > input ? forward : input;
	return (most > weights ? most : weights) * sizeof(real);
}
