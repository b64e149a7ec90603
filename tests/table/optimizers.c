/*
 * Optimizers of every cpu device against plain formulas in double, and the same bytes however the
 * block is cut.
 */
#include <math.h>
#include <string.h>
#include "isa.h"

#define N 5003
#define STEPS 6

struct setting {
	const char *name;
	struct nn_update u;
	struct nn_now now; /* without step */
	double ratio;
};

static const struct setting settings[] = {
	{ "sgd", { .kind = NN_SGD }, { .lr = 0.01, .clip = 1 }, 1 },
	{ "sgd with momentum and decay",
	  { .kind = NN_SGD, .momentum = 0.9, .weight_decay = 0.1 },
	  { .lr = 0.01, .clip = 0.5 },
	  1 },
	{ "sgd of Nesterov",
	  { .kind = NN_SGD, .momentum = 0.9, .nesterov = true },
	  { .lr = 0.01, .clip = 1 },
	  1 },
	{ "adam",
	  { .kind = NN_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 },
	  { .lr = 0.001, .clip = 1 },
	  1 },
	{ "adam with decay",
	  { .kind = NN_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.1 },
	  { .lr = 0.001, .clip = 0.7 },
	  1 },
	{ "adamw",
	  { .kind = NN_ADAMW, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01 },
	  { .lr = 0.001, .clip = 1 },
	  1 },
	{ "rmsprop",
	  { .kind = NN_RMSPROP, .alpha = 0.99, .eps = 1e-8, .weight_decay = 0.1 },
	  { .lr = 0.01, .clip = 1 },
	  1 },
	{ "rmsprop with momentum",
	  { .kind = NN_RMSPROP, .alpha = 0.99, .eps = 1e-8, .momentum = 0.9 },
	  { .lr = 0.01, .clip = 1 },
	  1 },
	{ "rprop", { .kind = NN_RPROP }, { .lr = 0.01, .clip = 1 }, 1 },
	{ "lars",
	  { .kind = NN_LARS, .momentum = 0.9, .weight_decay = 0.1 },
	  { .lr = 0.01, .clip = 1 },
	  0.3 },
	{ "lamb",
	  { .kind = NN_LAMB, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-6, .weight_decay = 0.1 },
	  { .lr = 0.01, .clip = 1 },
	  0.3 },
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
static double plain(const struct setting *setting, size_t i)
{
	const struct nn_update *u = &setting->u;
	const struct nn_now *now = &setting->now;
	double w = start(i), a = 0, b = 0, m, v, d, step;
	for (int s = 1; s <= STEPS; s++) {
		double g = gradient(s, i) * now->clip, c1 = 1 - pow(u->beta1, s),
		       c2 = 1 - pow(u->beta2, s);
		if (u->kind != NN_ADAMW && u->kind != NN_LAMB)
			g += u->weight_decay * w;
		switch (u->kind) {
		case NN_SGD:
		case NN_LARS:
			d = u->kind == NN_LARS ? setting->ratio * g : g;
			a = u->momentum * a + d;
			w -= now->lr * (u->nesterov ? d + u->momentum * a : a);
			break;
		case NN_RMSPROP:
			a = u->alpha * a + (1 - u->alpha) * g * g;
			b = u->momentum * b + g / (sqrt(a) + u->eps);
			w -= now->lr * b;
			break;
		case NN_RPROP:
			step = (s == 1 ? now->lr : b) * (g * a > 0 ? 1.2 : g * a < 0 ? 0.5 : 1);
			b = fmin(fmax(step, 1e-6), 50);
			a = g * a < 0 ? 0 : g;
			w -= b * ((a > 0) - (a < 0));
			break;
		default:
			if (u->kind == NN_ADAMW)
				w *= 1 - now->lr * u->weight_decay;
			a = m = u->beta1 * a + (1 - u->beta1) * g;
			b = v = u->beta2 * b + (1 - u->beta2) * g * g;
			d = m / c1 / (sqrt(v / c2) + u->eps);
			w -= u->kind == NN_LAMB
				     ? now->lr * setting->ratio * (d + u->weight_decay * w)
				     : now->lr * d;
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

static struct nn_now now_at(const struct setting *setting, int step)
{
	struct nn_now now = setting->now;

	now.step = (uint64_t)step;
	now.correction[0] = 1 - pow(setting->u.beta1, step);
	now.correction[1] = 1 - pow(setting->u.beta2, step);
	return now;
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
		struct nn_now now = now_at(setting, s);

		fill(device, g, s);
		for (size_t begin = 0, end = cut; begin < N; begin = end, end = N) {
			struct nn_update u = setting->u;
			size_t at = begin * size;
			u.n = end - begin;
			u.w = (char *)block->w + at;
			u.g = (char *)g + at;
			u.slot[0] = (char *)block->a + at;
			u.slot[1] = (char *)block->b + at;
			u.now = &now;
			u.ratio = &setting->ratio;
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
		       want = plain(setting, i);
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
	nn_pool_free(pool);
	printf("1..%d\n", n_tests);
	return failed;
}
