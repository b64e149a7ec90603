/*
 * Products of int8 weights beside plain integers, bit for bit: odd sizes, every instruction set,
 * any rows beside a row and any threads; and what is computed in f32 all the same.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/flush.h"
#include "graph/graph.h"
#include "op/program.h"
#include "tap.h"

#define MOST 34000 /* values of an array */
#define ROWS 9

/* A sample C,H,W and one product of it; dense: 1 x rows x in. */
struct net {
	const char *name;
	bool dense, relu;
	size_t in[3], out;
	struct nn_conv2d conv;
};

static const struct net nets[] = {
	{ "dense 1 of 1", true, false, { 1, 1, 1 }, 1, { 0 } },
	{ "dense 37 of 23", true, false, { 1, 1, 23 }, 37, { 0 } },
	{ "dense 130 of 257, relu", true, true, { 1, 1, 257 }, 130, { 0 } },
	{ "dense 64 of 66 at 3 positions", true, false, { 1, 3, 66 }, 64, { 0 } },
	{ "conv2d 3x3, padded",
	  false,
	  true,
	  { 3, 9, 7 },
	  10,
	  { .kernel = { 3, 3 },
	    .stride = { 1, 1 },
	    .pad = { 1, 1 },
	    .dilation = { 1, 1 },
	    .groups = 1 } },
	{ "conv2d 5x2 of one channel, in steps",
	  false,
	  false,
	  { 1, 13, 11 },
	  33,
	  { .kernel = { 5, 2 },
	    .stride = { 2, 3 },
	    .pad = { 2, 1 },
	    .dilation = { 1, 1 },
	    .groups = 1 } },
	{ "conv2d 2x3 in groups, dilated",
	  false,
	  false,
	  { 6, 8, 9 },
	  9,
	  { .kernel = { 2, 3 },
	    .stride = { 1, 2 },
	    .pad = { 0, 3 },
	    .dilation = { 2, 2 },
	    .groups = 3 } },
};
#define N_NETS (sizeof nets / sizeof *nets)

static float w[MOST], bias[256], x[ROWS * MOST], y[ROWS * MOST], right[ROWS * MOST];
static float scales[256];
static int qw[MOST];

static struct nn_program *program_of(const struct net *n)
{
	struct nn_program *program = nn_program_new(NULL);
	struct nn_shape shape = { .rank = n->dense ? n->in[1] > 1 ? 2 : 1 : 3 };
	struct nn_dense dense = { .out = n->out, .bias = true };
	struct nn_conv2d conv = n->conv;
	struct nn_activation_attrs relu = { .kind = NN_ACT_RELU };
	int value;

	memcpy(shape.dim, n->in + 3 - shape.rank, (size_t)shape.rank * sizeof *shape.dim);
	conv.out = n->out;
	conv.bias = true;
	value = nn_program_input(program, &shape, NULL);
	value = nn_program_add(program, n->dense ? NN_OP_dense : NN_OP_conv2d,
			       n->dense ? (const void *)&dense : &conv, &value, 1, "p", 0, NULL);
	if (n->relu)
		value = nn_program_add(program, NN_OP_activation, &relu, &value, 1, "a", 1, NULL);
	nn_program_output(program, value, NULL, NULL);
	return program;
}

static size_t chain_of(const struct net *n)
{
	return n->dense ? n->in[2]
			: n->in[0] / n->conv.groups * n->conv.kernel[0] * n->conv.kernel[1];
}

static size_t steps(const struct net *n, int axis)
{
	const struct nn_conv2d *c = &n->conv;

	return (n->in[1 + axis] + 2 * c->pad[axis] - c->dilation[axis] * (c->kernel[axis] - 1) -
		1) / c->stride[axis] +
	       1;
}

/* ---- the reference: numerics.md, int8 ---- */

struct bytes {
	int q[MOST], zero;
	float scale;
};

static void quantize(const float *values, size_t n, struct bytes *b)
{
	float low = 0, high = 0;

	for (size_t i = 0; i < n; i++) {
		low = fminf(low, values[i]);
		high = fmaxf(high, values[i]);
	}
	b->scale = high / 255 - low / 255;
	b->zero = 0;
	if (b->scale < 0x1p-100f)
		b->scale = 0;
	else
		b->zero = (int)rint((double)(-low * (1 / b->scale)));
	for (size_t i = 0; i < n; i++) {
		float part = b->scale > 0 ? values[i] * (1 / b->scale) : 0;
		double q = rint((double)part + b->zero);

		b->q[i] = q < 0 ? 0 : q > 255 ? 255 : (int)q;
	}
}

static float weight_scale(const float *values, size_t n)
{
	float most = 0;
	int exponent;

	for (size_t i = 0; i < n; i++)
		most = fmaxf(most, fabsf(values[i]));
	if (most == 0)
		return 0;
	most = (float)ldexp(rint(ldexp(frexp((double)(most / 127), &exponent), 17)), 0);
	return (float)ldexp((double)most, exponent - 17);
}

static void quantize_weights(const struct net *n)
{
	size_t chain = chain_of(n);

	for (size_t o = 0; o < n->out; o++) {
		scales[o] = weight_scale(w + o * chain, chain);
		for (size_t k = o * chain; k < (o + 1) * chain; k++)
			qw[k] = scales[o] > 0 ? (int)rint((double)(w[k] / scales[o])) : 0;
	}
}

static float finish(const struct net *n, long sum, size_t o, float scale)
{
	float value = (float)sum * scales[o] * scale + bias[o];

	return n->relu && value <= 0 ? 0 : value;
}

static void reference_dense(const struct net *n, const float *from, float *to)
{
	static struct bytes b;

	for (size_t p = 0; p < n->in[1]; p++) {
		quantize(from + p * n->in[2], n->in[2], &b);
		for (size_t o = 0; o < n->out; o++) {
			long sum = 0;

			for (size_t k = 0; k < n->in[2]; k++)
				sum += (long)(b.q[k] - b.zero) * qw[o * chain_of(n) + k];
			to[p * n->out + o] = finish(n, sum, o, b.scale);
		}
	}
}

/* Both samples H,W,C. */
static long conv_sum(const struct net *n, const struct bytes *b, size_t o, size_t oh, size_t ow)
{
	const struct nn_conv2d *c = &n->conv;
	size_t cin = n->in[0] / c->groups, g = o / (n->out / c->groups);
	long sum = 0;

	for (size_t k = 0; k < chain_of(n); k++) {
		size_t kw = k % c->kernel[1], kh = k / c->kernel[1] % c->kernel[0],
		       channel = k / c->kernel[1] / c->kernel[0];
		size_t h = oh * c->stride[0] + kh * c->dilation[0],
		       v = ow * c->stride[1] + kw * c->dilation[1];

		if (h >= c->pad[0] && h - c->pad[0] < n->in[1] && v >= c->pad[1] &&
		    v - c->pad[1] < n->in[2])
			sum += (long)(b->q[((h - c->pad[0]) * n->in[2] + v - c->pad[1]) * n->in[0] +
					   g * cin + channel] -
				      b->zero) *
			       qw[o * chain_of(n) + k];
	}
	return sum;
}

static void reference_conv(const struct net *n, const float *from, float *to)
{
	static struct bytes b;
	size_t height = steps(n, 0), width = steps(n, 1);

	quantize(from, n->in[0] * n->in[1] * n->in[2], &b);
	for (size_t oh = 0; oh < height; oh++)
		for (size_t ow = 0; ow < width; ow++)
			for (size_t o = 0; o < n->out; o++)
				to[(oh * width + ow) * n->out + o] =
					finish(n, conv_sum(n, &b, o, oh, ow), o, b.scale);
}

/* ---- the device ---- */

static size_t in_size(const struct net *n)
{
	return n->in[0] * n->in[1] * n->in[2];
}

static size_t out_size(const struct net *n)
{
	return n->out * (n->dense ? n->in[1] : steps(n, 0) * steps(n, 1));
}

static bool predict(const struct net *n, const struct nn_device *device, int threads, size_t batch)
{
	struct nn_program *program = program_of(n);
	struct nn_graph_options options = { .device = device, .max_rows = batch };
	const void *params[2] = { w, bias };
	struct nn_graph *graph;
	struct nn_error err;
	bool last;
	size_t size;

	if (threads > 1 && nn_pool_new(&options.pool, threads, &err) < 0)
		return false;
	if (nn_graph_bind(&graph, program, &options, &err) || nn_graph_load(graph, params, &err)) {
		printf("# %s\n", err.text);
		return false;
	}
	for (size_t r = 0; r < ROWS; r += batch) {
		size_t rows = ROWS - r < batch ? ROWS - r : batch;
		struct nn_span span = { .rows = rows };
		float *to =
			nn_graph_input(graph, 0, &size, &last); /* images H,W,C, here and behind */

		memcpy(to, x + r * in_size(n), rows * in_size(n) * sizeof *x);
		nn_graph_send(graph, 0, rows);
		nn_graph_forward(graph, &span);
		memcpy(y + r * out_size(n), nn_graph_fetch(graph, 0, rows),
		       rows * out_size(n) * sizeof *y);
	}
	nn_graph_free(graph);
	nn_pool_free(options.pool);
	nn_program_free(program);
	return true;
}

static void make(const struct net *n)
{
	unsigned state = 12345;

	for (size_t i = 0; i < MOST; i++)
		w[i] = (float)((state = state * 1103515245 + 12345) >> 16) / 65536 - 0.5F;
	for (size_t i = 0; i < 256; i++)
		bias[i] = (float)i / 64 - 1;
	for (size_t i = 0; i < ROWS * in_size(n); i++)
		x[i] = (float)((state = state * 1103515245 + 12345) >> 16) / 32768 -
		       (float)(i / in_size(n) % 3); /* rows below, around and above 0 */
	memset(x, 0, in_size(n) * sizeof *x);
	quantize_weights(n);
	for (size_t r = 0; r < ROWS; r++)
		(n->dense ? reference_dense : reference_conv)(n, x + r * in_size(n),
							      right + r * out_size(n));
}

static bool same(const struct net *n)
{
	for (size_t i = 0; i < ROWS * out_size(n); i++)
		if (y[i] != right[i]) {
			printf("# %s: value %zu is %.9g, expected %.9g\n", n->name, i, (double)y[i],
			       (double)right[i]);
			return false;
		}
	return true;
}

static void all_agree(const char *isa, const struct nn_device *device)
{
	static const size_t batches[] = { 1, 2, 4, ROWS };
	bool agree = true;

	for (size_t i = 0; i < N_NETS; i++) {
		make(&nets[i]);
		for (size_t b = 0; b < 4; b++)
			for (int threads = 1; threads <= 3; threads += 2)
				agree &= predict(&nets[i], device, threads, batches[b]) &&
					 same(&nets[i]);
	}
	printf("# %s\n", isa);
	ok(agree, "int8: products are those of plain integers, in any batch and for any threads");
}

/* ---- edges ---- */

static void not_finite(const struct nn_device *device)
{
	const struct net *n = &nets[1];
	bool nan = true, others = true;

	make(n);
	x[in_size(n) + 3] = INFINITY;
	x[2 * in_size(n) + 5] = -NAN;
	predict(n, device, 1, ROWS);
	for (size_t o = 0; o < n->out; o++) {
		nan &= isnan(y[n->out + o]) && isnan(y[2 * n->out + o]);
		others &= y[o] == right[o] && y[3 * n->out + o] == right[3 * n->out + o];
	}
	ok(nan && others,
	   "int8: a row that is not finite is NaN, and its neighbours do not feel it");
	make(n);
	w[in_size(n)] = INFINITY;
	predict(n, device, 1, ROWS);
	ok(isnan(y[1]) && y[0] == right[0] && y[2] == right[2],
	   "int8: so is a channel whose weights are not");
	make(n);
	for (size_t i = 0; i < in_size(n); i++)
		x[in_size(n) + i] = i % 2 ? 0x1p-120F : -0x1p-120F;
	predict(n, device, 1, ROWS);
	ok(y[n->out] == bias[0] && y[n->out + 1] == bias[1], "int8: a row of next to nothing is 0");
	make(n);
	for (size_t i = 0; i < in_size(n); i++)
		x[in_size(n) + i] = i % 2 ? 0x1.fp127F : -0x1.fp127F;
	reference_dense(n, x + in_size(n), right + n->out);
	predict(n, device, 1, ROWS);
	ok(memcmp(y, right, 3 * n->out * sizeof *y) == 0,
	   "int8: nor do the largest numbers overflow");
}

/* The sums of the largest layer at their extremes, and one beyond it. */
static void longest(const struct nn_device *device)
{
	static const size_t most = (size_t)1 << 16;
	struct nn_dense dense = { .out = 1 };
	float *values = malloc((most + 1) * sizeof *values), *to;
	bool right_all = values != NULL, last;

	for (size_t in = most; values && in <= most + 1; in++) {
		struct nn_program *program = nn_program_new(NULL);
		struct nn_shape shape = nn_shape1(in);
		struct nn_graph_options options = { .device = device, .max_rows = 1 };
		const void *params[1] = { values };
		struct nn_graph *graph;
		int value = nn_program_input(program, &shape, NULL);
		size_t size;

		for (size_t i = 0; i < in; i++)
			values[i] = 1;
		value = nn_program_add(program, NN_OP_dense, &dense, &value, 1, "d", 0, NULL);
		nn_program_output(program, value, NULL, NULL);
		if (nn_graph_bind(&graph, program, &options, NULL) ||
		    nn_graph_load(graph, params, NULL))
			exit(1);
		to = nn_graph_input(graph, 0, &size, &last);
		memcpy(to, values, in * sizeof *to);
		nn_graph_send(graph, 0, 1);
		nn_graph_forward(graph, &(struct nn_span){ .rows = 1 });
		right_all &=
			fabs(*(const float *)nn_graph_fetch(graph, 0, 1) / (double)in - 1) < 1e-4;
		nn_graph_free(graph);
		nn_program_free(program);
	}
	free(values);
	ok(right_all, "int8: the longest sums fit, and longer ones are computed in f32");
}

int main(void)
{
	static const char *const isas[] = { "generic", "neon", "avx2", "avx512" };
	struct nn_error err;

	nn_flush_set(true);
	for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
		const struct nn_device *device;

		setenv("NN_CPU", isas[i], 1);
		if (!(device = nn_device_open("cpu", NN_I8, &err)))
			continue;
		all_agree(isas[i], device);
		not_finite(device);
		longest(device);
	}
	return tap_done();
}
