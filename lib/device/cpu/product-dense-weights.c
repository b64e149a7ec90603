/* A dense layer's gradient towards its weights and bias, leaves summed along the tree in registers and the nearest cache. */
#include "device/cpu/product-dense.h"
#include "device/cpu/product-outer.h"
#include "device/cpu/product-pack.h"

#define INPUTS ((size_t) 112)            /* whose x stays in the second-level cache while the panels pass */

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
			f(&o, x + m0, dy + at, out + m0 * width + (at - panel));
		}
	}
}

void NN_K(dense_weight_gradient)(const struct nn_matrix *d, const real *x, const real *dy, const size_t *leaf, size_t n_leaves,
				 bool first, real *dw, size_t k0, size_t k1, size_t p0, size_t p1, void *scratch)
{
	const struct nn_outer o = { .rows = 1, .pixels = leaf[n_leaves] - leaf[0], .x_pixel = d->x_row, .y_pixel = d->y_row,
				    .first = first, .leaf = leaf, .n_leaves = n_leaves };
	(void) scratch;
	for (size_t k = k0; k < k1; k += INPUTS)
		for (size_t p = p0; p < p1; p++)
			block(d, &o, x, dy, dw, k, nn_least(k + INPUTS, k1), p);
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
