/* Time of each op forward and backward at sites of real networks: the least of many runs. Usage: ops [threads [name]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "device/device.h"

#define V(n) { 1, { n } }
#define I(c, h, w) { 3, { c, h, w } }
#define A(type) &(const struct type)
#define RELU { NN_ACT_RELU, 0, false }
#define WINDOW(k, s) { { k, k }, { s, s }, { 0, 0 } }
#define CONV(o, k, s, p, ...) \
	A(nn_conv2d) { .out = o, .kernel = { k, k }, .stride = { s, s }, .pad = { p, p }, .dilation = { 1, 1 }, .groups = 1, \
		       __VA_ARGS__ }

static const struct bench {
	const char *name;
	enum nn_op_id op;
	const void *attrs;
	struct nn_shape in[2];
	int n_in;
	size_t rows, n_leaves;
	bool no_dx;
} benches[] = {
	{ "dense 784-128 relu, 32", NN_OP_dense, A(nn_dense) { .out = 128, .bias = true, .epilogue = RELU }, { V(784) }, 1, 32, 2, true },
	{ "dense 784-128 relu, 128", NN_OP_dense, A(nn_dense) { .out = 128, .bias = true, .epilogue = RELU }, { V(784) }, 1, 128, 8, true },
	{ "dense 128-10, 128", NN_OP_dense, A(nn_dense) { .out = 10, .bias = true }, { V(128) }, 1, 128, 8, false },
	{ "dense 784-128 relu, 1024", NN_OP_dense, A(nn_dense) { .out = 128, .bias = true, .epilogue = RELU }, { V(784) }, 1, 1024, 16, true },
	{ "dense 2048-2048 relu, 256", NN_OP_dense, A(nn_dense) { .out = 2048, .bias = true, .epilogue = RELU }, { V(2048) }, 1, 256, 16, false },
	{ "conv 1-32 3x3 relu pool, 28, 64", NN_OP_conv2d, CONV(32, 3, 1, 0, .bias = true, .epilogue = RELU, .pooled = true, .pool = WINDOW(2, 2)),
	  { I(1, 28, 28) }, 1, 64, 4, true },
	{ "conv 32-64 3x3 relu pool, 13, 64", NN_OP_conv2d, CONV(64, 3, 1, 0, .bias = true, .epilogue = RELU, .pooled = true, .pool = WINDOW(2, 2)),
	  { I(32, 13, 13) }, 1, 64, 4, false },
	{ "conv 3-32 3x3 relu pool, 32, 64", NN_OP_conv2d, CONV(32, 3, 1, 1, .bias = true, .epilogue = RELU, .pooled = true, .pool = WINDOW(2, 2)),
	  { I(3, 32, 32) }, 1, 64, 4, true },
	{ "conv 64-128 3x3 relu pool, 8, 64", NN_OP_conv2d, CONV(128, 3, 1, 1, .bias = true, .epilogue = RELU, .pooled = true, .pool = WINDOW(2, 2)),
	  { I(64, 8, 8) }, 1, 64, 4, false },
	{ "conv 16-16 3x3, 32, 128", NN_OP_conv2d, CONV(16, 3, 1, 1, .bias = false), { I(16, 32, 32) }, 1, 128, 4, false },
	{ "conv 16-32 3x3 /2, 32, 128", NN_OP_conv2d, CONV(32, 3, 2, 1, .bias = false), { I(16, 32, 32) }, 1, 128, 4, false },
	{ "conv 64-64 3x3, 8, 128", NN_OP_conv2d, CONV(64, 3, 1, 1, .bias = false), { I(64, 8, 8) }, 1, 128, 4, false },
	{ "batchnorm 16 relu, 32, 128", NN_OP_batchnorm, A(nn_batchnorm) { 32, 1e-5, 0.1, RELU }, { I(16, 32, 32) }, 1, 128, 4, false },
	{ "batchnorm 16 residual relu", NN_OP_batchnorm, A(nn_batchnorm) { 32, 1e-5, 0.1, { NN_ACT_RELU, 0, true } },
	  { I(16, 32, 32), I(16, 32, 32) }, 2, 128, 4, false },
	{ "batchnorm 64 relu, 8, 128", NN_OP_batchnorm, A(nn_batchnorm) { 32, 1e-5, 0.1, RELU }, { I(64, 8, 8) }, 1, 128, 4, false },
	{ "batchnorm vector 512, 128", NN_OP_batchnorm, A(nn_batchnorm) { 32, 1e-5, 0.1, { 0 } }, { V(512) }, 1, 128, 4, false },
	{ "layernorm 512, 128", NN_OP_layernorm, A(nn_layernorm) { 1e-5 }, { V(512) }, 1, 128, 8, false },
	{ "relu 512, 128", NN_OP_activation, A(nn_activation_attrs) { NN_ACT_RELU, 0 }, { V(512) }, 1, 128, 8, false },
	{ "gelu 512, 128", NN_OP_activation, A(nn_activation_attrs) { NN_ACT_GELU, 0 }, { V(512) }, 1, 128, 8, false },
	{ "tanh 512, 128", NN_OP_activation, A(nn_activation_attrs) { NN_ACT_TANH, 0 }, { V(512) }, 1, 128, 8, false },
	{ "sigmoid 512, 128", NN_OP_activation, A(nn_activation_attrs) { NN_ACT_SIGMOID, 0 }, { V(512) }, 1, 128, 8, false },
	{ "softmax 10, 4096", NN_OP_softmax, A(nn_softmax) { false }, { V(10) }, 1, 4096, 8, false },
	{ "softmax 1000, 128", NN_OP_softmax, A(nn_softmax) { false }, { V(1000) }, 1, 128, 8, false },
	{ "dropout 512, 128", NN_OP_dropout, A(nn_dropout) { 0.5, 2 }, { V(512) }, 1, 128, 8, false },
	{ "maxpool2d 32, 26, 32", NN_OP_maxpool2d, A(nn_pool2d) { WINDOW(2, 2) }, { I(32, 26, 26) }, 1, 32, 8, false },
	{ "maxpool2d 3/2 32, 26, 32", NN_OP_maxpool2d, A(nn_pool2d) { WINDOW(3, 2) }, { I(32, 26, 26) }, 1, 32, 8, false },
	{ "global-avgpool 64, 8, 128", NN_OP_global_avgpool, NULL, { I(64, 8, 8) }, 1, 128, 8, false },
	{ "add 16384, 32", NN_OP_add, NULL, { V(16384), V(16384) }, 2, 32, 8, false },
	{ "permute 32, 64", NN_OP_permute, A(nn_permute) { 32, 1024, true }, { I(32, 32, 32) }, 1, 64, 8, false },
};

static bool one_thread;

/* One thread: the time it ran, so that a busy machine does not matter. */
static double now(void)
{
	struct timespec t;
	clock_gettime(one_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static void *take(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
	if (!p)
		exit(1);
	for (size_t i = 0; i < bytes / sizeof(float); i++)
		((float *) p)[i] = (float) (i * 2654435761u >> 16 & 0xff) / 256 - 0.4f;
	return p;
}

static double least(void (*function)(const struct nn_call *), const struct nn_call *call)
{
	double best = 1e9, start = now();
	for (int i = 0; i < 3 || now() - start < 0.15; i++) {
		double t = now();
		function(call);
		t = now() - t;
		best = t < best ? t : best;
	}
	return best * 1e6;
}

static void bench(const struct nn_device *device, const struct bench *b, struct nn_pool *pool)
{
	const struct nn_kernel *kernel = device->kernels[b->op];
	const struct nn_op *op = nn_ops[b->op];
	struct nn_shape out;
	struct nn_op_param params[NN_MAX_PARAMS];
	size_t leaf[17], group[65], n_groups = b->rows < 64 ? 1 : b->rows < 64 * 32 ? b->rows / 32 : 64;
	const void *x[2] = { NULL };
	void *dx[2] = { NULL }, *w[NN_MAX_PARAMS] = { NULL }, *dw[NN_MAX_PARAMS] = { NULL };
	bool add[2] = { false, false };
	op->infer(b->attrs, b->in, b->n_in, &out, NULL);
	struct nn_site site = { b->attrs, b->in, b->n_in, out, true, !b->no_dx };
	int n_params = op->params ? op->params(b->attrs, b->in, b->n_in, params) : 0;
	double flops = (double) (op->flops ? op->flops(b->attrs, b->in, b->n_in, &out) : 0) * (double) b->rows;
	size_t bytes = nn_shape_count(&out) * b->rows * sizeof(float);
	for (int j = 0; j < b->n_in; j++) {
		x[j] = take(nn_shape_count(&b->in[j]) * b->rows * sizeof(float));
		dx[j] = b->no_dx ? NULL : take(nn_shape_count(&b->in[j]) * b->rows * sizeof(float));
		bytes += nn_shape_count(&b->in[j]) * b->rows * sizeof(float);
	}
	for (int p = 0; p < n_params; p++) {
		size_t n = kernel->packed ? kernel->packed(&site, p) : nn_shape_count(&params[p].shape);
		w[p] = take(n * sizeof(float));
		dw[p] = take(n * sizeof(float));
	}
	for (size_t i = 0; i <= b->n_leaves; i++)
		leaf[i] = i * b->rows / b->n_leaves;
	for (size_t i = 0; i <= n_groups; i++)
		group[i] = i * b->rows / n_groups;
	struct nn_call call = { .site = site, .rows = b->rows, .x = x, .y = take(nn_shape_count(&out) * b->rows * sizeof(float)),
				.dy = take(nn_shape_count(&out) * b->rows * sizeof(float)), .dx = dx, .dx_add = add, .w = w, .dw = dw,
				.leaf = leaf, .n_leaves = b->n_leaves, .first = true, .group = group, .n_groups = n_groups, .pool = pool };
	call.saved = take(kernel->saved ? kernel->saved(&site, b->rows) : 0);
	call.work = take(kernel->work ? kernel->work(&site, b->rows, b->n_leaves, nn_pool_threads(pool)) : 0);
	if (kernel->derived) {
		void *derived = take(kernel->derived(&site));
		kernel->derive(&site, (const void *const *) w, derived, pool);
		call.derived = derived;
	}
	double forward = least(kernel->forward, &call), backward = least(kernel->backward, &call);
	if (b->op == NN_OP_dense || b->op == NN_OP_conv2d)
		printf("%-36s %9.1f us %6.0f GF/s  %9.1f us %6.0f GF/s\n", b->name, forward, flops / forward / 1e3, backward,
		       flops * (b->no_dx ? 1 : 2) / backward / 1e3);
	else
		printf("%-36s %9.1f us %6.1f GB/s  %9.1f us %6.1f GB/s\n", b->name, forward, (double) bytes / forward / 1e3, backward,
		       (double) bytes / backward / 1e3);
}

static void updates(const struct nn_device *device, struct nn_pool *pool)
{
	static const char *const names[] = { "sgd", "adam", "adamw", "rmsprop", "rprop", "lars", "lamb" };
	for (size_t n = 100000; n <= 1600000; n *= 16)
		for (int kind = NN_SGD; kind <= NN_RPROP; kind++) {
			struct nn_update u = { .kind = (enum nn_optimizer_kind) kind, .n = n, .w = take(n * 4), .g = take(n * 4),
					       .slot = { take(n * 4), take(n * 4) }, .step = 3, .lr = 1e-6, .clip = 1, .momentum = 0.9,
					       .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .alpha = 0.99, .pool = pool };
			double best = 1e9, start = now();
			while (now() - start < 0.1) {
				double t = now();
				device->update(&u);
				t = now() - t;
				best = t < best ? t : best;
			}
			printf("%-10s %8zu %9.1f us\n", names[kind], n, best * 1e6);
		}
}

static void loss(const struct nn_device *device, struct nn_pool *pool, size_t columns)
{
	int32_t classes[1024] = { 0 };
	struct nn_loss_call call = { .kind = NN_LOSS_CROSS_ENTROPY, .rows = 1024, .positions = 1, .columns = columns, .scale = 1,
				     .logits = take(1024 * columns * 4), .classes = classes, .row_loss = take(4096),
				     .dlogits = take(1024 * columns * 4), .pool = pool };
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
	printf("%s, %d threads: forward, backward\n", device->kind, nn_pool_threads(pool));
	for (size_t i = 0; i < sizeof benches / sizeof benches[0]; i++)
		if (argc < 3 || strstr(benches[i].name, argv[2]))
			bench(device, &benches[i], pool);
	if (argc < 3 || strstr("updates", argv[2]))
		updates(device, pool);
	if (argc < 3 || strstr("loss", argv[2])) {
		loss(device, pool, 10);
		loss(device, pool, 1000);
	}
	nn_pool_free(pool);
	return 0;
}
