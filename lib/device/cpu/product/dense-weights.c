/*
 * A dense layer's gradient towards its weights and bias, leaves summed along the tree in registers
 * and the nearest cache.
 */
#include "device/cpu/product/dense.h"
#include "device/cpu/product/outer.h"
#include "device/cpu/product/pack.h"

#define NN_SHORT_LEAF 32 /* rows: those of two go side by side */
#define NN_FETCH_ROWS 64 /* rows of a tile whose results are worth asking for */

/* The tile for so many vectors, its most inputs. */
static nn_outer_function *const *tiles_for(const struct nn_outer *o, size_t vectors, size_t *widest)
{
	*widest = vectors == 2 ? NN_TILE_2 : NN_TILE_1;
	if (!o->first || o->n_leaves < 2)
		return NN_K(outer)[o->last == VL][vectors - 1];
#ifdef NN_PAIR
	if (vectors == 2 && o->pixels <= NN_SHORT_LEAF * o->n_leaves) {
		*widest = NN_PAIR;
		return NN_K(outer_pairs)[o->last == VL];
	}
#endif
	return NN_K(outer_tree)[o->last == VL][vectors - 1];
}

/*
 * Stores that wait for memory hold up the sums' stores: what a tile stores at its end is asked for
 * at its beginning.
 */
static void fetch(const real *d, size_t n, size_t ds, size_t vectors)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < vectors; j++)
			__builtin_prefetch(d + i * ds + j * VL, 1);
}

/* Inputs [k0, k1) of panel p. */
static void block(const struct nn_matrix *d, const struct nn_outer *model, const real *x,
		  const real *dy, real *dw, size_t k0, size_t k1, size_t p)
{
	const size_t panel = p * NN_PANEL, width = nn_panel_width(d->out, panel),
		     end = nn_least(d->out, panel + width);
	struct nn_outer o = *model;
	real *const out = dw + panel * d->in;
	o.ds = width;
	nn_clear_padding(out, width, end - panel, k0, k1);
	for (size_t at = panel; at < end; at += 2 * VL) {
		size_t widest;
		const size_t left = end - at, vectors = left > VL ? 2 : 1;
		o.last = left >= 2 * VL ? VL : left > VL ? left - VL : left;
		nn_outer_function *const *const tile = tiles_for(&o, vectors, &widest);
		const size_t tiles = (k1 - k0 + widest - 1) / widest;
		for (size_t i = 0; i < tiles; i++) {
			const size_t m0 = k0 + i * (k1 - k0) / tiles,
				     m1 = k0 + (i + 1) * (k1 - k0) / tiles;
			real *const to = out + m0 * width + (at - panel);
			if (o.pixels >= NN_FETCH_ROWS)
				fetch(to, m1 - m0, width, vectors);
			tile[m1 - m0](&o, x + (m0 - k0), dy + (at - panel), to);
		}
	}
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
				 size_t k0, size_t k1, size_t p0, size_t p1, void *scratch)
{
	const size_t rows = leaf[n_leaves] - leaf[0], inputs = nn_dense_weights_inputs(rows);
	const bool can = rows <= NN_DENSE_DW_ROWS,
		   copy_x = can && nn_aliased(d->x_row) && p1 - p0 >= 4;
	const bool copy_y = can && nn_rows_apart(d->y_row) && k1 - k0 >= inputs;
	real *const x_copy = scratch, *const y_copy =
					      x_copy +
					      (nn_aliased(d->x_row) ? nn_copied(rows, inputs) : 0);
	const size_t panels = copy_y ? nn_dense_weights_panels(d, rows) : p1 - p0;
	struct nn_outer o = {
		.rows = 1, .pixels = rows, .first = first, .leaf = leaf, .n_leaves = n_leaves
	};
	for (size_t q = p0, end; q < p1; q = end) {
		end = nn_least(q + panels, p1);
		o.y_pixel = d->y_row;
		const real *const y = copy_y ? copy_panels(d, rows, dy, q, end, &o.y_pixel, y_copy)
					     : dy + q * NN_PANEL;
		const size_t step = copy_y ? rows * NN_PANEL : NN_PANEL;
		for (size_t k = k0, next; k < k1; k = next) {
			next = nn_least(k + inputs, k1);
			o.x_pixel = d->x_row;
			const real *const xk =
				copy_x ? nn_copy_rows(x + k, rows, next - k, &o.x_pixel, x_copy)
				       : x + k;
			for (size_t p = q; p < end; p++)
				block(d, &o, xk, y + (p - q) * step, dw, k, next, p);
		}
	}
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
