/*
 * Time of optimizers and losses, the least of many runs; ops themselves: nn-bench ops. Usage:
 * updates [threads [updates|loss]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "step/optimizer.h"

static bool one_thread;

/* One thread: the time it ran, so that a busy machine does not matter. */
static double now(void)
{
	struct timespec t;
	clock_gettime(one_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *take(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
	if (!p)
		exit(1);
	for (size_t i = 0; i < bytes / sizeof(float); i++)
		((float *)p)[i] = (float)(i * 2654435761u >> 16 & 0xff) / 256 - 0.4f;
	return p;
}

static const struct nn_now now_3 = {
	.step = 3,
	.lr = 1e-6,
	.clip = 1,
	.correction = { 1 - 0.9 * 0.9 * 0.9, 1 - 0.999 * 0.999 * 0.999 },
};

static void updates(const struct nn_device *device, struct nn_pool *pool)
{
	static const double one = 1;
	for (size_t n = 100000; n <= 1600000; n *= 16)
		for (int kind = 0; kind < NN_N_OPTIMIZERS; kind++) {
			struct nn_update u = { .kind = (enum nn_optimizer_kind)kind,
					       .n = n,
					       .w = take(n * 4),
					       .g = take(n * 4),
					       .slot = { take(n * 4), take(n * 4) },
					       .now = &now_3,
					       .momentum = 0.9,
					       .beta1 = 0.9,
					       .beta2 = 0.999,
					       .eps = 1e-8,
					       .alpha = 0.99,
					       .ratio = &one,
					       .pool = pool };
			double best = 1e9, start = now();
			while (now() - start < 0.1) {
				double t = now();
				device->update(&u);
				t = now() - t;
				best = t < best ? t : best;
			}
			printf("%-10s %8zu %9.1f us\n", nn_optimizers[kind].name, n, best * 1e6);
		}
}

static void loss(const struct nn_device *device, struct nn_pool *pool, size_t columns)
{
	int32_t classes[1024] = { 0 };
	struct nn_loss_call call = { .kind = NN_LOSS_CROSS_ENTROPY,
				     .rows = 1024,
				     .positions = 1,
				     .columns = columns,
				     .logits = take(1024 * columns * 4),
				     .classes = classes,
				     .row_loss = take(4096),
				     .dlogits = take(1024 * columns * 4),
				     .pool = pool };
	double best = 1e9, start = now();
	while (now() - start < 0.1) {
		double t = now();
		device->loss(&call);
		t = now() - t;
		best = t < best ? t : best;
	}
	printf("cross-entropy 1024 x %zu %9.1f us\n", columns, best * 1e6);
}

int main(int argc, char **argv)
{
	struct nn_error err;
	struct nn_pool *pool;
	const struct nn_device *device = nn_device_open("cpu", NN_F32, &err);
	if (!device || nn_pool_new(&pool, argc > 1 ? atoi(argv[1]) : 1, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	one_thread = pool == NULL;
	printf("%s, %d threads\n", device->kind, nn_pool_threads(pool));
	if (argc < 3 || strstr("updates", argv[2]))
		updates(device, pool);
	if (argc < 3 || strstr("loss", argv[2])) {
		loss(device, pool, 10);
		loss(device, pool, 1000);
	}
	nn_pool_free(pool);
	return 0;
}
