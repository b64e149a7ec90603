/*
 * The functions of math.h: at most 2 ulp from the exact value, right at the edges, the same bytes
 * on every instruction set.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/flush.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/subnormal.h"
#include "device/device.h"

/*
 * Built twice: quick, and over every fifth of the 2^32 floats (LONG; of all of them, with 1, it
 * takes minutes).
 */
#ifdef LONG
#ifndef F32_STEP
#define F32_STEP 5u
#endif
#define F64_SAMPLES 10000000
#else
#define F32_STEP 1021u
#define F64_SAMPLES 400000
#endif
#define CHUNK 4096
#ifdef LONG
/* pieces: plain fma takes 20 times as long, and shares its source with the others */
#define GENERIC_EVERY 64
#else
#define GENERIC_EVERY 1
#endif

enum { EXP, EXPM1, LOG, TANH, SIGMOID, ERF, SOFTPLUS, N_FUNCTIONS }; /* as in cpu.h */
static const char *const names[] = { "exp", "expm1", "log", "tanh", "sigmoid", "erf", "softplus" };

#define KERNELS(isa) \
	void nn_cpu_math_f32_##isa(int, const float *, float *, size_t); \
	void nn_cpu_math_f64_##isa(int, const double *, double *, size_t);
KERNELS(generic)
#if defined __x86_64__
KERNELS(avx2)
KERNELS(avx512)
#elif defined __aarch64__
KERNELS(neon)
#endif

static struct {
	const char *name;
	void (*f32)(int, const float *, float *, size_t);
	void (*f64)(int, const double *, double *, size_t);
	int there;
} isas[] = {
	{ "generic", nn_cpu_math_f32_generic, nn_cpu_math_f64_generic, 0 },
#if defined __x86_64__
	{ "avx2", nn_cpu_math_f32_avx2, nn_cpu_math_f64_avx2, 0 },
	{ "avx512", nn_cpu_math_f32_avx512, nn_cpu_math_f64_avx512, 0 },
#elif defined __aarch64__
	{ "neon", nn_cpu_math_f32_neon, nn_cpu_math_f64_neon, 0 },
#endif
};
#define N_ISAS ((int)(sizeof isas / sizeof isas[0]))

/*
 * The instruction sets a piece is tried on: the widest first, whose results are judged; the generic
 * one not on every piece.
 */
static int tried(size_t piece, int list[N_ISAS])
{
	int n = 0;
	for (int isa = N_ISAS - 1; isa >= 0; isa--)
		if (isas[isa].there && (isa > 0 || n == 0 || piece % GENERIC_EVERY == 0))
			list[n++] = isa;
	return n;
}

/* e^x, 0 below the least that kernels keep. */
static long double exp_cut(long double x, long double cut)
{
	return x < logl(cut) ? 0 : expl(x);
}

static long double exact(int function, long double x)
{
	switch (function) {
	case EXP:
		return exp_cut(x, 0x1p-900L);
	case EXPM1:
		return expm1l(x);
	case LOG:
		return logl(x);
	case TANH:
		return tanhl(x);
	case SIGMOID:
		return x < 0 ? exp_cut(x, 0x1p-900L) / (1 + expl(x)) : 1 / (1 + expl(-x));
	case ERF:
		return erfl(x);
	default:
		return x > 0 ? x + log1pl(expl(-x)) : log1pl(exp_cut(x, 0x1p-900L));
	}
}

/* Whether a float's exponential is cut: 100 ln 2. */
static int is_cut_f32(int function, float x)
{
	return x < -0x1.154246p+6F && (function == EXP || function == SIGMOID || function == SOFTPLUS);
}

/*
 * Distance from the exact value in units of the last place that a float there has; huge if one is
 * NaN or infinite alone.
 */
static double ulps_f32(float got, double want)
{
	float rounded = (float)want;
	int exponent;
	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want) ? 0 : INFINITY;
	if (isinf(got) || isinf(rounded))
		return got == rounded || (!isinf(want) && fabs(want) >= 0x1.fffffcp127) ? 0
											: INFINITY;
	if (want == 0 || fabs(want) < 0x1p-126)
		exponent = -125;
	else
		frexp(want, &exponent);
	return fabs(ldexp((double)got - want, 24 - exponent));
}

static double ulps_f64(double got, long double want)
{
	double rounded = (double)want;
	int exponent;
	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want) ? 0 : INFINITY;
	if (isinf(got) || isinf(rounded))
		return got == rounded || (!isinf(want) && fabsl(want) >= 0x1.ffffffffffffep1023L)
			       ? 0
			       : INFINITY;
	if (want == 0 || fabsl(want) < 0x1p-1022L)
		exponent = -1021;
	else
		frexpl(want, &exponent);
	return (double)fabsl(ldexpl((long double)got - want, 53 - exponent));
}

struct worst {
	double error, at, got;
	int differ; /* instruction sets gave other bytes */
	uint64_t n; /* numbers tried */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct worst worst_f32[N_FUNCTIONS], worst_f64[N_FUNCTIONS];

static void merge(struct worst *into, const struct worst *from)
{
	pthread_mutex_lock(&lock);
	if (from->error > into->error)
		into->error = from->error, into->at = from->at, into->got = from->got;
	into->differ |= from->differ;
	into->n += from->n;
	pthread_mutex_unlock(&lock);
}

/* NaNs alone may differ. */
static int same_f32(const float *a, const float *b, size_t n)
{
	if (memcmp(a, b, n * sizeof *a) == 0)
		return 1;
	for (size_t i = 0; i < n; i++)
		if (memcmp(a + i, b + i, sizeof *a) && !(isnan(a[i]) && isnan(b[i])))
			return 0;
	return 1;
}

static int same_f64(const double *a, const double *b, size_t n)
{
	if (memcmp(a, b, n * sizeof *a) == 0)
		return 1;
	for (size_t i = 0; i < n; i++)
		if (memcmp(a + i, b + i, sizeof *a) && !(isnan(a[i]) && isnan(b[i])))
			return 0;
	return 1;
}

/*
 * Floats whose bits are piece * CHUNK * step + i * step. What is exact enough for them comes from the
 * functions of doubles, which sweep_f64 holds against long double: all floats at 40 ns each instead of 170.
 */
static void sweep_f32(void *arg, size_t piece, int thread)
{
	float x[CHUNK], y[CHUNK], other[CHUNK];
	double wide[CHUNK], want[CHUNK];
	int list[N_ISAS], n = tried(piece, list);
	(void)arg;
	(void)thread;
	for (size_t i = 0; i < CHUNK; i++) {
		uint64_t bits = ((uint64_t)piece * CHUNK + i) * F32_STEP;
		uint32_t word = bits > UINT32_MAX ? UINT32_MAX : (uint32_t)bits;
		memcpy(&x[i], &word, sizeof word);
	}
	nn_flush_values(x, CHUNK, NN_F32); /* no others get in */
	for (size_t i = 0; i < CHUNK; i++)
		wide[i] = x[i];
	for (int f = 0; f < N_FUNCTIONS; f++) {
		struct worst w = { .n = 0 };
		isas[list[0]].f32(f, x, y, CHUNK);
		for (int k = 1; k < n; k++) {
			isas[list[k]].f32(f, x, other, CHUNK);
			w.differ |= !same_f32(y, other, CHUNK);
		}
		isas[list[0]].f64(f, wide, want, CHUNK);
		for (size_t i = 0; i < CHUNK; i++) {
			double error;
			if ((float)want[i] == y[i] && !is_cut_f32(f, x[i]))
				continue; /* correctly rounded */
			error = ulps_f32(y[i], is_cut_f32(f, x[i]) ? 0 : want[i]);
			if (error > w.error)
				w.error = error, w.at = x[i], w.got = y[i];
		}
		w.n = CHUNK;
		merge(&worst_f32[f], &w);
	}
}

/* Random bits: every exponent; and numbers where the functions bend. */
static double sample(uint64_t *state, size_t i)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15;
	double x;
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
	z = (z ^ z >> 27) * 0x94D049BB133111EB;
	z ^= z >> 31;
	if (i % 4 == 0) {
		memcpy(&x, &z, sizeof x);
		return x;
	}
	x = (double)(z >> 11) * 0x1p-52 - 1;
	return x * (i % 4 == 1 ? 1 : i % 4 == 2 ? 8 : 800);
}

static void sweep_f64(void *arg, size_t piece, int thread)
{
	double x[CHUNK], y[CHUNK], other[CHUNK];
	uint64_t state = piece * 0x123456789ABCDEF;
	int list[N_ISAS], n = tried(piece, list);
	(void)arg;
	(void)thread;
	for (size_t i = 0; i < CHUNK; i++)
		x[i] = nn_flushed_f64(sample(&state, i)); /* no other gets in */
	for (int f = 0; f < N_FUNCTIONS; f++) {
		struct worst w = { .n = 0 };
		isas[list[0]].f64(f, x, y, CHUNK);
		for (int k = 1; k < n; k++) {
			isas[list[k]].f64(f, x, other, CHUNK);
			w.differ |= !same_f64(y, other, CHUNK);
		}
		for (size_t i = 0; i < CHUNK; i++) {
			double error = ulps_f64(y[i], exact(f, x[i]));
			if (error > w.error)
				w.error = error, w.at = x[i], w.got = y[i];
		}
		w.n = CHUNK;
		merge(&worst_f64[f], &w);
	}
}

static int n_tests, failed;

static void claim(int ok, const char *type, const char *name, const char *what)
{
	printf("%sok %d - math: %s %s %s\n", ok ? "" : "not ", ++n_tests, type, name, what);
	failed |= !ok;
}

static void report(const char *type, const struct worst *worst, uint64_t n)
{
	for (int f = 0; f < N_FUNCTIONS; f++) {
		const struct worst *w = &worst[f];
		printf("# %s %s: %.3f ulp at %a (%a)\n", type, names[f], w->error, w->at, w->got);
		claim(w->error <= 2 && w->n >= n, type, names[f], "is within 2 ulp");
		claim(!w->differ, type, names[f], "gives the same bytes on every instruction set");
	}
}

static int cuts(int isa)
{
	float x[2] = { -69.3147f, -69.3148f }, y[2];
	double x64[2] = { -623.8324, -623.8325 }, y64[2];
	isas[isa].f32(EXP, x, y, 2);
	isas[isa].f64(EXP, x64, y64, 2);
	return y[0] > 0x1p-101f && y[1] == 0 && y64[0] > 0x1p-901 && y64[1] == 0;
}

/* Values that Annex F names, signs of zero included. */
static void edges(void)
{
	static const struct {
		int f;
		double x, y;
	} rows[] = {
		{ EXP, 0.0, 1 },
		{ EXP, -0.0, 1 },
		{ EXP, INFINITY, INFINITY },
		{ EXP, -INFINITY, 0 },
		{ EXP, 1e5, INFINITY },
		{ EXP, -1e5, 0 },
		{ LOG, 0x1p-1060, -INFINITY },
		{ LOG, -0x1p-1060, -INFINITY },
		{ EXPM1, 0.0, 0.0 },
		{ EXPM1, -0.0, -0.0 },
		{ EXPM1, INFINITY, INFINITY },
		{ EXPM1, -INFINITY, -1 },
		{ LOG, 1, 0.0 },
		{ LOG, 0.0, -INFINITY },
		{ LOG, -0.0, -INFINITY },
		{ LOG, INFINITY, INFINITY },
		{ LOG, -1, NAN },
		{ LOG, -INFINITY, NAN },
		{ TANH, 0.0, 0.0 },
		{ TANH, -0.0, -0.0 },
		{ TANH, INFINITY, 1 },
		{ TANH, -INFINITY, -1 },
		{ SIGMOID, 0.0, 0.5 },
		{ SIGMOID, INFINITY, 1 },
		{ SIGMOID, -INFINITY, 0.0 },
		{ ERF, 0.0, 0.0 },
		{ ERF, -0.0, -0.0 },
		{ ERF, INFINITY, 1 },
		{ ERF, -INFINITY, -1 },
		{ SOFTPLUS, INFINITY, INFINITY },
		{ SOFTPLUS, -INFINITY, 0.0 },
	};
	for (int isa = 0; isa < N_ISAS; isa++) {
		int ok = 1;
		if (!isas[isa].there)
			continue;
		for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
			float x = (float)rows[i].x, want = (float)rows[i].y, got;
			double got64;
			isas[isa].f32(rows[i].f, &x, &got, 1);
			isas[isa].f64(rows[i].f, &rows[i].x, &got64, 1);
			if (!same_f32(&got, &want, 1) || !same_f64(&got64, &rows[i].y, 1)) {
				printf("# %s(%a) is %a, %a\n", names[rows[i].f], rows[i].x, got,
				       got64);
				ok = 0;
			}
		}
		for (int f = 0; f < N_FUNCTIONS; f++) {
			float x = NAN, got;
			double x64 = NAN, got64;
			isas[isa].f32(f, &x, &got, 1);
			isas[isa].f64(f, &x64, &got64, 1);
			ok &= isnan(got) && isnan(got64);
		}
		claim(ok, isas[isa].name, "edges",
		      "are those of C99 Annex F, but for subnormals, which are zeros");
		claim(cuts(isa), isas[isa].name, "exp",
		      "is cut to 0 below 2^-100 in f32 and 2^-900 in f64");
	}
}

int main(void)
{
	struct nn_pool *pool = NULL;
	struct nn_error err;
	nn_flush_set(true);
	for (int isa = 0; isa < N_ISAS; isa++) {
		setenv("NN_CPU", isas[isa].name, 1);
		isas[isa].there = nn_device_open("cpu", NN_F32, &err) != NULL;
		if (!isas[isa].there)
			printf("# no %s here\n", isas[isa].name);
	}
	if (nn_pool_new(&pool, nn_cpu_count(), &err)) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	nn_pool_run(pool, ((size_t)UINT32_MAX / F32_STEP + CHUNK) / CHUNK, sweep_f32, NULL);
	nn_pool_run(pool, F64_SAMPLES / CHUNK, sweep_f64, NULL);
	nn_pool_free(pool);
	report("f32", worst_f32, ((uint64_t)1 << 32) / F32_STEP);
	report("f64", worst_f64, F64_SAMPLES / CHUNK * CHUNK);
	edges();
	printf("1..%d\n", n_tests);
	return failed;
}
