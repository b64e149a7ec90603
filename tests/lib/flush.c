/*
 * Subnormals are zero: the bits of threads, values on their way in, text and halves all the same,
 * and a training whose rows, weights and moments are full of them, on every instruction set.
 */
#include "config.h"
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/flush.h"
#include "base/half.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/pool.h"
#include "base/subnormal.h"
#include "graph/graph.h"
#include "model/model.h"
#include "tap.h"

static uint64_t state = 1;

static uint64_t next(void)
{
	uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

/* ---- the bits ---- */

static volatile double least = DBL_MIN;

static atomic_int arrived;

/* Each thread takes a piece: none is done before both have begun. */
static void look(void *arg, size_t i, int thread)
{
	(void)i;
	arrived++;
	for (int tries = 0; arrived < 2 && tries < 5000; tries++)
		usleep(1000);
	((double *)arg)[thread] = least / 2;
}

static void bits(void)
{
	uint64_t before = nn_flush_set(true);
	struct nn_pool *pool;
	double seen[2] = { 1, 1 };
	bool flushes = least / 2 == 0;

	nn_flush_restore(before);
	ok(flushes && least / 2 > 0, "flush: a thread has the bits until they are put back");
	if (nn_pool_new(&pool, 2, NULL) < 0)
		return;
	nn_pool_run(pool, 2, look, seen);
	nn_pool_free(pool);
	ok(seen[0] > 0 && seen[1] == 0, "flush: threads of a pool have them always");
}

/* ---- values ---- */

static void values(void)
{
	static const float in[] = { 0x1p-149f, -0x1p-127f, 0x1p-126f, -0x1p-126f,
				    0.0f,      -0.0f,      1,         INFINITY },
			   out[] = { 0.0f, -0.0f, 0x1p-126f, -0x1p-126f, 0.0f, -0.0f, 1, INFINITY };
	static const double in64[] = { 0x1p-1074, -0x1p-1023, 0x1p-1022, -0.0, 0x1p-130, 0, 3, -1 },
			    out64[] = { 0.0, -0.0, 0x1p-1022, -0.0, 0x1p-130, 0, 3, -1 };
	float f[8];
	double d[8];

	memcpy(f, in, sizeof f);
	memcpy(d, in64, sizeof d);
	nn_flush_values(f, 8, NN_F32);
	nn_flush_values(d, 8, NN_F64);
	ok(!memcmp(f, out, sizeof f) && !memcmp(d, out64, sizeof d),
	   "flush: a subnormal becomes a zero of its sign, and nothing else changes");
	ok(nn_has_subnormal(in, 8, NN_F32) && !nn_has_subnormal(out, 8, NN_F32) &&
		   nn_has_subnormal(in64, 8, NN_F64) && !nn_has_subnormal(out64, 8, NN_F64),
	   "flush: values that need it are found");
}

/* ---- text, halves ---- */

static bool reads(const char *text, double want, double value)
{
	char back[NN_NUMBER];

	nn_format_f64(back, value);
	return memcmp(&want, &value, sizeof value) == 0 && strcmp(back, text) == 0;
}

static void text(void)
{
	uint64_t before = nn_flush_set(true);
	double a = 0, b = 0;
	float c = 0;
	uint32_t word;
	char back[NN_NUMBER];
	bool same;

	same = nn_parse_f64("-1e-310", 7, &a) && nn_parse_f64("5e-324", 6, &b) &&
	       nn_parse_f32("1e-40", 5, &c);
	memcpy(&word, &c, sizeof word);
	nn_format_f32(back, c);
	nn_flush_set(false);
	same &= word == 71362 && strcmp(back, "1e-40") == 0;
	nn_flush_set(true);
	same &= reads("-1e-310", -1e-310, a) && reads("5e-324", 5e-324, b);
	nn_flush_restore(before);
	ok(same, "flush: text with subnormals is read and written as without the bits");
}

static void halves(void)
{
	static uint16_t half[65536];
	static uint32_t with[65536], without[65536];
	uint64_t before;
	bool same = true;

	for (size_t i = 0; i < 65536; i++)
		half[i] = (uint16_t)i;
	for (int plain = 0; plain < 2; plain++) {
		nn_half(NN_F16, plain)->widen(half, without, 65536);
		before = nn_flush_set(true);
		nn_half(NN_F16, plain)->widen(half, with, 65536);
		nn_flush_restore(before);
		same &= memcmp(with, without, sizeof with) == 0;
	}
	ok(same && without[1] == 0x33800000, "flush: f16 becomes f32 as without the bits");
}

/* ---- fma ---- */

#if defined __x86_64__
#include <immintrin.h>

__attribute__((target("fma"), noinline)) static double by_processor(double a, double b, double c)
{
	return _mm_cvtsd_f64(_mm_fmadd_sd(_mm_set_sd(a), _mm_set_sd(b), _mm_set_sd(c)));
}

/* Any exponent, or one where products, or their halves, come near the least numbers. */
static double operand(void)
{
	static const unsigned from[] = { 1, 1, 452, 993 }, n[] = { 2046, 60, 120, 60 };
	uint64_t bits = next(), kind = next() % 4;
	double value;

	if (next() % 4 == 0)
		bits &= ~(UINT64_C(0xfffffffff) << next() % 16);
	bits &= UINT64_C(0x800fffffffffffff);
	bits |= (from[kind] + next() % n[kind]) << 52;
	if (next() % 16 == 0)
		bits &= UINT64_C(0x800fffffffffffff);
	memcpy(&value, &bits, sizeof value);
	return value;
}

static bool fma_agrees(bool flush)
{
	uint64_t before = nn_flush_set(flush);
	bool same = true;

	for (long i = 0; i < 1000000; i++) {
		double a = operand(), b = operand(), c = operand(), x = nn_flush_fma(a, b, c),
		       y = by_processor(a, b, c);

		same &= memcmp(&x, &y, sizeof x) == 0 || (isnan(x) && isnan(y));
	}
	nn_flush_restore(before);
	return same;
}

static bool fused(void)
{
	return !__builtin_cpu_supports("fma") || (fma_agrees(true) && fma_agrees(false));
}

/* The same where glibc is told that the processor has no fma: this program, once more. */
#define AGAIN "NN_NO_FMA"
static bool fused_again(const char *program)
{
	setenv(AGAIN, "1", 1);
	setenv("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX2_Usable,-FMA_Usable", 1);
	return system(program) == 0;
}
#else
#define AGAIN ""
static bool fused(void)
{
	return true;
}

static bool fused_again(const char *program)
{
	return program != NULL;
}
#endif

/* ---- a training ---- */

#define ROWS 40
#define CLASSES 5
#define STEPS 12
static const char net_text[] =
	"input 3x6x6, conv2d 8 3x3 pad=1, batchnorm group=10, leaky-relu, m: maxpool2d 2, "
	"c: conv2d 8 1x1, add from=m+c, sigmoid, flatten, layernorm, dense 24, gelu, dense 16, "
	"elu, "
	"dense 16, tanh, dense 5";

struct flush_training {
	struct nn_net *net;
	const struct nn_program *program;
	const struct nn_device *device;
	void **params;
	struct nn_graph *graph;
	void *slots[NN_MAX_SLOTS];
	size_t real;
};

/* Every third is subnormal, every third so small that products are. */
static double small(double value, enum nn_dtype dtype)
{
	double scale = dtype == NN_F64 ? 0x1p-1022 : 0x1p-126;

	switch (next() % 3) {
	case 0:
		return value * scale;
	case 1:
		return value * sqrt(scale);
	default:
		return value;
	}
}

static void make_small(void *values, size_t n, enum nn_dtype dtype)
{
	for (size_t i = 0; i < n; i++)
		if (dtype == NN_F64)
			((double *)values)[i] = small(((double *)values)[i], dtype);
		else
			((float *)values)[i] = (float)small((double)((float *)values)[i], dtype);
}

static void fill(void *values, size_t n, bool positive, enum nn_dtype dtype)
{
	for (size_t i = 0; i < n; i++) {
		double value = (double)(int64_t)next() * 0x1p-63;

		value = positive ? fabs(value) : value;

		if (dtype == NN_F64)
			((double *)values)[i] = value;
		else
			((float *)values)[i] = (float)value;
	}
	make_small(values, n, dtype);
}

/* Weights and moments full of subnormals, as files bring them. */
static bool training_open(struct flush_training *t, const struct nn_device *device,
			  struct nn_pool *pool)
{
	struct nn_shape input = nn_shape3(3, 6, 6);
	struct nn_graph_options options = {
		.device = device, .pool = pool, .max_rows = ROWS, .max_leaves = 2, .training = true
	};
	size_t open = 0, n;
	struct nn_error err = { 0 };

	state = 1;
	*t = (struct flush_training){ .device = device, .real = nn_dtype_size(device->dtype) };
	if (nn_net_parse(&t->net, "-m", net_text, strlen(net_text), true, &err) < 0 ||
	    nn_net_resolve(t->net, &input, &open, &err) < 0) {
		note("%s", err.text);
		return false;
	}
	t->program = nn_net_program(t->net);
	t->params = nn_params_new(t->program, device->dtype, NULL);
	if (!t->params || nn_net_init(t->net, 7, device->dtype, t->params, NULL) < 0 ||
	    nn_graph_bind(&t->graph, t->program, &options, NULL) < 0)
		return false;
	for (int i = 0; i < t->program->n_params; i++)
		make_small(t->params[i], nn_shape_count(&t->program->params[i].desc.shape),
			   device->dtype);
	if (nn_graph_load(t->graph, (const void *const *)t->params, NULL) < 0)
		return false;
	n = nn_graph_block(t->graph);
	for (int k = 0; k < NN_MAX_SLOTS; k++) {
		t->slots[k] = nn_alloc(n, t->real, NULL);
		for (int i = 0; i < t->program->n_params; i++) {
			size_t count = nn_graph_count(t->graph, i);

			fill(t->params[i], count, true, device->dtype);
			if (nn_graph_trains(t->graph, i))
				nn_graph_pack(t->graph, i, t->params[i], t->slots[k]);
		}
	}
	return true;
}

static void training_close(struct flush_training *t)
{
	for (int k = 0; k < NN_MAX_SLOTS; k++)
		nn_free(t->slots[k]);
	nn_graph_free(t->graph);
	nn_free(t->params);
	nn_net_free(t->net);
}

/* One step; *clean: nothing that it leaves is subnormal. */
static void step(struct flush_training *t, enum nn_optimizer_kind kind, uint64_t number,
		 struct nn_pool *pool, bool *clean)
{
	static const size_t leaf[] = { 0, 20, 40 }, group[] = { 0, 10, 20, 30, 40 };
	struct nn_span span = { .rows = ROWS,
				.leaf = leaf,
				.n_leaves = 2,
				.first = true,
				.group = group,
				.n_groups = 4 };
	enum nn_dtype dtype = t->device->dtype;
	size_t size, positions, columns, n = nn_graph_block(t->graph);
	bool last;
	void *rows = nn_graph_input(t->graph, 0, &size, &last);
	int32_t classes[ROWS];
	double losses[ROWS];
	struct nn_now now = { .step = number,
			      .lr = 1e-20,
			      .clip = 1,
			      .correction = { 1 - pow(0.5, (double)number),
					      1 - pow(0.75, (double)number) },
			      .scale = 0x1p-100 };
	struct nn_loss_call loss = { .kind = NN_LOSS_CROSS_ENTROPY,
				     .rows = ROWS,
				     .classes = classes,
				     .now = &now,
				     .row_loss = losses,
				     .pool = pool };
	struct nn_update u = { .kind = kind,
			       .n = n,
			       .w = nn_graph_weights(t->graph),
			       .g = nn_graph_gradients(t->graph),
			       .slot = { t->slots[0], t->slots[1] },
			       .now = &now,
			       .momentum = 0.5,
			       .beta1 = 0.5,
			       .beta2 = 0.75,
			       .alpha = 0.5,
			       .eps = 1e-25,
			       .pool = pool };

	fill(rows, ROWS * size, false, dtype);
	nn_flush_values(rows, ROWS * size, dtype);
	nn_graph_begin(t->graph);
	nn_graph_forward(t->graph, &span);
	loss.logits = nn_graph_output(t->graph, 0, &positions, &columns);
	loss.positions = positions;
	loss.columns = columns;
	loss.dlogits = nn_graph_output_gradient(t->graph, 0);
	for (size_t r = 0; r < ROWS; r++)
		classes[r] = (int32_t)(next() % CLASSES);
	t->device->loss(&loss);
	*clean &= !nn_has_subnormal(loss.logits, ROWS * columns, dtype) &&
		  !nn_has_subnormal(loss.dlogits, ROWS * columns, dtype);
	nn_graph_backward(t->graph, &span, NULL, NULL);
	*clean &= !nn_has_subnormal(u.g, n, dtype);
	t->device->update(&u);
	nn_graph_refresh(t->graph);
	*clean &= !nn_has_subnormal(u.w, n, dtype);
	for (int k = 0; k < NN_MAX_SLOTS; k++)
		*clean &= !nn_has_subnormal(t->slots[k], n, dtype);
}

/* A training's weights and moments, one after the other; NULL: it could not be had. */
static void *train(const struct nn_device *device, enum nn_optimizer_kind kind, int threads,
		   size_t *bytes, bool *clean)
{
	struct nn_pool *pool = NULL;
	struct flush_training t;
	char *result = NULL;
	uint64_t before = nn_flush_set(true);

	nn_pool_new(&pool, threads, NULL);
	nn_flush_restore(before);
	if (training_open(&t, device, pool)) {
		nn_flush_set(true);
		for (uint64_t i = 1; i <= STEPS; i++)
			step(&t, kind, i, pool, clean);
		nn_flush_restore(before);
		*bytes = nn_graph_block(t.graph) * t.real;
		result = nn_alloc(3, *bytes, NULL);
		memcpy(result, nn_graph_weights(t.graph), *bytes);
		memcpy(result + *bytes, t.slots[0], *bytes);
		memcpy(result + 2 * *bytes, t.slots[1], *bytes);
		*bytes *= 3;
	}
	training_close(&t);
	nn_pool_free(pool);
	return result;
}

static void trainings(enum nn_dtype dtype)
{
	static const enum nn_optimizer_kind kinds[] = { NN_OPTIMIZER_SGD, NN_OPTIMIZER_ADAM,
							NN_OPTIMIZER_RMSPROP };
	const struct nn_device *devices[NN_MAX_KINDS];
	size_t n = nn_device_kinds(dtype, devices), bytes = 0;
	bool same = true, clean = true;

	for (size_t k = 0; k < 3; k++) {
		void *first = NULL;

		for (size_t d = 0; d < n; d++)
			for (int threads = 1; threads <= 4; threads++) {
				void *now = train(devices[d], kinds[k], threads, &bytes, &clean);

				same &= now && (!first || memcmp(first, now, bytes) == 0);
				if (!first)
					first = now;
				else
					nn_free(now);
			}
		nn_free(first);
	}
	ok(clean, "flush: %s: none comes out of a training full of subnormals",
	   nn_dtype_name(dtype));
	ok(same, "flush: %s: its bytes are the same on every instruction set and thread count",
	   nn_dtype_name(dtype));
}

/* ---- what decays ---- */

static bool decays(const struct nn_device *device, enum nn_optimizer_kind kind, int slot)
{
	enum { n = 37 };
	double w[n] = { 0 }, g[n] = { 0 }, a[n], b[n];
	struct nn_now now = { .step = 1, .lr = 0.001, .clip = 1, .correction = { 0.1, 0.1 } };
	struct nn_update u = { .kind = kind,
			       .n = n,
			       .w = w,
			       .g = g,
			       .slot = { a, b },
			       .now = &now,

			       .momentum = 0.9,
			       .beta1 = 0.9,
			       .beta2 = 0.9,
			       .alpha = 0.9,
			       .eps = 1e-8 };
	double cut = device->dtype == NN_F64 ? 0x1p-900 : 0x1p-100, above = cut * 0x1p1,
	       below = cut * 0x1.1p0;
	void *m = slot ? b : a;

	for (size_t i = 0; i < n; i++) {
		double value = i % 2 ? above : below;

		if (device->dtype == NN_F64)
			a[i] = b[i] = value;
		else
			((float *)a)[i] = ((float *)b)[i] = (float)value;
	}
	device->update(&u);
	for (size_t i = 0; i < n; i++) {
		double value = device->dtype == NN_F64 ? ((double *)m)[i] : (double)((float *)m)[i];

		if (i % 2 ? value < cut || value > above : value != 0)
			return false;
	}
	return true;
}

static void cut(enum nn_dtype dtype)
{
	const struct nn_device *devices[NN_MAX_KINDS];
	size_t n = nn_device_kinds(dtype, devices);
	bool good = true;

	for (size_t d = 0; d < n; d++)
		good &= decays(devices[d], NN_OPTIMIZER_SGD, 0) &&
			decays(devices[d], NN_OPTIMIZER_ADAM, 0) &&
			decays(devices[d], NN_OPTIMIZER_ADAM, 1) &&
			decays(devices[d], NN_OPTIMIZER_ADAMW, 0) &&
			decays(devices[d], NN_OPTIMIZER_RMSPROP, 0) &&
			decays(devices[d], NN_OPTIMIZER_RMSPROP, 1);
	ok(good, "flush: %s: moments that decay end at %s", nn_dtype_name(dtype),
	   dtype == NN_F64 ? "2^-900" : "2^-100");
}

int main(int argc, char **argv)
{
	(void)argc;
	if (getenv(AGAIN))
		return !fused();
	bits();
	values();
	text();
	halves();
	ok(fused(), "flush: fma is the processor's where the library has an instruction for it");
	trainings(NN_F32);
	trainings(NN_F64);
	cut(NN_F32);
	cut(NN_F64);
	ok(fused_again(argv[0]),
	   "flush: fma is the processor's where the library puts it together");
	return tap_done();
}
