/* Initial values: their bounds and moments, and that they are the same everywhere. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "model-net.h"

static struct nn_net *drawn(const char *text, enum nn_dtype dtype, uint64_t seed, void ***params)
{
	struct nn_shape image = nn_shape3(1, 28, 28);
	struct nn_error err = { 0 };
	struct nn_net *net = net_of(text, strlen(text), true, &image, &err);

	*params = net ? nn_params_new(nn_net_program(net), dtype, &err) : NULL;
	if (*params && nn_net_init(net, seed, dtype, *params, &err) == 0)
		return net;
	printf("# %s\n", err.text);
	return NULL;
}

/* Largest magnitude, and mean square over bound squared (1/3 for a uniform distribution). */
static void spread(const float *values, size_t n, double bound, double *largest, double *square)
{
	*largest = *square = 0;
	for (size_t i = 0; i < n; i++) {
		if (fabs(values[i]) > *largest)
			*largest = fabs(values[i]);
		*square += (double)values[i] * values[i] / (bound * bound) / (double)n;
	}
}

static void uniform(const char *text, int param, double bound, const char *claim)
{
	void **params;
	struct nn_net *net = drawn(text, NN_F32, 1, &params);
	const struct nn_op_param *desc = &nn_net_program(net)->params[param].desc;
	size_t n = nn_shape_count(&desc->shape);
	double largest, square;
	char found[80];

	spread(params[param], n, bound, &largest, &square);
	snprintf(found, sizeof found, "largest %g of %g, square %g", largest, bound, square);
	/* 4 standard deviations of the mean square of n uniform numbers: 0.298 / sqrt(n) each */
	check(largest <= (float)bound && largest > bound * (1 - 20.0 / (double)n) &&
		      fabs(square - 1.0 / 3) < 4 * 0.298 / sqrt((double)n),
	      claim, found);
	nn_free(params);
	nn_net_free(net);
}

static void initial_values(void)
{
	void **a, **b, **c;
	struct nn_net *f32 = drawn("dense 100, batchnorm, dense 10 init=zeros", NN_F32, 7, &a);
	struct nn_net *f64 = drawn("dense 100, batchnorm, dense 10", NN_F64, 7, &b);
	struct nn_net *other = drawn("dense 50, batchnorm, dense 10", NN_F32, 7, &c);
	const float *w = a[0], *gamma = a[2], *beta = a[3], *mean = a[4], *var = a[5],
		    *zeros = a[6], *bias = a[7];
	bool same = true;
	uint32_t random[4];

	for (int i = 0; i < 100 * 784; i++)
		same &= w[i] == (float)((double *)b[0])[i];
	check(same, "model: f32 initial values are the f64 ones rounded", NULL);
	nn_philox(7, 1, NN_STREAM_INIT, 0, random);
	check(w[6] == (float)((2.0 * (random[2] >> 8) * 0x1p-24 - 1) / 28),
	      "model: element 6 of the first weight is lane 2 of block 1", NULL);
	nn_philox(7, 0, NN_STREAM_INIT + 16 + 2 * 256, 0, random);
	check(((double *)b[7])[3] == (2.0 * (random[3] >> 8) * 0x1p-24 - 1) * (1 / sqrt(100)),
	      "model: the bias of line 2 has its own stream", NULL);
	check(memcmp(a[0], c[0], 50 * 784 * sizeof(float)) == 0,
	      "model: a smaller layer has the first of the same values", NULL);
	check(gamma[0] == 1 && gamma[99] == 1 && beta[50] == 0 && mean[99] == 0 && var[0] == 1 &&
		      var[99] == 1,
	      "model: batchnorm begins with weight 1, bias 0, mean 0, variance 1", NULL);
	check(zeros[0] == 0 && zeros[999] == 0 && bias[9] == 0, "model: init=zeros", NULL);
	nn_free(a);
	nn_free(b);
	nn_free(c);
	nn_net_free(f32);
	nn_net_free(f64);
	nn_net_free(other);
	uniform("dense 100", 0, 1.0 / 28, "model: a dense weight is uniform within 1/sqrt(fan in)");
	uniform("dense 1000", 1, 1.0 / 28, "model: so is its bias");
	uniform("conv2d 64 3x3, conv2d 64 3x3", 2, 1 / sqrt(64 * 9),
		"model: and a conv2d weight, of channels times window");
	uniform("dense 100 init=kaiming-uniform", 0, sqrt(6.0 / 784),
		"model: init=kaiming-uniform: sqrt(6/fan in)");
	uniform("conv2d 64 3x3, conv2d 32 3x3 init=xavier-uniform", 2, sqrt(6.0 / (96 * 9)),
		"model: init=xavier-uniform: sqrt(6/(fan in + fan out))");
}

int main(void)
{
	initial_values();
	return tap_done();
}
