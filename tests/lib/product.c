/*
 * The product kernels equal a scalar loop of fused multiply-adds, bit for bit, however the work is
 * cut.
 */
#include "lib/product-conv.h"
#include "lib/product-dense.h"

/* Compiled for float and double (NN_T_f32, NN_T_f64), and with LONG for the full sweep. */

static int n_tests, n_failed;

static void claim(const char *text, long bad)
{
	n_tests++;
	n_failed += bad != 0;
	printf("%sok %d - product: %s\n", bad ? "not " : "", n_tests, text);
	fflush(stdout);
}

static const size_t ins[] = { 1, 5, 16, 24, 33, 97, 126, 256, 300, 530 },
		    outs[] = { 1, 7, 10, 16, 17, 32, 48, 50, 70, 128, 150, 290 };
#define N_INS (sizeof ins / sizeof *ins)
#define N_OUTS (sizeof outs / sizeof *outs)

static long all_dense(long (*test)(const struct nn_matrix *, size_t, int))
{
	long bad = 0;
	for (size_t rows = 1; rows <= 64; rows++)
		for (int i = 0; i < EFFORT(2, 12); i++) {
			const struct nn_matrix d = matrix(ins[any(N_INS)], outs[any(N_OUTS)]);
			const long b = test(&d, rows, i + (int)rows);
			if (b)
				printf("# %zu rows, %zu to %zu\n", rows, d.in, d.out);
			bad += b;
		}
	const struct nn_matrix big = matrix(530, 290);
	return bad + test(&big, 530, 1) + test(&big, 270, 0);
}

static long all_dense_weights(void)
{
	long bad = 0;
	for (size_t n_leaves = 1; n_leaves <= 16; n_leaves *= 2)
		for (int i = 0; i < EFFORT(10, 100); i++) {
			const struct nn_matrix d =
				matrix(ins[any(N_INS - 1)], outs[any(N_OUTS - 1)]);
			const size_t rows = n_leaves + any(40);
			const long b = dense_weights(&d, rows, n_leaves,
						     n_leaves == 1 ? 1 + any(3) : 1, i);
			if (b)
				printf("# %zu rows, %zu leaves, %zu to %zu\n", rows, n_leaves, d.in,
				       d.out);
			bad += b;
		}
	/* where copies of x and dy pay: many panels, or rows; rows far apart */
	const struct nn_matrix wide = matrix(47, 290), deep = matrix(61, 128),
			       apart = matrix(40, EFFORT(530, 1100));
	/* long leaves, in blocks: rows close together, each of x in a page of its own, of dy too */
	const struct nn_matrix near = matrix(30, 70), far = matrix(520, 101),
			       both = matrix(60, 530);
	bad += dense_weights(&near, 301, 1, 1, 0) + dense_weights(&near, 700, 1, 2, 1) +
	       dense_weights(&far, 1030, 1, 1, 1) + dense_weights(&both, 270, 1, 1, 1) +
	       dense_weights(&near, 2100, 4, 1, 1) + dense_weights(&far, 2060, 2, 1, 0);
	return bad + dense_weights(&wide, 37, 4, 1, 0) + dense_weights(&deep, 520, 16, 1, 1) +
	       dense_weights(&apart, 70, 2, 1, 1) + dense_weights(&apart, 20, 1, 2, 1);
}

/* A smaller batch ends an epoch in the memory of the larger ones. */
static long scratch_of_fewer_rows(void)
{
	long bad = 0;
	for (int s = 0; s < n_sets; s++)
		for (size_t o = 0; o < N_OUTS; o++) {
			const struct nn_matrix d = {
				.in = 40, .out = 5 * outs[o], .x_row = 40, .y_row = 5 * outs[o]
			};
			size_t before = 0;
			for (size_t rows = 1; rows < 2100; rows++) {
				const size_t bytes = sets[s]->dense_scratch(&d, rows);
				bad += bytes < before;
				before = bytes;
			}
		}
	return bad;
}

static long column_splits(void)
{
	long bad = 0;
	const struct nn_matrix d = matrix(60, EFFORT(150, 290));
	struct array x = numbers(20 * d.x_row, 0), w = numbers(d.in * d.out, 0);
	for (int s = 0; s < n_sets; s++) {
		const struct kernels *k = sets[s];
		struct array p = array(k->dense_packed(&d));
		k->dense_pack(&d, w.v, p.v);
		for (size_t rows = 1; rows <= 20; rows += EFFORT(3, 1)) {
			struct array want = numbers(rows * d.y_row, 0);
			struct array y = copy(want);
			const size_t panels = k->dense_panels(&d);
			void *scratch = malloc(k->dense_scratch(&d, rows) + 1);
			k->dense_forward(&d, rows, x.v, p.v, NULL, want.v, 0, panels, scratch);
			for (size_t p0 = 0; p0 < panels; p0++)
				for (size_t p1 = p0 + 1; p1 <= panels; p1++) {
					k->dense_forward(&d, rows, x.v, p.v, NULL, y.v, p0, p1,
							 scratch);
					k->dense_forward(&d, rows, x.v, p.v, NULL, y.v, 0, p0,
							 scratch);
					k->dense_forward(&d, rows, x.v, p.v, NULL, y.v, p1, panels,
							 scratch);
					bad += compare("a split of columns", k, y, want);
				}
			free(scratch);
			drop(want), drop(y);
		}
		drop(p);
	}
	drop(x), drop(w);
	return bad;
}

/* With the bits of base/flush.h, on which predictions from a caller's own rows rely. */
static long subnormal_rows(void)
{
	enum { ROWS = 5 };
	const struct nn_matrix d = matrix(20, 50);
	struct array x = array(ROWS * d.x_row), w = array(d.in * d.out),
		     want = array(ROWS * d.y_row);
	const uint64_t before = nn_flush_set(true);
	long bad = 0;
	for (size_t i = 0; i < x.n; i++)
		x.v[i] = (real)(sizeof(real) == 8 ? 0x1p-1023 : 0x1p-127);
	for (size_t i = 0; i < w.n; i++)
		w.v[i] = (real)0x1p100;
	memset(want.v, 0, want.n * sizeof(real));
	for (int s = 0; s < n_sets; s++) {
		const struct kernels *k = sets[s];
		struct array p = array(k->dense_packed(&d)), y = copy(want);
		void *scratch = malloc(k->dense_scratch(&d, ROWS) + 1);
		k->dense_pack(&d, w.v, p.v);
		k->dense_forward(&d, ROWS, x.v, p.v, NULL, y.v, 0, k->dense_panels(&d), scratch);
		bad += compare("a product of subnormal rows", k, y, want);
		free(scratch);
		drop(p), drop(y);
	}
	nn_flush_restore(before);
	drop(x), drop(w), drop(want);
	return bad;
}

static long leaf_sums(void)
{
	long bad = 0;
	for (size_t n = 0; n < 70; n++) {
		struct array a = numbers(n, 1), b = numbers(n, 1), want = copy(a);
		for (size_t i = 0; i < n; i++)
			want.v[i] = a.v[i] + b.v[i];
		for (int s = 0; s < n_sets; s++) {
			struct array got = copy(a);
			sets[s]->leaf_add(got.v, b.v, n);
			bad += compare("leaf_add", sets[s], got, want);
			drop(got);
		}
		drop(a), drop(b), drop(want);
	}
	return bad;
}

int main(void)
{
	find_sets();
	printf("# instruction sets:");
	for (int s = 0; s < n_sets; s++)
		printf(" %s", sets[s]->isa);
	printf("; reals of %zu bytes\n", sizeof(real));
	claim("dense forward is one chain of fma per element, 1 to 64 rows",
	      all_dense(dense_forward));
	claim("dense input gradient is one chain of fma per element, 1 to 64 rows",
	      all_dense(dense_input_gradient));
	claim("dense weight gradient is a chain per leaf and a tree over leaves, 1 to 16 leaves",
	      all_dense_weights());
	claim("scratch of many rows is enough for fewer", scratch_of_fewer_rows());
	claim("columns may be split anywhere between panels", column_splits());
	claim("convolution forward is one chain of fma per element, taps outside are skipped",
	      convolutions(EFFORT(120, 1500), test_forward));
	claim("convolution input gradient is one chain over the rotated kernel",
	      convolutions(EFFORT(120, 1500), test_input_gradient));
	claim("convolution weight gradient is one chain over samples and positions",
	      convolutions(EFFORT(120, 1500), test_weight_gradient));
	claim("subnormal rows are zeros where a thread flushes", subnormal_rows());
	claim("leaves are added element by element", leaf_sums());
	printf("1..%d\n", n_tests);
	return n_failed != 0;
}
