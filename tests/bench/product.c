/*
 * How fast the product kernels are on one thread, as a share of the core's own fma rate in the same
 * run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "lib/product-sets.h"

/*
 * usage: product [INSTRUCTION-SET [WORD]]: all of this machine's, or one; only rows whose name has
 * WORD.
 */

static const struct kernels *k;
static double peak;
static const char *word = "";

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static real *reals(size_t n)
{
	real *v = aligned_alloc(64, (n * sizeof(real) + 191) / 64 * 64);
	if (!v)
		exit(1);
	for (size_t i = 0; i < n; i++)
		v[i] = (real)((double)(i * 2654435761u % 65536) / 32768 - 1);
	return v;
}

/* Seconds of the fastest of many calls: what a busy machine disturbs least. */
static double best(void (*run)(void *), void *arg)
{
	double least = 1e9;
	const double end = now() + 0.08;
	for (int i = 0; i < 6 || now() < end; i++) {
		const double t = now();
		run(arg);
		const double s = now() - t;
		least = s < least ? s : least;
	}
	return least;
}

static void show(const char *what, double flop, double seconds)
{
	printf("  %s %5.1f%% %8.1f us", what, 100 * flop / seconds / peak, seconds * 1e6);
	fflush(stdout);
}

static void measure_peak(void)
{
	double least = 1e9, flop = 0;
	for (int i = 0; i < 200; i++) {
		const double t = now();
		flop = k->fma_peak(20000);
		const double s = now() - t;
		least = s < least ? s : least;
	}
	peak = flop / least;
}

/* ---- dense ---- */

struct dense {
	struct nn_matrix d;
	size_t rows, leaf[17], leaves;
	real *x, *w, *y, *dx, *dw, *b;
	void *scratch;
};

static void dense_forward(void *arg)
{
	struct dense *a = arg;
	const struct nn_tail t = { .bias = a->b, .act = NN_TAIL_RELU };
	k->dense_forward(&a->d, a->rows, a->x, a->w, &t, a->y, 0, k->dense_panels(&a->d),
			 a->scratch);
}

static void dense_input(void *arg)
{
	struct dense *a = arg;
	k->dense_input_gradient(&a->d, a->rows, a->y, a->w, a->dx, false, 0, a->d.in, a->scratch);
}

static void dense_weights(void *arg)
{
	struct dense *a = arg;
	k->dense_weight_gradient(&a->d, a->x, a->y, a->leaf, a->leaves, true, a->dw, NULL, 0, a->d.in, 0,
				 k->dense_panels(&a->d), a->scratch);
}

/* rows: samples of that many positions each. */
static void dense_at(size_t samples, size_t positions, size_t in, size_t out)
{
	const size_t rows = samples * positions;
	char name[64];
	snprintf(name, sizeof name, "dense %zu x %zu, %zu x %zu rows", in, out, samples, positions);
	if (positions == 1)
		snprintf(name, sizeof name, "dense %zu x %zu, %zu rows", in, out, rows);
	if (!strstr(name, word))
		return;
	struct dense a = { .d = { in, out, in, out, 0, 0 }, .rows = rows, .leaves = 1 };
	while (a.leaves < 16 && 32 * a.leaves <= samples)
		a.leaves *= 2;
	for (size_t i = 0; i <= a.leaves; i++)
		a.leaf[i] = i * rows / a.leaves;
	a.x = reals(rows * in);
	a.dx = reals(rows * in);
	a.y = reals(rows * out);
	a.w = reals(k->dense_packed(&a.d));
	a.dw = reals(k->dense_packed(&a.d));
	a.b = reals(out);
	a.scratch = malloc(k->dense_scratch(&a.d, rows));
	const double flop = 2.0 * (double)rows * (double)in * (double)out;
	printf("%-40s", name);
	show("forward", flop, best(dense_forward, &a));
	show("dx", flop, best(dense_input, &a));
	show("dw", flop, best(dense_weights, &a));
	printf("\n");
	free(a.x), free(a.dx), free(a.y), free(a.w), free(a.dw), free(a.b), free(a.scratch);
}

static void dense(size_t rows, size_t in, size_t out)
{
	dense_at(rows, 1, in, out);
}

/* ---- convolution ---- */

struct conv {
	struct nn_conv c;
	size_t samples, x_size, y_size;
	real *x, *w, *r, *y, *dx, *dw, *b;
};

static void conv_forward(void *arg)
{
	struct conv *a = arg;
	const struct nn_tail t = { .bias = a->b, .act = NN_TAIL_RELU };
	for (size_t i = 0; i < a->samples; i++)
		k->conv_forward(&a->c, a->x + i * a->x_size, a->w, &t, a->y + i * a->y_size, 0,
				a->c.h.out);
}

static void conv_input(void *arg)
{
	struct conv *a = arg;
	for (size_t i = 0; i < a->samples; i++)
		k->conv_input_gradient(&a->c, a->y + i * a->y_size, a->r, a->dx + i * a->x_size,
				       false, 0, a->c.h.in);
}

static void conv_weights(void *arg)
{
	struct conv *a = arg;
	for (size_t i = 0; i < a->samples; i++)
		k->conv_weight_gradient(&a->c, a->x + i * a->x_size, a->y + i * a->y_size, a->dw,
					i == 0, 0, a->c.h.out, 0, a->c.h.n, 0,
					k->conv_panels(&a->c));
}

static void conv_rotate(void *arg)
{
	struct conv *a = arg;
	k->conv_rotate(&a->c, a->w, a->r, 0, k->conv_rotated_panels(&a->c));
}

/* Multiply-adds whose tap is inside, of one sample. */
static double inside(const struct nn_conv *c)
{
	double taps[2];
	for (int i = 0; i < 2; i++) {
		const struct nn_axis *a = i ? &c->w : &c->h;
		taps[i] = 0;
		for (long q = 0; q < a->out; q++)
			for (long t = 0; t < a->n; t++) {
				const long p = q * a->stride + t * a->dilation - a->pad;
				taps[i] += p >= 0 && p < a->in;
			}
	}
	return taps[0] * taps[1] * (double)c->cin * (double)(c->cout * c->groups);
}

static void conv(size_t samples, size_t cin, size_t cout, size_t groups, size_t kernel,
		 size_t stride, size_t pad, size_t size)
{
	char name[64];
	const size_t one[2] = { 1, 1 }, kk[2] = { kernel, kernel }, ss[2] = { stride, stride },
		     pp[2] = { pad, pad };
	snprintf(name, sizeof name, "conv %zu>%zu %zux%zu k%zu s%zu p%zu g%zu, %zu", cin, cout,
		 size, size, kernel, stride, pad, groups, samples);
	if (!strstr(name, word))
		return;
	struct conv a = { .samples = samples };
	nn_conv_init(&a.c, kk, ss, pp, one, groups, cin, cout, size, size);
	a.x_size = (size_t)a.c.h.in * a.c.x_row;
	a.y_size = (size_t)a.c.h.out * a.c.y_row;
	a.x = reals(samples * a.x_size);
	a.dx = reals(samples * a.x_size);
	a.y = reals(samples * a.y_size);
	a.w = reals(k->conv_packed(&a.c));
	a.dw = reals(k->conv_packed(&a.c));
	a.r = reals(k->conv_rotated(&a.c));
	a.b = reals(cout);
	conv_rotate(&a);
	const double flop = 2 * inside(&a.c) * (double)samples;
	printf("%-40s", name);
	show("forward", flop, best(conv_forward, &a));
	show("dx", flop, best(conv_input, &a));
	show("dw", flop, best(conv_weights, &a));
	printf("  rotate %.1f us\n", best(conv_rotate, &a) * 1e6);
	free(a.x), free(a.dx), free(a.y), free(a.w), free(a.dw), free(a.r), free(a.b);
}

int main(int argc, char **argv)
{
	find_sets();
	if (argc > 2)
		word = argv[2];
	for (int s = 0; s < n_sets; s++) {
		k = sets[s];
		if (argc > 1 ? strcmp(argv[1], k->isa) != 0 : s == n_sets - 1 && n_sets > 1)
			continue;
		measure_peak();
		printf("%s, reals of %zu bytes: %.1f GFLOP/s of fma in registers\n", k->isa,
		       sizeof(real), peak * 1e-9);
		dense(512, 512, 512);
		dense(32, 784, 128);
		dense(128, 784, 128);
		dense(1024, 784, 128);
		dense(1, 784, 128);
		dense(2, 784, 128);
		dense(3, 784, 128);
		dense(5, 784, 128);
		dense(8, 784, 128);
		dense(16, 784, 128);
		dense(32, 128, 10);
		dense(128, 128, 10);
		dense(128, 784, 512);
		dense(128, 512, 512);
		dense(256, 1024, 2048);
		dense(256, 2048, 2048);
		dense(256, 2048, 1000);
		dense_at(16, 128, 128, 128);
		dense_at(16, 128, 128, 512);
		dense_at(16, 128, 512, 128);
		conv(64, 1, 32, 1, 3, 1, 0, 28);
		conv(64, 32, 64, 1, 3, 1, 0, 13);
		conv(64, 3, 32, 1, 3, 1, 1, 32);
		conv(64, 32, 64, 1, 3, 1, 1, 16);
		conv(64, 64, 128, 1, 3, 1, 1, 8);
		conv(2, 32, 64, 1, 3, 1, 1, 16);
		conv(2, 16, 16, 1, 3, 1, 1, 32);
		conv(2, 64, 128, 1, 3, 1, 1, 8);
		conv(2, 3, 16, 1, 3, 1, 1, 32);
		conv(2, 1, 32, 1, 3, 1, 0, 28);
		conv(64, 3, 16, 1, 3, 1, 1, 32);
		conv(64, 16, 16, 1, 3, 1, 1, 32);
		conv(64, 16, 32, 1, 3, 2, 1, 32);
		conv(64, 16, 32, 1, 1, 2, 0, 32);
		conv(64, 32, 32, 1, 3, 1, 1, 16);
		conv(64, 32, 64, 1, 3, 2, 1, 16);
		conv(64, 32, 64, 1, 1, 2, 0, 16);
		conv(64, 64, 64, 1, 3, 1, 1, 8);
		conv(64, 1, 6, 1, 5, 1, 2, 28);
		conv(64, 6, 16, 1, 5, 1, 0, 14);
		conv(16, 64, 256, 1, 1, 1, 0, 14);
		conv(16, 256, 64, 1, 1, 1, 0, 14);
		conv(16, 20, 20, 1, 3, 1, 1, 28);
		conv(4, 3, 64, 1, 7, 2, 3, 112);
		conv(16, 64, 64, 4, 3, 1, 1, 14);
		conv(16, 64, 64, 64, 3, 1, 1, 28);
		conv(16, 64, 64, 64, 3, 2, 1, 28);
	}
	return 0;
}
