/*
 * A dense layer's input gradient with rows as the vectors' lanes: the packed weights serve as they
 * are, broadcast.
 */
#include "device/cpu/product/dense.h"
#include "device/cpu/product/pack.h"
#include "device/cpu/product/tile.h"

/*
 * Of many rows the weights are turned instead, and the product is the forward one, of dy.
 *
 * The tile is that of the forward product: its pixels are inputs k, NN_PANEL or NN_LANES apart in
 * the packed weights, its weights are dy transposed. What comes out is dx transposed. Both are
 * transposed in scratch: rows * (in + out) elements instead of the in * out of the weights.
 */

/* Ask for the square below: its rows lie far apart. */
NN_INLINE void ask_below(const real *at, size_t row)
{
	for (size_t i = VL; i < 2 * VL; i++)
		__builtin_prefetch(at + i * row);
}

/*
 * to[column][row], `stride` apart, VL columns: the transpose of rows x columns of from, at most VL
 * each; missing rows are 0. Whole squares need no questions.
 */
NN_INLINE void square_in(const real *from, size_t from_row, size_t rows, size_t columns, real *to,
			 size_t stride)
{
	const vm lanes = vm_first(columns);
	vr v[VL];
	NN_UNROLL
	for (size_t i = 0; i < VL; i++)
		v[i] = i >= rows         ? v_zero()
		       : columns == VL ? v_load(from + i * from_row)
				       : v_load_m(from + i * from_row, lanes);
	v_transpose(v);
	NN_UNROLL
	for (size_t i = 0; i < VL; i++)
		if (i < columns)
			v_store(to + i * stride, v[i]);
}

static void transpose_in(const real *from, size_t from_row, size_t rows, size_t columns, real *to,
			 size_t stride)
{
	for (size_t r = 0; r < rows; r += VL) {
		for (size_t c = 0; c < columns; c += VL) {
			const real *const at = from + r * from_row + c;
			real *const t = to + c * stride + r;
			ask_below(at, from_row);
			if (r + VL <= rows && c + VL <= columns)
				square_in(at, from_row, VL, VL, t, stride);
			else
				square_in(at, from_row, nn_least(rows - r, VL),
					  nn_least(columns - c, VL), t, stride);
		}
	}
}

/* to[row][column] = or += the transpose of from[column][row], likewise. */
NN_INLINE void square_out(const real *from, size_t stride, size_t rows, size_t columns, real *to,
			  size_t to_row, bool add)
{
	const vm lanes = vm_first(columns);
	vr v[VL];
	NN_UNROLL
	for (size_t i = 0; i < VL; i++)
		v[i] = i < columns ? v_load(from + i * stride) : v_zero();
	v_transpose(v);
	NN_UNROLL
	for (size_t i = 0; i < VL; i++) {
		real *const p = to + i * to_row;
		if (i >= rows)
			continue;
		if (columns == VL)
			v_store(p, add ? v_add(v[i], v_load(p)) : v[i]);
		else
			v_store_m(p, lanes, add ? v_add(v[i], v_load_m(p, lanes)) : v[i]);
	}
}

static void transpose_out(const real *from, size_t stride, size_t rows, size_t columns, real *to,
			  size_t to_row, bool add)
{
	for (size_t r = 0; r < rows; r += VL) {
		for (size_t c = 0; c < columns; c += VL) {
			const real *const at = from + c * stride + r;
			real *const t = to + r * to_row + c;
			ask_below(t, to_row);
			if (r + VL <= rows && c + VL <= columns)
				square_out(at, stride, VL, VL, t, to_row, add);
			else
				square_out(at, stride, nn_least(rows - r, VL),
					   nn_least(columns - c, VL), t, to_row, add);
		}
	}
}

/*
 * What the chains of a block of inputs and rows need. Transposed: for each 2 * VL rows (VL may be
 * left) all columns.
 */
struct block {
	const struct nn_matrix *d;
	const real *w;
	real *dyt, *dxt; /* [tile of rows][out - o0][row], [tile of rows][k - k0][row] */
	size_t rows;     /* rounded up to VL */
	size_t k0, k1, o0, o1;
};

static size_t lanes_at(const struct block *b, size_t row)
{
	return nn_least(b->rows - row, 2 * VL);
}

/*
 * Out-channels [o, end) of one panel or several full ones, for inputs [k, next) of the block and
 * the tile of rows at `row`.
 */
static void panels(const struct block *b, size_t o, size_t end, size_t k, size_t next, size_t row)
{
	const size_t width = nn_panel_width(b->d->out, o), lanes = lanes_at(b, row);
	real *const dxt = b->dxt + row * (b->k1 - b->k0) + k * lanes;
	const struct nn_tile t = {
		.kh = end - o >= NN_PANEL ? (end - o) / NN_PANEL : 1,
		.kw = 1,
		.kl = nn_least(end - o, NN_PANEL),
		.x_kh = NN_PANEL * b->d->in,
		.w_kh = NN_PANEL * lanes,
		.ws = lanes,
		.xs = width,
		.ys = lanes,
		.fs = lanes,
		.last = VL,
		.from = o ? dxt : NULL,
	};
	NN_K(tile)
	[lanes > VL][next - k](&t, b->w + o * b->d->in + (b->k0 + k) * width,
			       b->dyt + row * (b->o1 - b->o0) + (o - b->o0) * lanes, dxt, NULL);
}

/*
 * Ask for what the tile of inputs [k, next) will read, in the time of the one before: row by row a
 * part of its weights, and its sums.
 */
NN_INLINE void fetch(const struct block *b, size_t k, size_t next, size_t row)
{
	const size_t lanes = lanes_at(b, row), n = (b->o1 - b->o0 + NN_PANEL - 1) / NN_PANEL;
	for (size_t p = n * row / b->rows; p < n * (row + lanes) / b->rows; p++) {
		const size_t o = b->o0 + p * NN_PANEL, width = nn_panel_width(b->d->out, o);
		const real *const w = b->w + o * b->d->in + (b->k0 + k) * width;
		for (size_t i = 0; i < (next - k) * width; i += VL)
			__builtin_prefetch(w + i);
	}
	const real *const dxt = b->dxt + row * (b->k1 - b->k0) + k * lanes;
	for (size_t i = 0; i < (next - k) * lanes; i += VL)
		__builtin_prefetch(dxt + i, 1);
}

/* A tile's weights stay in the nearest cache while all rows pass. */
static void chains(const struct block *b)
{
	const size_t full = b->o1 / NN_PANEL * NN_PANEL, n = b->k1 - b->k0;
	const size_t widest = b->rows > VL ? NN_TILE_2 : NN_TILE_1,
		     tiles = (n + widest - 1) / widest;
	const bool far = b->d->in * b->d->out * sizeof(real) >= NN_DENSE_FAR;
	for (size_t i = 0; i < tiles; i++) {
		const size_t k = i * n / tiles, next = (i + 1) * n / tiles,
			     after = (i + 2) * n / tiles;
		for (size_t row = 0; row < b->rows; row += 2 * VL) {
			if (far && i + 1 < tiles)
				fetch(b, next, after, row);
			if (full > b->o0)
				panels(b, b->o0, full, k, next, row);
			if (full < b->o1)
				panels(b, full, b->o1, k, next, row);
		}
	}
}

static void rows_block(const struct nn_matrix *d, size_t rows, const real *dy, const real *w,
		       real *dx, bool add, size_t k0, size_t k1, real *scratch)
{
	struct block b = { .d = d, .w = w, .rows = nn_round_up(rows, VL), .dyt = scratch };
	b.dxt = scratch + nn_least(d->out, NN_DENSE_DX_OUT) * b.rows;
	for (b.k0 = k0; b.k0 < k1; b.k0 = b.k1) {
		b.k1 = nn_least(k1, b.k0 + NN_DENSE_DX_IN);
		for (b.o0 = 0; b.o0 < d->out; b.o0 = b.o1) {
			b.o1 = nn_least(d->out, b.o0 + NN_DENSE_DX_OUT);
			for (size_t r = 0; r < rows && (d->out > NN_DENSE_DX_OUT || b.k0 == k0);
			     r += 2 * VL)
				transpose_in(dy + r * d->y_row + b.o0, d->y_row,
					     nn_least(rows - r, 2 * VL), b.o1 - b.o0,
					     b.dyt + r * (b.o1 - b.o0), lanes_at(&b, r));
			chains(&b);
		}
		for (size_t r = 0; r < rows; r += 2 * VL)
			transpose_out(b.dxt + r * (b.k1 - b.k0), lanes_at(&b, r),
				      nn_least(rows - r, 2 * VL), b.k1 - b.k0,
				      dx + r * d->x_row + b.k0, d->x_row, add);
	}
}

/* Inputs [k0, k1) of the layer as out-channels of one whose inputs are its out-channels. */
static struct nn_matrix turned(const struct nn_matrix *d, size_t k0, size_t k1)
{
	return (struct nn_matrix){
		.in = d->out, .out = k1 - k0, .x_row = d->y_row, .y_row = d->x_row
	};
}

/* Are there so many rows that dy and dx are much larger than the weights? */
static bool turns(const struct nn_matrix *d, size_t rows)
{
	return d->in * d->out <= NN_DENSE_DX_TURNED &&
	       2 * d->in * d->out <= rows * (d->in + d->out);
}

static void turn_weights(const struct nn_matrix *d, const real *w, size_t k0, size_t k1, real *to)
{
	for (size_t k = k0; k < k1; k += NN_PANEL) {
		const size_t rows = nn_least(k1 - k, NN_PANEL), width = nn_panel_width(k1, k);
		real *const panel = to + (k - k0) * d->out;
		for (size_t o = 0; o < d->out; o += NN_PANEL) {
			const size_t row = nn_panel_width(d->out, o);
			transpose_in(w + o * d->in + k * row, row, rows,
				     nn_least(d->out - o, NN_PANEL), panel + o * width, width);
		}
	}
}

void NN_K(dense_input_gradient)(const struct nn_matrix *d, size_t rows, const real *dy,
				const real *w, real *dx, bool add, size_t k0, size_t k1,
				void *scratch)
{
	if (turns(d, rows)) {
		const struct nn_matrix t = turned(d, k0, k1);
		const struct nn_tail tail = { .residual = add ? dx + k0 : NULL,
					      .residual_row = d->x_row };
		real *const wt = scratch;
		turn_weights(d, w, k0, k1, wt);
		NN_K(dense_forward)
		(&t, rows, dy, wt, &tail, dx + k0, 0, NN_K(dense_panels)(&t),
		 wt + NN_K(dense_packed)(&t));
		return;
	}
	for (size_t r = 0; r < rows; r += NN_DENSE_DX_ROWS)
		rows_block(d, nn_least(rows - r, NN_DENSE_DX_ROWS), dy + r * d->y_row, w,
			   dx + r * d->x_row, add, k0, k1, scratch);
}

size_t NN_K(dense_scratch)(const struct nn_matrix *d, size_t rows)
{
	const size_t forward = nn_dense_forward_scratch(d, rows);
	const size_t stride = nn_round_up(nn_least(rows, NN_DENSE_DX_ROWS), NN_LANES);
	const size_t input =
		(nn_least(d->out, NN_DENSE_DX_OUT) + nn_least(d->in, NN_DENSE_DX_IN)) * stride;
	const size_t weights = nn_dense_weights_scratch(d, rows);
	const struct nn_matrix t = turned(d, 0, d->in);
	const size_t turn = turns(d, rows) ? NN_K(dense_packed)(&t) * sizeof(real) +
						     nn_dense_forward_scratch(&t, rows)
					   : 0;
	const size_t backward = (input > weights ? input : weights) * sizeof(real);
	return forward > backward && forward > turn ? forward : backward > turn ? backward : turn;
}
