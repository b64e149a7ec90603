/* Random reals in guarded arrays, and what the tests of the product kernels share. */
#ifndef NN_TESTS_PRODUCT_ARRAYS_H
#define NN_TESTS_PRODUCT_ARRAYS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/random.h"
#include "lib/product-sets.h"

/* The full sweep, or a part of it that takes a second. */
#ifdef LONG
#define EFFORT(quick, full) (full)
#else
#define EFFORT(quick, full) (quick)
#endif

static uint64_t seed = 1;

static size_t any(size_t n) /* 0 .. n-1 */
{
	return (size_t)(nn_lcg(&seed) >> 33) % n;
}

/*
 * Reals with room behind them that must stay as it is; `odd` puts -0, infinities and NaN among
 * them.
 */
struct array {
	real *v;
	size_t n;
};
#define GUARD 64

static struct array array(size_t n)
{
	struct array a = { malloc((n + 2 * GUARD) * sizeof(real)), n };
	if (!a.v) {
		puts("Bail out! out of memory");
		exit(1);
	}
	for (size_t i = 0; i < n + 2 * GUARD; i++)
		a.v[i] = (real)NAN;
	a.v += GUARD;
	return a;
}

static struct array numbers(size_t n, int odd)
{
	static const double odds[] = { -0.0, 0.0, INFINITY, -INFINITY, NAN, 1e-40, -0.0, -0.0 };
	struct array a = array(n);
	for (size_t i = 0; i < n; i++)
		a.v[i] = (real)((double)any(1 << 24) / (1 << 23) - 1);
	for (size_t i = 0; odd && n && i < 3 + n / 300; i++)
		a.v[any(n)] = (real)odds[any(8)];
	return a;
}

static struct array copy(struct array from)
{
	struct array a = array(from.n);
	memcpy(a.v, from.v, from.n * sizeof(real));
	return a;
}

static void drop(struct array a)
{
	free(a.v - GUARD);
}

static int differs(real a, real b)
{
	return memcmp(&a, &b, sizeof a) != 0 && !(a != a && b != b);
}

/* How many elements differ, guards included; say where the first is. */
static long compare(const char *what, const struct kernels *k, struct array got, struct array want)
{
	long bad = 0;
	for (size_t i = 0; i < want.n; i++)
		if (differs(got.v[i], want.v[i]) && bad++ == 0)
			printf("# %s, %s: element %zu of %zu is %.9g, not %.9g\n", what, k->isa, i,
			       want.n, (double)got.v[i], (double)want.v[i]);
	for (size_t i = 0; i < GUARD; i++)
		if ((!isnan(got.v[-1 - (long)i]) || !isnan(got.v[got.n + i])) && bad++ == 0)
			printf("# %s, %s: written outside the array\n", what, k->isa);
	return bad;
}

/* The epilogue of channel o. */
static real tail(real v, const struct nn_tail *t, size_t o, real residual)
{
	if (t->bias)
		v += ((const real *)t->bias)[o];
	if (t->residual)
		v += residual;
	if (t->act == NN_TAIL_RELU)
		return v > 0 || v != v ? v : 0;
	if (t->act == NN_TAIL_LEAKY)
		return v > 0 ? v : (real)t->slope * v;
	return v;
}

#endif
