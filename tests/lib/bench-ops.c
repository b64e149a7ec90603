/*
 * What nn-bench ops rests on: sites from text and back, kernels that are right found right, kernels
 * that are wrong found wrong.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench/op/trial.h"
#include "op/notation.h"
#include "tap.h"

static const struct nn_device *device;
static const struct nn_kernel *right; /* what the wrong ones below call */

static struct nn_op_trial *trial_of(const struct nn_op_operand *o, const struct nn_kernel *kernel,
				    bool training)
{
	struct nn_op_how how = {
		.device = device, .kernel = kernel, .training = training, .want_dx = true
	};
	struct nn_op_trial *t;
	struct nn_error err;

	if (nn_op_trial_new(&t, &o->site, &how, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		exit(1);
	}
	return t;
}

/* Is what the kernel gives found right? */
static bool passes(const char *operand, const struct nn_kernel *kernel, bool training,
		   bool backward)
{
	double difference = NAN, allowed = NAN;
	struct nn_op_operand site;
	struct nn_op_trial *t;
	struct nn_error err;

	if (nn_op_operand_parse(&site, operand, &err) < 0) {
		printf("# %s\n", err.text);
		return false;
	}
	t = trial_of(&site, kernel, training);
	if (nn_op_trial_check(t, backward, &difference, &allowed, &err) < 0)
		difference = NAN;
	nn_op_trial_free(t);
	if (!(difference <= allowed))
		printf("# %s: %g, allowed %g\n", operand, difference, allowed);
	return difference <= allowed;
}

static void check_right(enum nn_dtype dtype)
{
	static const char *const operands[] = {
		"dense:1x7x3",
		"dense:40x33x18",
		"conv2d:5x2x7x6,4,3x3,pad=1",
		"conv2d:3x4x9x9,6,3x3,stride=2,groups=2",
		"conv-transpose2d:3x4x5x5,6,3x3,stride=2,pad=1,out-pad=1,groups=2",
		"maxpool2d:4x3x8x8,3x3,stride=2,pad=1",
		"avgpool2d:4x3x8x8,2x2",
		"global-avgpool:4x3x5x5",
		"batchnorm:70x3x4x4",
		"batchnorm:40x9",
		"layernorm:5x37",
		"dropout:9x40",
		"activation:9x40,relu",
		"activation:9x40,leaky-relu",
		"activation:9x40,elu",
		"activation:9x40,gelu",
		"activation:9x40,silu",
		"activation:9x40,sigmoid",
		"activation:9x40,tanh",
		"activation:9x40,softplus",
		"embedding:9x4,30x5",
		"recurrent:9x5x4,rnn,7",
		"recurrent:9x5x4,rnn-relu,7",
		"recurrent:9x5x4,lstm,7",
		"recurrent:9x5x4,gru,7",
		"last:9x5x4",
		"position:9x5x7",
		"attention:9x5x24,2",
		"attention:9x5x24,4,all",
		"softmax:9x10",
		"add:9x40",
		"mul:9x40",
		"concat:9x40",
		"reshape:4x3x4x5",
		"permute:4x3x4x5",
		"slice:4x3x4x5,pad=2",
		"transpose:9x4x5",
		"upsample:4x3x4x5,2x3",
		"upsample:4x3x4x5,2x3,bilinear",
	};
	bool seen[NN_N_OPS] = { false }, good = true, all = true;
	struct nn_error err;

	device = nn_device_open("cpu", dtype, &err);
	for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
		seen[nn_op_site_op(operands[i])] = true;
		good &= passes(operands[i], NULL, true, false) &&
			passes(operands[i], NULL, true, true);
	}
	for (int op = 0; op < NN_N_OPS; op++)
		all &= seen[op];
	ok(good && all, "ops: every op is found right, forward and backward, in %s",
	   nn_dtype_name(dtype));
	ok(passes("conv2d:5x2x7x6,4,3x3", NULL, false, false) &&
		   passes("batchnorm:40x9", NULL, false, false),
	   "ops: and in prediction, %s", nn_dtype_name(dtype));
}

/* ---- kernels with a fault ---- */

static void one_value(const struct nn_call *c)
{
	right->forward(c);
	((float *)c->y)[(c->rows - 1) * nn_shape_count(&c->site.out)] *= 1.001f;
}

static void twice_dw(const struct nn_call *c)
{
	right->backward(c);
	for (size_t i = 0; i < nn_shape_count(&c->site.in[0]) * nn_shape_count(&c->site.out); i++)
		((float *)c->dw[0])[i] *= 2;
}

static void dx_of_others(const struct nn_call *c)
{
	right->backward(c);
	((float *)c->dx[0])[nn_shape_count(&c->site.in[0])] += 1e-3f;
}

static void no_number(const struct nn_call *c)
{
	right->forward(c);
	((float *)c->y)[0] = NAN;
}

static void check_wrong(void)
{
	struct nn_kernel k;
	struct nn_error err;

	device = nn_device_open("cpu", NN_F32, &err);
	right = device->kernels[NN_OP_dense];
	k = *right;
	ok(passes("dense:40x33x18", &k, true, false), "ops: a copy of the kernel is right");
	k.forward = one_value;
	ok(!passes("dense:40x33x18", &k, true, false),
	   "ops: a value of the last row that is off by a thousandth is found");
	k.forward = no_number;
	ok(!passes("dense:40x33x18", &k, true, false), "ops: NaN in place of a number is found");
	k = *right;
	k.backward = twice_dw;
	ok(!passes("dense:40x33x18", &k, true, true),
	   "ops: gradients of weights that are twice as large are found");
	k.backward = dx_of_others;
	ok(!passes("dense:40x33x18", &k, true, true), "ops: a gradient where none can be is found");
}

/* ---- text ---- */

static void check_text(void)
{
	static const char *const good[] = {
		"dense:128x784x128",
		"conv2d:64x1x28x28,32,3x3",
		"conv2d:64x16x32x32,32,3x3,stride=2,pad=1",
		"conv-transpose2d:64x16x8x8,32,3x3,stride=2,pad=1,out-pad=1,groups=2",
		"maxpool2d:4x3x8x8,2x2",
		"avgpool2d:4x3x8x8,3x3,stride=2,pad=1",
		"activation:9x40,gelu",
		"softmax:4096x10",
		"permute:64x32x32x32",
		"slice:64x32x32x32,pad=1",
		"transpose:64x12x30",
		"upsample:16x32x24x24,2x2",
		"upsample:16x32x24x24,2x2,bilinear",
	};
	static const char *const bad[] = {
		"dense:",
		"dense:1x2",
		"dense:0x2x3",
		"dense:1x2x3x",
		"dense:1x2x3,relu",
		"dense:99999999999x2x3",
		"conv2d:1x1x28x28",
		"conv2d:1x1x28x28,32",
		"conv2d:1x1x28x28,32,3",
		"conv2d:1x1x28x28,32,99x99",
		"conv2d:1x3x8x8,4,3x3,groups=2",
		"conv2d:1x3x8x8,4,3x3,stride=0",
		"conv-transpose2d:1x3x8x8,4,3x3,out-pad=1",
		"conv-transpose2d:1x3x8x8,4,3x3,pad=9",
		"activation:9x40",
		"activation:9x40,step",
		"softmax:9",
		"permute:4x4",
		"slice:4x3x8x8",
		"slice:4x3x8x8,pad=x",
		"transpose:4x8",
		"upsample:4x3x8x8",
		"upsample:4x3x8x8,2x2,linear",
		"dense:-1x2x3",
	};
	bool same = true, refused = true;
	struct nn_op_operand site;
	struct nn_error err;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct nn_text text = { 0 };

		same &= nn_op_operand_parse(&site, good[i], &err) == 0;
		nn_op_write(site.site.op, &site.attrs, site.in, site.site.rows, &text);
		same &= strcmp(text.data, strchr(good[i], ':') + 1) == 0;
		nn_text_free(&text);
	}
	ok(same, "ops: what a row says of a shape is the operand that asks for it");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (nn_op_operand_parse(&site, bad[i], &err) == 0 || err.code != NN_EUSAGE) {
			printf("# %s\n", bad[i]);
			refused = false;
		}
	ok(refused, "ops: shapes that do not fit are refused as usage");
}

static void check_room(void)
{
	struct nn_op_operand site;
	struct nn_op_trial *t = NULL;
	struct nn_error err = { 0 };
	struct nn_op_how how = { .device = device, .training = true };

	if (nn_op_operand_parse(&site, "dense:1000000x1000000x1000000", &err) < 0)
		abort();
	ok(nn_op_trial_new(&t, &site.site, &how, &err) < 0 && err.code == NN_ENOMEM,
	   "ops: what cannot fit is said before it is taken");
	ok(nn_op_operand_parse(&site, "conv2d:1x3x8x8,16,3x3,pad=1", &err) == 0,
	   "ops: a small site");
	t = trial_of(&site, NULL, true);
	ok(nn_op_trial_flop(t, false) == 2.0 * 22 * 22 * 3 * 16,
	   "ops: taps outside the image are no work");
	nn_op_trial_free(t);
}

int main(void)
{
	check_right(NN_F32);
	check_right(NN_F64);
	check_wrong();
	check_text();
	check_room();
	return tap_done();
}
