/* The op table: shape rules and their sentences, parameters, and programs grown node by node. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "op/program.h"
#include "tap.h"

/* As ok; a failure says what was found instead. */
static void claim(bool good, const char *text, const char *found)
{
	if (!ok(good, "%s", text) && found)
		note("found: %s", found);
}

static struct nn_conv2d conv(size_t out, size_t k, size_t stride, size_t pad, size_t dilation,
			     size_t groups)
{
	return (struct nn_conv2d){ .out = out,
				   .kernel = { k, k },
				   .stride = { stride, stride },
				   .pad = { pad, pad },
				   .dilation = { dilation, dilation },
				   .groups = groups,
				   .bias = true };
}

/* One row: attributes and inputs give a shape, or a sentence. */
static void infers(enum nn_op_id op, const void *attrs, const struct nn_shape *in, int n_in,
		   const char *want)
{
	struct nn_error err = { 0 };
	struct nn_shape out;
	char text[NN_SHAPE_TEXT], line[600];
	const char *got = err.text;

	if (nn_ops[op]->infer(attrs, in, n_in, &out, &err) == 0)
		got = nn_shape_text(text, &out);
	snprintf(line, sizeof line, "op: %s: %s", nn_ops[op]->name, want);
	claim(strcmp(got, want) == 0, line, got);
}

static void shapes_of_products(void)
{
	struct nn_shape image = nn_shape3(16, 3, 3), wide = nn_shape3(3, 32, 20),
			row = nn_shape1(7), steps = nn_shape2(5, 7);
	struct nn_dense dense = { .out = 4, .bias = true }, none = { .out = 0 };
	struct nn_conv2d c;

	infers(NN_OP_dense, &dense, &row, 1, "4");
	infers(NN_OP_dense, &dense, &steps, 1, "5x4");
	infers(NN_OP_dense, &none, &row, 1,
	       "input and output must have at least one value, got 7 and 0");
	c = conv(6, 5, 1, 0, 1, 1);
	infers(NN_OP_conv2d, &c, &image, 1, "kernel 5x5 exceeds input 3x3");
	infers(NN_OP_conv2d, &c, &wide, 1, "6x28x16");
	infers(NN_OP_conv2d, &c, &row, 1, "wants an input CxHxW, got 7");
	c = conv(6, 5, 2, 2, 1, 1);
	infers(NN_OP_conv2d, &c, &wide, 1, "6x16x10");
	c = conv(6, 5, 1, 1, 2, 1);
	infers(NN_OP_conv2d, &c, &image, 1,
	       "kernel 5x5 exceeds input 3x3 with dilation=2x2 and pad=1x1");
	c = conv(6, 3, 1, 1, 1, 3);
	infers(NN_OP_conv2d, &c, &image, 1,
	       "groups=3 does not divide the 16 channels of input 16x3x3");
	c = conv(6, 3, 1, 1, 1, 4);
	infers(NN_OP_conv2d, &c, &image, 1,
	       "groups=4 does not divide the 6 channels of the output");
	c = conv(32, 3, 1, 1, 1, 16);
	infers(NN_OP_conv2d, &c, &image, 1, "32x3x3");
	c = conv(SIZE_MAX / 16, 3, 1, 1, 1, 1);
	infers(NN_OP_conv2d, &c, &image, 1,
	       "output 1152921504606846975x3x3 is larger than memory can be");
	c = conv(6, SIZE_MAX, 1, 1, 3, 1);
	infers(NN_OP_conv2d, &c, &image, 1,
	       "kernel 18446744073709551615x18446744073709551615 exceeds input 3x3 with "
	       "dilation=3x3 and pad=1x1");
	c = conv(6, 3, 1, 1, 1, 1);
	c.pooling.on = true;
	c.pooling.window = (struct nn_window){ { 2, 2 }, { 2, 2 }, { 0, 0 } };
	infers(NN_OP_conv2d, &c, &wide, 1, "6x16x10");
}

static void shapes_of_transposed(void)
{
	struct nn_shape image = nn_shape3(16, 3, 4);
	struct nn_conv_transpose2d c = {
		.out = 6, .kernel = { 2, 2 }, .stride = { 2, 2 }, .dilation = { 1, 1 }, .groups = 1
	};

	infers(NN_OP_conv_transpose2d, &c, &image, 1, "6x6x8");
	c.kernel[0] = c.kernel[1] = 3;
	c.pad[0] = c.more[0] = 1;
	infers(NN_OP_conv_transpose2d, &c, &image, 1, "6x6x9");
	c.more[0] = 2;
	infers(NN_OP_conv_transpose2d, &c, &image, 1, "out-pad=2x0 is not less than stride=2x2");
	c.more[0] = 0;
	c.pad[1] = 5;
	infers(NN_OP_conv_transpose2d, &c, &image, 1, "pad=1x5 leaves nothing of input 16x3x4");
	c.pad[1] = 0;
	c.groups = 4;
	infers(NN_OP_conv_transpose2d, &c, &image, 1,
	       "groups=4 does not divide the channels of input 16x3x4 and the 6 of the output");
	c.stride[0] = SIZE_MAX;
	c.groups = 1;
	infers(NN_OP_conv_transpose2d, &c, &image, 1,
	       "the output of input 16x3x4 is larger than memory can be");
}

static void shapes_of_the_rest(void)
{
	struct nn_shape image = nn_shape3(16, 8, 8), row = nn_shape1(7);
	struct nn_shape two[] = { nn_shape3(16, 8, 8), nn_shape3(4, 8, 8) };
	struct nn_shape same[] = { nn_shape1(7), nn_shape1(7), nn_shape1(7) };
	struct nn_pool2d pool = { { { 3, 3 }, { 2, 2 }, { 1, 1 } } },
			 bad = { { { 3, 3 }, { 2, 2 }, { 2, 2 } } };
	struct nn_batchnorm norm = { .group = 32 };
	struct nn_concat by0 = { 0 }, by1 = { 1 }, by3 = { 3 };
	struct nn_reshape flat = { nn_shape1(1024) }, other = { nn_shape2(4, 4) };
	struct nn_permute permute = { 16, 64, true };
	struct nn_activation_attrs relu = { NN_ACT_RELU, 0 };
	struct nn_shape steps = nn_shape2(20, 3);
	struct nn_recurrent lstm = { .cell = NN_CELL_LSTM, .units = 8, .bias = true },
			    huge = { .cell = NN_CELL_LSTM, .units = SIZE_MAX / 8 };
	struct nn_slice part = { 3, { 2, -1, 0 }, { 8, 10, 2 }, { 1, 1, 4 }, 0 };
	struct nn_transpose turn = { { 0, 2 } };
	struct nn_upsample up = { { 2, 3 }, false, false };

	infers(NN_OP_maxpool2d, &pool, &image, 1, "16x4x4");
	infers(NN_OP_avgpool2d, &bad, &image, 1, "pad=2x2 exceeds half of window 3x3");
	infers(NN_OP_global_avgpool, NULL, &image, 1, "16");
	infers(NN_OP_batchnorm, &norm, &image, 1, "16x8x8");
	infers(NN_OP_batchnorm, &norm, &other.shape, 1, "wants a vector or CxHxW, got 4x4");
	infers(NN_OP_activation, &relu, &row, 1, "7");
	infers(NN_OP_add, NULL, same, 3, "7");
	infers(NN_OP_add, NULL, two, 2, "inputs differ in shape: 16x8x8 and 4x8x8");
	infers(NN_OP_mul, NULL, same, 1, "wants two inputs or more, got 1");
	infers(NN_OP_concat, &by0, two, 2, "20x8x8");
	infers(NN_OP_concat, &by1, two, 2,
	       "inputs 16x8x8 and 4x8x8 differ in more than dimension 1");
	infers(NN_OP_concat, &by3, two, 2, "dim=3 is not a dimension of input 16x8x8");
	infers(NN_OP_reshape, &flat, &image, 1, "1024");
	infers(NN_OP_reshape, &other, &image, 1,
	       "cannot give 16x8x8 the shape 4x4: the number of values differs");
	infers(NN_OP_permute, &permute, &image, 1, "16x8x8");
	infers(NN_OP_softmax, NULL, same, 2, "takes one input, got 2");
	infers(NN_OP_recurrent, &lstm, &steps, 1, "20x8");
	infers(NN_OP_recurrent, &lstm, &row, 1,
	       "wants steps x values (TxN, as \"input 100x2\" gives), got 7");
	infers(NN_OP_recurrent, &huge, &steps, 1,
	       "output 20x2305843009213693951 is larger than memory can be");
	infers(NN_OP_last, NULL, &steps, 1, "3");
	infers(NN_OP_last, NULL, &image, 1,
	       "wants steps x values (TxN, as \"input 100x2\" gives), got 16x8x8");
	infers(NN_OP_slice, &part, &image, 1, "8x10x2");
	infers(NN_OP_slice, &part, &row, 1, "wants an input of 3 dimensions, got 7");
	part.size[1] = 0;
	infers(NN_OP_slice, &part, &image, 1, "dimension 1: no part of input 16x8x8");
	infers(NN_OP_transpose, &turn, &image, 1, "8x8x16");
	infers(NN_OP_transpose, &turn, &row, 1, "2 is not a dimension of input 7");
	infers(NN_OP_upsample, &up, &image, 1, "16x16x24");
	infers(NN_OP_upsample, &up, &row, 1, "wants an input CxHxW, got 7");
	up.scale[1] = SIZE_MAX;
	infers(NN_OP_upsample, &up, &image, 1,
	       "input 16x8x8 cannot be made 2x18446744073709551615 times as large");
}

static void table_is_whole(void)
{
	bool named = true, priced = true;
	struct nn_shape in = nn_shape3(3, 32, 32), out;
	struct nn_conv2d c = conv(32, 3, 1, 1, 1, 1);
	struct nn_activation_attrs act = { NN_ACT_GELU, 0 };

	for (int i = 0; i < NN_N_OPS; i++)
		named = named && nn_ops[i] && nn_ops[i]->name && nn_ops[i]->infer;
	claim(named, "op: every line of ops.def has a row with a name and a shape rule", NULL);
	nn_ops[NN_OP_conv2d]->infer(&c, &in, 1, &out, NULL);
	priced = nn_ops[NN_OP_conv2d]->flops(&c, &in, 1, &out) == 2ull * 27 * 32 * 32 * 32;
	claim(priced, "op: a convolution costs two operations a tap and output value", NULL);
	claim(nn_ops[NN_OP_activation]->needs(&act) == NN_OP_NEEDS_X &&
		      !nn_activation_from_y(NN_ACT_LEAKY_RELU, 0) &&
		      nn_activation_from_y(NN_ACT_TANH, 0),
	      "op: gelu's gradient needs x, tanh's y, leaky-relu's x when the slope is 0", NULL);
}

static void programs(void)
{
	struct nn_error err = { 0 };
	struct nn_program *p = nn_program_new(&err);
	struct nn_shape in = nn_shape3(3, 8, 8);
	struct nn_conv2d c = conv(6, 3, 1, 1, 1, 1);
	struct nn_batchnorm norm = { .group = 16 };
	struct nn_dense dense = { .out = 10, .bias = true };
	int v, w;

	v = nn_program_input(p, &in, &err);
	v = nn_program_add(p, NN_OP_conv2d, &c, &v, 1, "0", 0, &err);
	v = nn_program_add(p, NN_OP_batchnorm, &norm, &v, 1, "1", 1, &err);
	v = nn_program_add(p, NN_OP_global_avgpool, NULL, &v, 1, "2", 2, &err);
	w = nn_program_add(p, NN_OP_dense, &dense, &v, 1, "head", 3, &err);
	claim(w >= 0 && nn_program_output(p, w, "class", &err) == 0 && p->n_nodes == 4 &&
		      p->n_params == 8 && nn_program_group(p) == 16,
	      "program: nodes, values and parameters are counted as they are added", err.text);
	claim(strcmp(p->params[0].name, "0.weight") == 0 &&
		      strcmp(p->params[4].name, "1.running_mean") == 0 &&
		      strcmp(p->params[7].name, "head.bias") == 0 &&
		      p->params[0].desc.fan_in == 27 && p->params[6].node == 3,
	      "program: parameters are named and described as torch.nn does", p->params[4].name);
	claim(p->values[w].shape.rank == 1 && p->values[w].shape.dim[0] == 10 &&
		      strcmp(p->outputs[0].name, "class") == 0,
	      "program: values have the shapes the ops say", NULL);
	claim(nn_program_add(p, NN_OP_conv2d, &c, &v, 1, "4", 4, &err) == -1 && p->n_nodes == 4 &&
		      p->n_params == 8 && strcmp(err.text, "wants an input CxHxW, got 6") == 0,
	      "program: a node that does not fit leaves the program as it was", err.text);
	nn_program_free(p);
	nn_program_free(NULL);
}

int main(void)
{
	shapes_of_products();
	shapes_of_transposed();
	shapes_of_the_rest();
	table_is_whole();
	programs();
	return tap_done();
}
