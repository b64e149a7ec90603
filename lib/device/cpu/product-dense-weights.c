/* A dense layer's gradient towards its weights and bias, leaves summed along the tree in registers and the nearest cache. */
#include "device/cpu/product-dense.h"
#include "device/cpu/product-outer.h"
#include "device/cpu/product-pack.h"

/* Inputs [k0, k1) of panel p. */
static void block(const struct nn_matrix *d, const struct nn_outer *model, const real *x, const real *dy, real *dw, size_t k0,
		  size_t k1, size_t p)
{
	const size_t panel = p * NN_PANEL, width = nn_panel_width(d->out, panel), end = nn_least(d->out, panel + width);
	struct nn_outer o = *model;
	real *const out = dw + panel * d->in;
	o.ds = width;
	nn_clear_padding(out, width, end - panel, k0, k1);
	for (size_t at = panel; at < end; at += 2 * VL) {
		const size_t left = end - at, vectors = left > VL ? 2 : 1;
		const size_t widest = vectors == 2 ? NN_TILE_2 : NN_TILE_1, tiles = (k1 - k0 + widest - 1) / widest;
		o.last = left >= 2 * VL ? VL : left > VL ? left - VL : left;
		for (size_t i = 0; i < tiles; i++) {
			const size_t m0 = k0 + i * (k1 - k0) / tiles, m1 = k0 + (i + 1) * (k1 - k0) / tiles;
			nn_outer_function *const f = o.first ? NN_K(outer_tree)[vectors - 1][m1 - m0]
							     : NN_K(outer)[vectors - 1][m1 - m0];
			f(&o, x + (m0 - k0), dy + (at - panel), out + m0 * width + (at - panel));
		}
	}
}

void NN_K(dense_weight_gradient)(const struct nn_matrix *d, const real *x, const real *dy, const size_t *leaf, size_t n_leaves,
				 bool first, real *dw, size_t k0, size_t k1, size_t p0, size_t p1, void *scratch)
{
	const size_t rows = leaf[n_leaves] - leaf[0], inputs = nn_dense_weights_inputs(rows);
	real *const x_copy = scratch, *const y_copy = x_copy + nn_copied(rows, inputs);
	const bool can = rows <= NN_DENSE_DW_ROWS;
	const bool copy_x = can && nn_aliased(d->x_row) && p1 - p0 >= 4, copy_y = can && nn_aliased(d->y_row) && k1 - k0 >= inputs;
	struct nn_outer o = { .rows = 1, .pixels = rows, .first = first, .leaf = leaf, .n_leaves = n_leaves };
	for (size_t k = k0, next; k < k1; k = next) {
		next = nn_least(k + inputs, k1);
		o.x_pixel = d->x_row;
		const real *const xk = copy_x ? nn_copy_rows(x + k, rows, next - k, &o.x_pixel, x_copy) : x + k;
		for (size_t p = p0; p < p1; p++) {
			const real *yp = dy + p * NN_PANEL;
			o.y_pixel = d->y_row;
			if (copy_y)
				yp = nn_copy_rows(yp, rows, nn_least(d->out - p * NN_PANEL, NN_PANEL), &o.y_pixel, y_copy);
			block(d, &o, xk, yp, dw, k, next, p);
		}
	}
}

/* Rows [r0, r1) added to sum. */
static vr column_sum(const struct nn_matrix *d, const real *dy, size_t r0, size_t r1, vm lanes, vr sum)
{
	for (size_t r = r0; r < r1; r++)
		sum = v_add(v_load_m(dy + r * d->y_row, lanes), sum);
	return sum;
}

void NN_K(dense_bias_gradient)(const struct nn_matrix *d, const real *dy, const size_t *leaf, size_t n_leaves, bool first,
			       real *db)
{
	for (size_t o = 0; o < d->out; o += VL) {
		const vm lanes = vm_first(nn_least(d->out - o, VL));
		vr waiting[NN_OUTER_LEVELS], sum = first ? v_zero() : v_load_m(db + o, lanes);
		int n_waiting = 0;
		for (size_t i = 0; i < n_leaves; i++) {
			sum = column_sum(d, dy + o, leaf[i] - leaf[0], leaf[i + 1] - leaf[0], lanes, sum);
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
