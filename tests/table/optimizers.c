/*
 * Optimizers of every cpu device against plain formulas in double, and the same bytes however the
 * block is cut.
 */
#include <math.h>
#include <string.h>
#include "isa.h"
#include "base/real.h"
#include "step/optimizer.h"

#define N 5003
#define STEPS 6

struct setting {
	char name[64];
	const struct nn_optimizer_info *info;
	struct nn_update u;
	struct nn_now now; /* without step */
};

static const double ratio = 0.3;

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

/* One element through all steps, in double: the formulas of torch.optim. */
static double plain(const struct setting *setting, size_t i)
{
	const struct nn_update *u = &setting->u;
	double w = start(i), a = 0, b = 0, lr = setting->now.lr;
	for (int s = 1; s <= STEPS; s++) {
		double g = gradient(s, i) * setting->now.clip, c1 = 1 - pow(u->beta1, s),
		       c2 = 1 - pow(u->beta2, s);
		if (!(setting->info->flags & NN_DECOUPLED))
			g += u->weight_decay * w;
		switch (u->kind) {
#define NN_OPTIMIZER(ID, id, lr, weight_decay, eps, slots, ratio, flags, doc, ...) \
	case NN_OPTIMIZER_##ID: \
		__VA_ARGS__; \
		break;
#include "device/optimizers.def"
		default:
			return NAN;
		}
		(void)c1;
		(void)c2;
	}
	return w;
}

struct update_block {
	double w[N], a[N], b[N];
}; /* room for either type */

static void fill(const struct nn_device *device, void *to, int s)
{
	for (size_t i = 0; i < N; i++)
		nn_real_put(device->dtype, to, i, s < 0 ? start(i) : gradient(s, i));
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
		size_t cut, struct update_block *block)
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
			u.pool = pool;
			if (setting->info->flags & NN_HAS_DIRECTION) {
				device->direction(&u, (char *)direction + at);
				u.g = (char *)direction + at;
			}
			device->update(&u);
		}
	}
}

static int is_right(const struct nn_device *device, const struct setting *setting)
{
	static struct update_block block;
	double tolerance = device->dtype == NN_F64 ? 1e-13 : 2e-6;
	run(device, setting, NULL, N, &block);
	for (size_t i = 0; i < N; i++) {
		double got = nn_real_at(device->dtype, block.w, i), want = plain(setting, i);
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
	static struct update_block want, got;
	int ok = 1;
	run(device_of("generic", dtype), setting, NULL, N, &want);
	for (size_t isa = 0; isa < sizeof isas / sizeof isas[0]; isa++) {
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

static void try(enum nn_optimizer_kind kind, const char *with, struct nn_update u, double clip,
		struct nn_pool *pool)
{
	const struct nn_optimizer_info *info = &nn_optimizers[kind];
	struct setting s = { .info = info, .u = u, .now = { .lr = info->lr, .clip = clip } };

	snprintf(s.name, sizeof s.name, "%s%s", info->name, with);
	s.u.kind = kind;
	s.u.beta1 = 0.9;
	s.u.beta2 = 0.999;
	s.u.alpha = 0.99;
	s.u.eps = info->eps;
	s.u.ratio = info->ratio ? &ratio : NULL;
	claim(s.name, "follows torch.optim in f32 and f64",
	      is_right(device_of("generic", NN_F32), &s) &&
		      is_right(device_of("generic", NN_F64), &s));
	claim(s.name, "same bytes on every instruction set, thread count and cut",
	      bytes_are_the_same(NN_F32, &s, pool) && bytes_are_the_same(NN_F64, &s, pool));
}

/* With all that it takes. */
static void walk(enum nn_optimizer_kind kind, struct nn_pool *pool)
{
	unsigned flags = nn_optimizers[kind].flags;
	struct nn_update u = { 0 };

	try(kind, "", u, 1, pool);
	if (!(flags & NN_NO_DECAY))
		try(kind, " with decay", (struct nn_update){ .weight_decay = 0.1 }, 0.7, pool);
	u.momentum = 0.9;
	if (flags & NN_TAKES_MOMENTUM)
		try(kind, " with momentum", u, 1, pool);
	u.weight_decay = 0.1;
	if (flags & NN_TAKES_MOMENTUM && !(flags & NN_NO_DECAY))
		try(kind, " with momentum and decay", u, 0.5, pool);
	u.weight_decay = 0;
	u.nesterov = true;
	if (flags & NN_TAKES_NESTEROV)
		try(kind, " of Nesterov", u, 1, pool);
}

int main(void)
{
	struct nn_pool *pool;
	struct nn_error err;
	if (nn_pool_new(&pool, 3, &err)) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	for (enum nn_optimizer_kind kind = 0; kind < NN_N_OPTIMIZERS; kind++)
		walk(kind, pool);
	nn_pool_free(pool);
	printf("1..%d\n", n_tests);
	return failed;
}
