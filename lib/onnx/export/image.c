/* Ops over images, and over lines (C,L), as nodes. */
#include <string.h>

#include "onnx/export/op.h"

/* Of C,L the second number alone. */
static void put_pair(const struct nn_onnx_op *o, Onnx__Node *n, const char *name,
		     const size_t pair[2], bool both_sides)
{
	int64_t values[4] = { (int64_t)pair[o->line], (int64_t)pair[1], (int64_t)pair[0],
			      (int64_t)pair[1] };

	nn_onnx_put_ints(o->e, n, name, values, (both_sides ? 4u : 2u) >> o->line);
}

void nn_onnx_put_conv2d(const struct nn_onnx_op *o)
{
	const struct nn_conv2d *conv = o->attrs;
	const char *weight = nn_onnx_parameter(o, 0);
	Onnx__Node *n = nn_onnx_node(o->e, "Conv", o->name, o->out,
				     IN(o->in, weight, nn_onnx_parameter(o, 1)));

	put_pair(o, n, "dilations", conv->dilation, false);
	nn_onnx_put_int(o->e, n, "group", (int64_t)conv->groups);
	put_pair(o, n, "kernel_shape", conv->kernel, false);
	put_pair(o, n, "pads", conv->pad, true);
	put_pair(o, n, "strides", conv->stride, false);
}

static void pool(const struct nn_onnx_op *o, const char *op)
{
	const struct nn_window *window = &((const struct nn_pool2d *)o->attrs)->window;
	Onnx__Node *n = nn_onnx_simple(o, op);

	if (strcmp(op, "AveragePool") == 0)
		nn_onnx_put_int(o->e, n, "count_include_pad", 1);
	put_pair(o, n, "kernel_shape", window->kernel, false);
	put_pair(o, n, "pads", window->pad, true);
	put_pair(o, n, "strides", window->stride, false);
}

/* pads after: fewer than before, for what the output has more. */
void nn_onnx_put_conv_transpose2d(const struct nn_onnx_op *o)
{
	const struct nn_conv_transpose2d *conv = o->attrs;
	const char *weight = nn_onnx_parameter(o, 0);
	Onnx__Node *n = nn_onnx_node(o->e, "ConvTranspose", o->name, o->out,
				     IN(o->in, weight, nn_onnx_parameter(o, 1)));

	put_pair(o, n, "dilations", conv->dilation, false);
	nn_onnx_put_int(o->e, n, "group", (int64_t)conv->groups);
	put_pair(o, n, "kernel_shape", conv->kernel, false);
	put_pair(o, n, "output_padding", conv->more, false);
	put_pair(o, n, "pads", conv->pad, true);
	put_pair(o, n, "strides", conv->stride, false);
}

void nn_onnx_put_maxpool2d(const struct nn_onnx_op *o)
{
	pool(o, "MaxPool");
}

void nn_onnx_put_avgpool2d(const struct nn_onnx_op *o)
{
	pool(o, "AveragePool");
}

void nn_onnx_put_global_avgpool(const struct nn_onnx_op *o)
{
	const char *mean = nn_onnx_part(o, "mean");
	Onnx__Node *n;

	nn_onnx_node(o->e, "GlobalAveragePool", o->name, mean, IN(o->in));
	n = nn_onnx_node(o->e, "Flatten", nn_onnx_part(o, "flatten"), o->out, IN(mean));
	nn_onnx_put_int(o->e, n, "axis", 1);
}

void nn_onnx_put_batchnorm(const struct nn_onnx_op *o)
{
	const struct nn_batchnorm *norm = o->attrs;
	const char *p[4];
	Onnx__Node *n;

	for (int k = 0; k < 4; k++)
		p[k] = nn_onnx_parameter(o, k);
	n = nn_onnx_node(o->e, "BatchNormalization", o->name, o->out,
			 IN(o->in, p[0], p[1], p[2], p[3]));
	nn_onnx_put_float(o->e, n, "epsilon", norm->eps);
	nn_onnx_put_float(o->e, n, "momentum", 1 - norm->momentum);
}

/* Resize by whole numbers; rows and channels stay. */
void nn_onnx_put_upsample(const struct nn_onnx_op *o)
{
	const struct nn_upsample *up = o->attrs;
	struct nn_shape length = nn_shape1(o->line ? 3 : 4);
	const char *name = nn_onnx_part(o, "scales");
	float *scales = nn_onnx_keep(o->e, 4, sizeof *scales);
	Onnx__Node *n;

	if (!scales)
		return;
	scales[0] = scales[1] = 1;
	scales[2] = (float)up->scale[o->line];
	scales[3] = (float)up->scale[1];
	nn_onnx_tensor(o->e, name, NN_F32, &length, scales);
	n = nn_onnx_node(o->e, "Resize", o->name, o->out, IN(o->in, "", name));
	nn_onnx_put_text(o->e, n, "coordinate_transformation_mode",
			 up->corners    ? "align_corners"
			 : up->bilinear ? "half_pixel"
					: "asymmetric");
	nn_onnx_put_text(o->e, n, "mode", up->bilinear ? "linear" : "nearest");
	if (!up->bilinear)
		nn_onnx_put_text(o->e, n, "nearest_mode", "floor");
}
