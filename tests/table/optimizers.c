/* Optimizers of every cpu device against plain formulas in double, and the same bytes however the
 * block is cut. */
#include <math.h>
#include <string.h>
#include "isa.h"

#define N 5003
#define STEPS 6

struct setting {
	const char *name;
	struct nn_update u;
};

static const struct setting settings[] = {
	{ "sgd", { .kind = NN_SGD, .lr = 0.01, .clip = 1 } },
	{ "sgd with momentum and decay",
	  { .kind = NN_SGD, .lr = 0.01, .clip = 0.5, .momentum = 0.9, .weight_decay = 0.1 } },
	{ "sgd of Nesterov",
	  { .kind = NN_SGD, .lr = 0.01, .clip = 1, .momentum = 0.9, .nesterov = true } },
	{ "adam",
	  { .kind = NN_ADAM, .lr = 0.001, .clip = 1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 } },
	{ "adam with decay",
	  { .kind = NN_ADAM,
	    .lr = 0.001,
	    .clip = 0.7,
	    .beta1 = 0.9,
	    .beta2 = 0.999,
	    .eps = 1e-8,
	    .weight_decay = 0.1 } },
	{ "adamw",
	  { .kind = NN_ADAMW,
	    .lr = 0.001,
	    .clip = 1,
	    .beta1 = 0.9,
	    .beta2 = 0.999,
	    .eps = 1e-8,
	    .weight_decay = 0.01 } },
	{ "rmsprop",
	  { .kind = NN_RMSPROP,
	    .lr = 0.01,
	    .clip = 1,
	    .alpha = 0.99,
	    .eps = 1e-8,
	    .weight_decay = 0.1 } },
	{ "rmsprop with momentum",
	  { .kind = NN_RMSPROP,
	    .lr = 0.01,
	    .clip = 1,
	    .alpha = 0.99,
	    .eps = 1e-8,
	    .momentum = 0.9 } },
	{ "rprop", { .kind = NN_RPROP, .lr = 0.01, .clip = 1 } },
	{ "lars",
	  { .kind = NN_LARS,
	    .lr = 0.01,
	    .clip = 1,
	    .momentum = 0.9,
	    .weight_decay = 0.1,
	    .ratio = 0.3 } },
	{ "lamb",
	  { .kind = NN_LAMB,
	    .lr = 0.01,
	    .clip = 1,
	    .beta1 = 0.9,
	    .beta2 = 0.999,
	    .eps = 1e-6,
	    .weight_decay = 0.1,
	    .ratio = 0.3 } },
};

/* Gradients of step s: noise, some zeros, signs that turn. */
static double gradient(int s, size_t i)
{
	uint64_t z = (i + 1) * 0x9E3779B97F4A7C15 + (uint64_t)s * 0xBF58476D1CE4E5B9;
	z = (z ^ z >> 31) * 0x94D049BB133111EB;
	return i % 11 == 0 ? 0 : (double)(float)((double)(int64_t)(z ^ z >> 29) * 0x1p-63);
}

static double start(size_t i)
{
	return gradient(-1, i) / 2;
}

/* One element through all steps, in double: the formulas of torch.optim; a, b are the slots. */
static double plain(const struct nn_update *u, size_t i)
{
	double w = start(i), a = 0, b = 0, m, v, d, step;
	for (int s = 1; s <= STEPS; s++) {
		double g = gradient(s, i) * u->clip, c1 = 1 - pow(u->beta1, s),
		       c2 = 1 - pow(u->beta2, s);
		if (u->kind != NN_ADAMW && u->kind != NN_LAMB)
			g += u->weight_decay * w;
		switch (u->kind) {
		case NN_SGD:
		case NN_LARS:
			d = u->kind == NN_LARS ? u->ratio * g : g;
			a = u->momentum * a + d;
			w -= u->lr * (u->nesterov ? d + u->momentum * a : a);
			break;
		case NN_RMSPROP:
			a = u->alpha * a + (1 - u->alpha) * g * g;
			b = u->momentum * b + g / (sqrt(a) + u->eps);
			w -= u->lr * b;
			break;
		case NN_RPROP:
			step = (s == 1 ? u->lr : b) * (g * a > 0 ? 1.2 : g * a < 0 ? 0.5 : 1);
			b = fmin(fmax(step, 1e-6), 50);
			a = g * a < 0 ? 0 : g;
			w -= b * ((a > 0) - (a < 0));
			break;
		default:
			if (u->kind == NN_ADAMW)
				w *= 1 - u->lr * u->weight_decay;
			a = m = u->beta1 * a + (1 - u->beta1) * g;
			b = v = u->beta2 * b + (1 - u->beta2) * g * g;
			d = m / c1 / (sqrt(v / c2) + u->eps);
			w -= u->kind == NN_LAMB ? u->lr * u->ratio * (d + u->weight_decay * w)
						: u->lr * d;
		}
	}
	return w;
}

struct block {
	double w[N], a[N], b[N];
}; /* room for either type */

static void fill(const struct nn_device *device, void *to, int s)
{
	for (size_t i = 0; i < N; i++) {
		double v = s < 0 ? start(i) : gradient(s, i);
		if (device->dtype == NN_F64)
			((double *)to)[i] = v;
		else
			((float *)to)[i] = (float)v;
	}
}

/* All steps, the block cut at `cut`. */
static void run(const struct nn_device *device, const struct setting *setting, struct nn_pool *pool,
		size_t cut, struct block *block)
{
	static double g[N], direction[N];
	size_t size = device->dtype == NN_F64 ? sizeof(double) : sizeof(float);
	memset(block, 0, sizeof *block);
	fill(device, block->w, -1);
	for (int s = 1; s <= STEPS; s++) {
		fill(device, g, s);
		for (size_t begin = 0, end = cut; begin < N; begin = end, end = N) {
			struct nn_update u = setting->u;
			size_t at = begin * size;
			u.n = end - begin;
			u.w = (char *)block->w + at;
			u.g = (char *)g + at;
			u.slot[0] = (char *)block->a + at;
			u.slot[1] = (char *)block->b + at;
			u.step = (uint64_t)s;
			u.pool = pool;
			if (u.kind == NN_LAMB) {
				device->direction(&u, (char *)direction + at);
				u.g = (char *)direction + at;
			}
			device->update(&u);
		}
	}
}

static int is_right(const struct nn_device *device, const struct setting *setting)
{
	static struct block block;
	double tolerance = device->dtype == NN_F64 ? 1e-13 : 2e-6;
	run(device, setting, NULL, N, &block);
	for (size_t i = 0; i < N; i++) {
		double got = device->dtype == NN_F64 ? block.w[i] : (double)((float *)block.w)[i],
		       want = plain(&setting->u, i);
		if (fabs(got - want) > tolerance * (1 + fabs(want))) {
			printf("# %zu: %.17g, not %.17g\n", i, got, want);
			return 0;
		}
	}
	return 1;
}

static int bytes_are_the_same(enum nn_dtype dtype, const struct setting *setting,
			      struct nn_pool *pool)
{
	static struct block want, got;
	int ok = 1;
	run(device_of("generic", dtype), setting, NULL, N, &want);
	for (size_t isa = 0; isa < 3; isa++) {
		const struct nn_device *device = device_of(isas[isa], dtype);
		if (!device)
			continue;
		run(device, setting, pool, N, &got);
		ok &= !memcmp(&want, &got, sizeof want);
		run(device, setting, NULL, 1001, &got);
		ok &= !memcmp(&want, &got, sizeof want);
	}
	return ok;
}

/* ---- what kernels leave out where no bit depends on it ---- */

/* One element of adam, adamw or rmsprop with nothing left out. */
#define PLAIN(real, FMA, SQRT) \
	static void plain_##real(const struct nn_update *u, real *w, real *a, real *b, real g) \
	{ \
		const double c1 = 1 - u->beta1, c2 = 1 - u->beta2; /* of step 1 */ \
		const real rate = (real)(u->kind == NN_RMSPROP ? -u->lr : -u->lr / c1), \
			   eps = (real)u->eps; \
		const real beta = (real)(u->kind == NN_RMSPROP ? u->alpha : u->beta2); \
		const real rest = (real)(1 - (u->kind == NN_RMSPROP ? u->alpha : u->beta2)); \
		real *v = u->kind == NN_RMSPROP ? a : b, m = g; \
		g = FMA((real)(u->kind == NN_ADAMW ? 0 : u->weight_decay), *w, g * (real)u->clip); \
		if (u->kind != NN_RMSPROP) \
			*a = m = FMA((real)c1, g - *a, *a); \
		*v = FMA(beta, *v, rest * g * g); \
		if (u->kind == NN_RMSPROP) \
			m = g / (SQRT(*v) + eps); \
		else \
			m = m / FMA(SQRT(*v), (real)(1 / sqrt(c2)), eps); \
		*w = FMA(rate, m, \
			 u->kind == NN_ADAMW ? *w * (real)(1 - u->lr * u->weight_decay) : *w); \
	}
PLAIN(float, fmaf, sqrtf)
PLAIN(double, fma, sqrt)

#define SMALL 10
/* In units of the least subnormal number: in float the fifth, 2^-83, is just what the fourth as a
 * moment still moves. */
static const double small[SMALL] = { 0,      -0.0,    4,        -8e6,     0x1p66,
				     0x1p24, -0x1p70, 0x1.8p90, -0x1p125, 0x1p149 };

/* A step from every combination of such a gradient, moment, second moment and weight. */
static int small_numbers_are_right(const struct nn_device *device, enum nn_optimizer_kind kind,
				   double eps)
{
	enum { n = SMALL * SMALL * SMALL * SMALL };
	static double w[n], a[n], b[n], g[n], w1[n], a1[n], b1[n];
	struct nn_update u = { .kind = kind,
			       .n = n,
			       .w = w,
			       .g = g,
			       .slot = { a, b },
			       .step = 1,
			       .lr = 0.001,
			       .clip = 1,
			       .weight_decay = kind == NN_ADAMW ? 0.01 : 0,
			       .beta1 = 0.9,
			       .beta2 = 0.999,
			       .alpha = 0.99,
			       .eps = eps };
	bool wide = device->dtype == NN_F64;
	double unit = wide ? 0x1p-1074 : 0x1p-149;
	for (size_t i = 0; i < n; i++) {
		double x[4] = { small[i % SMALL], small[i / SMALL % SMALL],
				small[i / SMALL / SMALL % SMALL],
				small[i / SMALL / SMALL / SMALL] };
		for (int k = 0; k < 4; k++)
			x[k] *= unit;
		if (wide) {
			w[i] = w1[i] = x[0], a[i] = a1[i] = x[1], b[i] = b1[i] = fabs(x[2]),
			g[i] = x[3];
			if (kind == NN_RMSPROP)
				a[i] = a1[i] = fabs(a[i]);
			plain_double(&u, &w1[i], &a1[i], &b1[i], g[i]);
		} else {
			float *f[7] = { (float *)w,  (float *)a,  (float *)b, (float *)g,
					(float *)w1, (float *)a1, (float *)b1 };
			f[0][i] = f[4][i] = (float)x[0], f[1][i] = f[5][i] = (float)x[1],
			f[2][i] = f[6][i] = (float)fabs(x[2]);
			if (kind == NN_RMSPROP)
				f[1][i] = f[5][i] = fabsf(f[1][i]);
			f[3][i] = (float)x[3];
			plain_float(&u, &f[4][i], &f[5][i], &f[6][i], f[3][i]);
		}
	}
	device->update(&u);
	return !memcmp(w, w1, sizeof w) && !memcmp(a, a1, sizeof a) && !memcmp(b, b1, sizeof b);
}

int main(void)
{
	struct nn_pool *pool;
	struct nn_error err;
	if (nn_pool_new(&pool, 3, &err)) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
		const struct setting *s = &settings[i];
		claim(s->name, "follows torch.optim in f32 and f64",
		      is_right(device_of("generic", NN_F32), s) &&
			      is_right(device_of("generic", NN_F64), s));
		claim(s->name, "same bytes on every instruction set, thread count and cut",
		      bytes_are_the_same(NN_F32, s, pool) && bytes_are_the_same(NN_F64, s, pool));
	}
	for (int isa = 0; isa < 3; isa++)
		for (int k = 0; k < 3; k++) {
			static const enum nn_optimizer_kind kinds[] = { NN_ADAM, NN_ADAMW,
									NN_RMSPROP };
			const struct nn_device *f32 = device_of(isas[isa], NN_F32),
					       *f64 = device_of(isas[isa], NN_F64);
			if (f32 && f64)
				claim(isas[isa],
				      "subnormal moments move weights as the plain formula does",
				      small_numbers_are_right(f32, kinds[k], 1e-8) &&
					      small_numbers_are_right(f32, kinds[k], 1e-30) &&
					      small_numbers_are_right(f64, kinds[k], 1e-8) &&
					      small_numbers_are_right(f64, kinds[k], 1e-200));
		}
	nn_pool_free(pool);
	printf("1..%d\n", n_tests);
	return failed;
}
