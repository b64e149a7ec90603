/*
 * Losses, sums and leaves of every cpu device: against plain formulas in double, gradients against
 * differences, bytes.
 */
#include <math.h>
#include <string.h>
#include "base/random.h"
#include "isa.h"

#define ROWS 23
#define MOST (ROWS * 3 * 40)

static double noise(void)
{
	static uint64_t state = 5;
	return (double)(int64_t)(nn_lcg(&state) >> 42) * 0x1p-20 - 2;
}

/* Arrays of either type. */
union array {
	float f32[MOST];
	double f64[MOST];
};

static void put(const struct nn_device *device, union array *a, size_t i, double value)
{
	if (device->dtype == NN_F64)
		a->f64[i] = value;
	else
		a->f32[i] = (float)value;
}

static double get(const struct nn_device *device, const union array *a, size_t i)
{
	return device->dtype == NN_F64 ? a->f64[i] : (double)a->f32[i];
}

struct loss {
	const char *name;
	enum nn_loss_kind kind;
	size_t positions, columns;
	bool classes, weighted;
};

static const struct loss losses[] = {
	{ "cross-entropy", NN_LOSS_CROSS_ENTROPY, 1, 10, true, false },
	{ "cross-entropy, weighted, positions", NN_LOSS_CROSS_ENTROPY, 3, 37, true, true },
	{ "cross-entropy of one class", NN_LOSS_CROSS_ENTROPY, 1, 1, true, false },
	{ "cross-entropy of probabilities", NN_LOSS_CROSS_ENTROPY, 2, 17, false, false },
	{ "cross-entropy of probabilities, weighted", NN_LOSS_CROSS_ENTROPY, 1, 5, false, true },
	{ "mse", NN_LOSS_MSE, 1, 1, false, false },
	{ "mse of columns", NN_LOSS_MSE, 2, 37, false, false },
	{ "bce", NN_LOSS_BCE, 1, 19, false, false },
	{ "huber", NN_LOSS_HUBER, 1, 19, false, false },
	{ "mae", NN_LOSS_MAE, 3, 7, false, false },
};

/* The same data for both types. */
static double x[MOST], t[MOST], w[40];
static int32_t c[MOST];

static void data_make(const struct loss *loss)
{
	size_t n = ROWS * loss->positions * loss->columns;
	for (size_t i = 0; i < n; i++) {
		x[i] = 3 * noise();
		t[i] = loss->kind == NN_LOSS_MSE || loss->kind == NN_LOSS_HUBER ||
				       loss->kind == NN_LOSS_MAE
			       ? noise()
			       : (noise() + 2) / 4;
	}
	for (size_t i = 0; loss->positions > 1 && i < ROWS * loss->positions; i++)
		if (i % 5 == 1)
			t[i * loss->columns] = NAN; /* masked */
	for (size_t i = 0; i < ROWS * loss->positions; i++)
		c[i] = i % 5 == 3 ? -1 : (int32_t)((size_t)(1e6 * (noise() + 2)) % loss->columns);
	for (size_t i = 0; i < loss->columns; i++)
		w[i] = 1 + noise() / 4;
}

static double log_sum(const double *logits, size_t n)
{
	double most = -INFINITY, sum = 0;
	for (size_t i = 0; i < n; i++)
		most = fmax(most, logits[i]);
	for (size_t i = 0; i < n; i++)
		sum += exp(logits[i] - most);
	return most + log(sum);
}

static double column(enum nn_loss_kind kind, double a, double b)
{
	double d = fabs(a - b);
	switch (kind) {
	case NN_LOSS_BCE:
		return -b * -log1p(exp(-a)) - (1 - b) * (-a - log1p(exp(-a)));
	case NN_LOSS_HUBER:
		return d < 1 ? d * d / 2 : d - 0.5;
	case NN_LOSS_MAE:
		return d;
	default:
		return d * d;
	}
}

/* One row's loss, the sum over its positions. */
static double plain(const struct loss *loss, size_t row)
{
	double sum = 0;
	for (size_t q = row * loss->positions; q < (row + 1) * loss->positions; q++) {
		const double *a = x + q * loss->columns, *b = t + q * loss->columns;
		if (loss->classes) {
			if (c[q] >= 0)
				sum += (loss->weighted ? w[c[q]] : 1) *
				       (log_sum(a, loss->columns) - a[c[q]]);
			continue;
		}
		for (size_t i = 0; !isnan(b[0]) && i < loss->columns; i++)
			sum += loss->kind == NN_LOSS_CROSS_ENTROPY
				       ? (loss->weighted ? w[i] : 1) * b[i] *
						 (log_sum(a, loss->columns) - a[i])
				       : column(loss->kind, a[i], b[i]) / (double)loss->columns;
	}
	return sum;
}

static void run(const struct nn_device *device, const struct loss *loss, struct nn_pool *pool,
		union array *rows, union array *d)
{
	static union array logits, numbers, weights;
	for (size_t i = 0; i < ROWS * loss->positions * loss->columns; i++) {
		put(device, &logits, i, x[i]);
		put(device, &numbers, i, t[i]);
	}
	for (size_t i = 0; i < loss->columns; i++)
		put(device, &weights, i, w[i]);
	memset(rows, 0xff, sizeof *rows);
	if (d)
		memset(d, 0xff, sizeof *d);
	device->loss(&(struct nn_loss_call){ .kind = loss->kind,
					     .rows = ROWS,
					     .positions = loss->positions,
					     .columns = loss->columns,
					     .logits = &logits,
					     .classes = loss->classes ? c : NULL,
					     .numbers = loss->classes ? NULL : &numbers,
					     .class_weights = loss->weighted ? &weights : NULL,
					     .now = &(struct nn_now){ .scale = 0.25 },
					     .row_loss = rows,
					     .dlogits = d,
					     .pool = pool });
}

static bool close_to(double got, double want, double tolerance)
{
	return fabs(got - want) <= tolerance * (1 + fabs(want));
}

static int values_are_right(const struct nn_device *device, const struct loss *loss)
{
	static union array rows, d;
	double tolerance = device->dtype == NN_F64 ? 1e-13 : 1e-5;
	int ok = 1;
	run(device, loss, NULL, &rows, &d);
	for (size_t r = 0; r < ROWS; r++)
		ok &= close_to(get(device, &rows, r), plain(loss, r), tolerance);
	for (size_t i = 0; i < ROWS * loss->positions * loss->columns; i++) {
		size_t r = i / (loss->positions * loss->columns);
		double h = 1e-6, before = x[i], up, down;
		x[i] = before + h;
		up = plain(loss, r);
		x[i] = before - h;
		down = plain(loss, r);
		x[i] = before;
		ok &= close_to(get(device, &d, i), 0.25 * (up - down) / (2 * h),
			       device->dtype == NN_F64 ? 1e-8 : 1e-5);
	}
	return ok;
}

static int bytes_are_the_same(enum nn_dtype dtype, const struct loss *loss, struct nn_pool *pool)
{
	static union array rows, d, rows2, d2;
	int ok = 1;
	run(device_of("generic", dtype), loss, NULL, &rows, &d);
	for (size_t isa = 0; isa < sizeof isas / sizeof isas[0]; isa++) {
		const struct nn_device *device = device_of(isas[isa], dtype);
		if (!device)
			continue;
		run(device, loss, pool, &rows2, &d2);
		ok &= !memcmp(&rows, &rows2, sizeof rows) && !memcmp(&d, &d2, sizeof d);
		run(device, loss, NULL, &rows2, NULL);
		ok &= !memcmp(&rows, &rows2, sizeof rows);
	}
	return ok;
}

/* Confident logits: no overflow, and no NaN where the exact gradient is 0 or 1. */
static int extremes_are_right(const struct nn_device *device)
{
	static const struct loss ce = { "", NN_LOSS_CROSS_ENTROPY, 1, 3, true, false },
				 bce = { "", NN_LOSS_BCE, 1, 3, false, false };
	static union array rows, d;
	int ok;
	for (size_t i = 0; i < MOST; i++) {
		x[i] = i % 3 == 0 ? 1000 : -1000;
		t[i] = i % 3 == 0;
		c[i] = 0;
	}
	run(device, &ce, NULL, &rows, &d);
	ok = get(device, &rows, 0) == 0 && get(device, &d, 0) == 0 && get(device, &d, 1) == 0;
	run(device, &bce, NULL, &rows, &d);
	return ok && get(device, &rows, 0) == 0 && get(device, &d, 0) == 0 &&
	       get(device, &d, 1) == 0;
}

/* ---- nn_sum ---- */

static float sum_block(const float *v, size_t n)
{
	float p[16] = { 0 };
	for (size_t i = 0; i < n; i++)
		p[i % 16] += v[i];
	for (int step = 1; step < 16; step *= 2)
		for (int i = 0; i < 16; i += 2 * step)
			p[i] += p[i + step];
	return p[0];
}

/* Blocks lo..hi-1 of the tree over all of them: the left part is the largest power of two below. */
static float sum_tree(const float *v, size_t n, size_t blocks)
{
	size_t left = 1;
	if (blocks <= 1)
		return sum_block(v, n);
	while (2 * left < blocks)
		left *= 2;
	return sum_tree(v, left * 4096, left) +
	       sum_tree(v + left * 4096, n - left * 4096, blocks - left);
}

static int sums_are_right(const struct nn_device *device)
{
	static const size_t sizes[] = { 0,    1,    2,    15,   16,    17,    31,    100,  1000,
					4095, 4096, 4097, 8192, 12289, 20480, 28672, 65536 };
	static float v[65536], squares[65536];
	int ok = 1;
	for (size_t i = 0; i < 65536; i++) {
		v[i] = (float)noise();
		squares[i] = v[i] * v[i];
	}
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		size_t n = sizes[i], blocks = (n + 4095) / 4096;
		double sum;

		device->sum(NULL, v, n, &sum);
		ok &= sum == (double)sum_tree(v, n, blocks);
		device->sum_squares(NULL, v, n, &sum);
		ok &= sum == (double)sum_tree(squares, n, blocks);
	}
	return ok;
}

static int leaves_are_right(const struct nn_device *device)
{
	static const struct {
		size_t rows, group, most, leaves;
	} cases[] = {
		{ 1, 0, 16, 1 },   { 31, 0, 16, 1 },   { 32, 0, 16, 2 },     { 64, 0, 16, 4 },
		{ 127, 0, 16, 4 }, { 128, 0, 16, 8 },  { 256, 0, 16, 16 },   { 100000, 0, 16, 16 },
		{ 256, 0, 4, 4 },  { 128, 32, 16, 4 }, { 32, 32, 16, 1 },    { 47, 32, 16, 1 },
		{ 48, 32, 16, 2 }, { 20, 32, 16, 1 },  { 2048, 32, 16, 16 }, { 256, 0, 1, 1 },
	};
	int ok = 1;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		ok &= device->leaves(cases[i].rows, cases[i].group, cases[i].most) ==
		      cases[i].leaves;
	return ok;
}

int main(void)
{
	struct nn_pool *pool;
	struct nn_error err;
	int sums = 1, extremes = 1;
	if (nn_pool_new(&pool, 3, &err)) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
		data_make(&losses[i]);
		claim(losses[i].name, "value and gradient are right in f32",
		      values_are_right(device_of("generic", NN_F32), &losses[i]));
		claim(losses[i].name, "value and gradient are right in f64",
		      values_are_right(device_of("generic", NN_F64), &losses[i]));
		claim(losses[i].name, "same bytes on every instruction set and thread count",
		      bytes_are_the_same(NN_F32, &losses[i], pool) &&
			      bytes_are_the_same(NN_F64, &losses[i], pool));
	}
	for (size_t isa = 0; isa < sizeof isas / sizeof isas[0]; isa++)
		if (device_of(isas[isa], NN_F32)) {
			sums &= sums_are_right(device_of(isas[isa], NN_F32));
			extremes &= extremes_are_right(device_of(isas[isa], NN_F32));
			if (device_of(isas[isa], NN_F64))
				extremes &= extremes_are_right(device_of(isas[isa], NN_F64));
		}
	claim("losses", "stay finite for confident logits", extremes);
	claim("nn_sum",
	      "is 16 interleaved sums, pairwise, blocks of 4096 along the tree, on every "
	      "instruction set",
	      sums);
	claim("leaves", "follow numerics.md", leaves_are_right(device_of("generic", NN_F32)));
	nn_pool_free(pool);
	printf("1..%d\n", n_tests);
	return failed;
}
