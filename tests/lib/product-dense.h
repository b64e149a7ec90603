/* Dense kernels against a scalar loop. */
#ifndef NN_TESTS_PRODUCT_DENSE_H
#define NN_TESTS_PRODUCT_DENSE_H

#include "lib/product-arrays.h"

/* The tree over leaf sums, neighbours first. */
static real tree(real *leaf, size_t n)
{
	for (size_t d = 1; d < n; d *= 2)
		for (size_t i = 0; i + d < n; i += 2 * d)
			leaf[i] += leaf[i + d];
	return leaf[0];
}

static struct nn_matrix matrix(size_t in, size_t out)
{
	struct nn_matrix d = { .in = in, .out = out, .x_row = in, .y_row = out };
	if (any(4) == 0) {
		d.x_row += any(5);
		d.y_row += any(5);
	}
	if (in % 6 == 0 && any(2)) {
		d.channels = 6;
		d.positions = in / 6;
	}
	return d;
}

/* The canonical place of input k. */
static size_t column(const struct nn_matrix *d, size_t k)
{
	return d->channels ? k % d->channels * d->positions + k / d->channels : k;
}

static long dense_plain(const struct kernels *k, const struct nn_matrix *d, struct array x,
			struct array w, const struct nn_tail *t, struct array before,
			struct array want)
{
	struct array y = copy(before);
	long bad;
	for (size_t r = 0; r * d->y_row < y.n; r++)
		k->dense_plain(d, x.v + r * d->x_row, w.v, t, y.v + r * d->y_row);
	bad = compare("dense forward of canonical weights", k, y, want);
	drop(y);
	return bad;
}

static long dense_forward(const struct nn_matrix *d, size_t rows, int kind)
{
	struct array x = numbers(rows * d->x_row, kind % 3 == 0), w = numbers(d->in * d->out, 0),
		     bias = numbers(d->out, 0);
	struct array before = numbers(rows * d->y_row, 0), want = copy(before);
	struct nn_tail t = { .bias = kind & 1 ? bias.v : NULL,
			     .residual = kind & 2 ? before.v : NULL,
			     .residual_row = d->y_row,
			     .act = (enum nn_tail_act)any(3),
			     .slope = 0.25 };
	for (size_t r = 0; r < rows; r++)
		for (size_t o = 0; o < d->out; o++) {
			real acc = 0;
			for (size_t k = 0; k < d->in; k++)
				acc = r_fma(x.v[r * d->x_row + k], w.v[o * d->in + column(d, k)],
					    acc);
			want.v[r * d->y_row + o] = tail(acc, &t, o, before.v[r * d->y_row + o]);
		}
	long bad = 0;
	for (int s = 0; s < n_sets; s++) {
		const struct kernels *k = sets[s];
		struct array p = array(k->dense_packed(d)), y = copy(before), back = array(w.n);
		const size_t panels = k->dense_panels(d), cut = any(panels + 1);
		void *scratch = malloc(k->dense_scratch(d, rows) + 1);
		k->dense_pack(d, w.v, p.v);
		t.residual = kind & 2 ? y.v : NULL;
		k->dense_forward(d, rows, x.v, p.v, &t, y.v, cut, panels, scratch);
		k->dense_forward(d, rows, x.v, p.v, &t, y.v, 0, cut, scratch);
		bad += compare("dense forward", k, y, want);
		if (!d->channels && !t.residual)
			bad += dense_plain(k, d, x, w, &t, before, want);
		k->dense_unpack(d, p.v, back.v);
		bad += compare("dense weights packed and unpacked", k, back, w);
		free(scratch);
		drop(p), drop(y), drop(back);
	}
	drop(x), drop(w), drop(bias), drop(before), drop(want);
	return bad;
}

static long dense_input_gradient(const struct nn_matrix *d, size_t rows, int kind)
{
	struct array dy = numbers(rows * d->y_row, kind % 3 == 0), w = numbers(d->in * d->out, 0);
	struct array before = numbers(rows * d->x_row, 0), want = copy(before);
	for (size_t r = 0; r < rows; r++)
		for (size_t k = 0; k < d->in; k++) {
			real acc = 0;
			for (size_t o = 0; o < d->out; o++)
				acc = r_fma(dy.v[r * d->y_row + o], w.v[o * d->in + column(d, k)],
					    acc);
			want.v[r * d->x_row + k] =
				kind & 1 ? acc + before.v[r * d->x_row + k] : acc;
		}
	long bad = 0;
	for (int s = 0; s < n_sets; s++) {
		const struct kernels *k = sets[s];
		struct array p = array(k->dense_packed(d)), dx = copy(before);
		const size_t cut = any(d->in + 1);
		void *scratch = malloc(k->dense_scratch(d, rows) + 1);
		k->dense_pack(d, w.v, p.v);
		k->dense_input_gradient(d, rows, dy.v, p.v, dx.v, kind & 1, cut, d->in, scratch);
		k->dense_input_gradient(d, rows, dy.v, p.v, dx.v, kind & 1, 0, cut, scratch);
		bad += compare("dense input gradient", k, dx, want);
		free(scratch);
		drop(p), drop(dx);
	}
	drop(dy), drop(w), drop(before), drop(want);
	return bad;
}

/* What the chain over rows [r0, r1) makes of acc; x NULL: a bias. */
static real over_rows(const struct nn_matrix *d, const real *x, const real *dy, size_t k, size_t o,
		      size_t r0, size_t r1, real acc)
{
	for (size_t r = r0; r < r1; r++)
		acc = r_fma(x ? x[r * d->x_row + k] : 1, dy[r * d->y_row + o], acc);
	return acc;
}

static real over_leaves(const struct nn_matrix *d, const real *x, const real *dy, size_t k,
			size_t o, const size_t *leaf, size_t n_leaves)
{
	real sums[64];
	for (size_t i = 0; i < n_leaves; i++)
		sums[i] = over_rows(d, x, dy, k, o, leaf[i], leaf[i + 1], 0);
	return tree(sums, n_leaves);
}

/* A sink that keeps what it takes. */
struct keeping {
	struct nn_sink sink;
	real *kept;
	size_t n;
};

static void keep(const struct nn_sink *sink, size_t at, const void *g, size_t n)
{
	struct keeping *k = (struct keeping *)(uintptr_t)sink;
	memcpy(k->kept + at, g, n * sizeof(real));
	k->n += n;
}

static long check_dense_sink(const struct kernels *k, const struct nn_matrix *d, const real *x,
			     const real *dy, const size_t *leaf, size_t n_leaves, struct array want)
{
	struct array taken = numbers(want.n, 1), memory = numbers(want.n, 1);
	struct keeping sink = { { keep, { memory.v, taken.v } }, taken.v, 0 };
	void *scratch = malloc(k->dense_scratch(d, leaf[n_leaves]) + 1);
	k->dense_weight_gradient(d, x, dy, leaf, n_leaves, true, NULL, &sink.sink, 0, d->in, 0,
				 k->dense_panels(d), scratch);
	const long bad = compare("dense weight gradient as it is taken", k, taken, want);
	free(scratch);
	drop(taken), drop(memory);
	return bad + (sink.n != want.n);
}

static long check_dense_weights(const struct kernels *k, const struct nn_matrix *d, const real *x,
				const real *dy, const size_t *leaf, size_t n_leaves, size_t pieces,
				struct array want, struct array want_bias)
{
	struct array dw = numbers(k->dense_packed(d), 1), db = array(d->out), back = array(want.n),
		     again = array(dw.n);
	const size_t panels = k->dense_panels(d), cut_p = any(panels + 1), cut_k = any(d->in + 1),
		     rows = leaf[n_leaves];
	void *scratch = malloc(k->dense_scratch(d, rows) + 1);
	for (size_t i = 0; i < pieces; i++) { /* of the one leaf */
		const size_t part[2] = { i * rows / pieces, (i + 1) * rows / pieces };
		const size_t *cuts = pieces > 1 ? part : leaf, n = pieces > 1 ? 1 : n_leaves;
		const real *xp = x + cuts[0] * d->x_row, *yp = dy + cuts[0] * d->y_row;
		for (int q = 0; q < 4; q++)
			k->dense_weight_gradient(d, xp, yp, cuts, n, i == 0, dw.v, NULL,
						 q & 1 ? cut_k : 0, q & 1 ? d->in : cut_k,
						 q & 2 ? cut_p : 0, q & 2 ? panels : cut_p,
						 scratch);
		k->dense_bias_gradient(d, yp, cuts, n, i == 0, db.v);
	}
	k->dense_unpack(d, dw.v, back.v);
	k->dense_pack(d, back.v, again.v);
	const long bad = compare("dense weight gradient", k, back, want) +
			 compare("dense bias gradient", k, db, want_bias) +
			 compare("padding of the dense weight gradient", k, dw, again) +
			 check_dense_sink(k, d, x, dy, leaf, n_leaves, dw);
	free(scratch);
	drop(dw), drop(db), drop(back), drop(again);
	return bad;
}

static long dense_weights(const struct nn_matrix *d, size_t rows, size_t n_leaves, size_t pieces,
			  int kind)
{
	struct array x = numbers(rows * d->x_row, kind % 3 == 0),
		     dy = numbers(rows * d->y_row, kind % 9 == 0);
	struct array want = array(d->in * d->out), want_bias = array(d->out);
	size_t leaf[65];
	for (size_t i = 0; i <= n_leaves; i++)
		leaf[i] = i * rows / n_leaves;
	for (size_t o = 0; o < d->out; o++) {
		for (size_t k = 0; k < d->in; k++)
			want.v[o * d->in + column(d, k)] =
				over_leaves(d, x.v, dy.v, k, o, leaf, n_leaves);
		want_bias.v[o] = over_leaves(d, NULL, dy.v, 0, o, leaf, n_leaves);
	}
	long bad = 0;
	for (int s = 0; s < n_sets; s++)
		bad += check_dense_weights(sets[s], d, x.v, dy.v, leaf, n_leaves, pieces, want,
					   want_bias);
	drop(x), drop(dy), drop(want), drop(want_bias);
	return bad;
}

#endif
