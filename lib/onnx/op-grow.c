/* What makes images larger: ConvTranspose, Resize and Upsample. */
#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"
#include "onnx/ops.h"

/* ---- ConvTranspose ---- */

struct grown {
	struct nn_onnx_window window;
	size_t more[2]; /* output_padding, and what pads after leave that those before cut off */
	size_t groups, out;
	struct nn_shape weight; /* as the layer has it: [in,out/groups,kh,kw] */
};

static int take_side(const struct nn_onnx_node *node, int n_dims, int d, struct grown *c,
		     struct nn_error *err)
{
	const Onnx__Attribute *a = nn_onnx_attribute(node->proto, "output_padding");
	struct nn_onnx_window *w = &c->window;
	int64_t more = 0;

	if (a && a->n_ints == (size_t)n_dims && d >= 2 - n_dims)
		more = a->ints[d - (2 - n_dims)];
	more += (int64_t)w->before[d] - (int64_t)w->after[d];
	if (more < 0 || more >= (int64_t)w->stride[d])
		return nn_fail(err, NN_EFORMAT,
			       "pads and output_padding that differ by %lld at a stride of %zu are "
			       "not supported",
			       (long long)more, w->stride[d]);
	c->more[d] = (size_t)more;
	w->out[d] = (w->in[d] - 1) * w->stride[d] + w->dilation[d] * (w->kernel[d] - 1) + 1 +
		    c->more[d];
	if (w->out[d] <= 2 * w->before[d])
		return nn_fail(err, NN_EFORMAT, "pads of %zu leave nothing", w->before[d]);
	w->out[d] -= 2 * w->before[d];
	return 0;
}

static int read_grown(const struct nn_onnx_node *node, struct nn_onnx_value *x,
		      const struct nn_onnx_constant *weight, struct grown *c, struct nn_error *err)
{
	int64_t groups = nn_onnx_int(node->proto, "group", 1);
	struct nn_shape image = nn_onnx_image_shape(&x->shape);
	int n_dims = x->shape.rank - 1;

	if (weight->shape.rank != x->shape.rank + 1 || n_dims < 1 || n_dims > 2 ||
	    !nn_dtype_float(weight->dtype) || weight->count == 0)
		return nn_fail(err, NN_EFORMAT, "weights of %d dimension%s for rows of %d",
			       weight->shape.rank, nn_s(weight->shape.rank), x->shape.rank);
	c->weight = weight->shape;
	if (n_dims == 1)
		c->weight = nn_shape4(c->weight.dim[0], c->weight.dim[1], 1, c->weight.dim[2]);
	if (groups < 1 || image.dim[0] % (size_t)groups || c->weight.dim[0] != image.dim[0])
		return nn_fail(
			err, NN_EFORMAT, "weights of %zu channel%s for rows of %zu in %lld groups",
			c->weight.dim[0], nn_s(c->weight.dim[0]), image.dim[0], (long long)groups);
	if (nn_onnx_attribute(node->proto, "output_shape") ||
	    !nn_onnx_string_is(node->proto, "auto_pad", "NOTSET", true))
		return nn_fail(err, NN_EFORMAT, "output_shape and auto_pad are not supported");
	if (nn_onnx_window_attributes(node, n_dims, &c->window, err) < 0)
		return -1;
	c->groups = (size_t)groups;
	c->out = c->weight.dim[1] * c->groups;
	for (int d = 0; d < 2; d++) {
		c->window.in[d] = image.dim[1 + d];
		c->window.kernel[d] = c->weight.dim[2 + d];
		if (take_side(node, n_dims, d, c, err) < 0)
			return -1;
	}
	return 0;
}

int nn_onnx_conv_transpose(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
			   struct nn_error *err)
{
	const struct nn_onnx_constant *weight, *bias = NULL;
	struct nn_shape flat, vector, result;
	struct nn_text text = { 0 };
	struct nn_onnx_value *x;
	struct grown c;
	int from, line;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    nn_onnx_in_constant(g, node, 1, &weight, err) < 0 ||
	    read_grown(node, x, weight, &c, err) < 0 ||
	    (nn_onnx_in(g, node, 2) && nn_onnx_in_constant(g, node, 2, &bias, err) < 0))
		return -1;
	if (bias && bias->count != c.out)
		return nn_fail(err, NN_EFORMAT, "a bias of %zu value%s for %zu output%s",
			       bias->count, nn_s(bias->count), c.out, nn_s(c.out));
	vector = nn_shape1(c.out);
	flat = x->shape;
	x->shape = nn_onnx_image_shape(&flat);
	from = nn_onnx_line_of(g, x, err);
	x->shape = flat;
	nn_onnx_add_pair(&text, "stride", c.window.stride, 1);
	nn_onnx_add_pair(&text, "pad", c.window.before, 0);
	nn_onnx_add_pair(&text, "out-pad", c.more, 0);
	nn_onnx_add_pair(&text, "dilation", c.window.dilation, 1);
	if (c.groups > 1)
		nn_text_addf(&text, " groups=%zu", c.groups);
	nn_text_add(&text, bias ? "" : " bias=no");
	line = from < 0 || text.failed
		       ? -1
		       : nn_onnx_add_line(g, &from, 1, node->proto->input[1], node->proto, err,
					  "conv-transpose2d %zu %zux%zu%s", c.out, c.weight.dim[2],
					  c.weight.dim[3], text.data ? text.data : "");
	nn_text_free(&text);
	if (line < 0 || nn_onnx_add_parameter(g, line, "weight", weight, &c.weight, err) < 0 ||
	    (bias && nn_onnx_add_parameter(g, line, "bias", bias, &vector, err) < 0))
		return -1;
	result = nn_shape3(c.out, c.window.out[0], c.window.out[1]);
	nn_onnx_give(g, node, line, &result);
	if (flat.rank == 2 && node->out[0] >= 0)
		g->values[node->out[0]].shape = nn_shape2(c.out, c.window.out[1]);
	return 0;
}

/* ---- Resize, Upsample ---- */

/* Factors from scales or sizes: whole numbers, 1 of rows and channels. */
static int take_factors(struct nn_onnx_graph *g, const struct nn_onnx_node *node, bool resize,
			const struct nn_shape *shape, size_t factor[2], struct nn_error *err)
{
	const Onnx__Attribute *a = nn_onnx_attribute(node->proto, "scales");
	size_t input = !resize || node->proto->n_input == 2 ? 1 : 2, n;
	const struct nn_onnx_constant *c = NULL;
	bool sizes = false;

	if (resize && node->proto->n_input > 3 && nn_onnx_in(g, node, 3)) {
		input = 3;
		sizes = true;
	}
	if (!a && nn_onnx_in_constant(g, node, input, &c, err) < 0)
		return -1;
	n = c ? c->count : a->n_floats;
	if (n != (size_t)shape->rank + 1)
		return nn_fail(err, NN_EFORMAT, "%zu scale%s for %d dimension%s", n, nn_s(n),
			       shape->rank + 1, nn_s(shape->rank + 1));
	factor[0] = factor[1] = 1;
	for (int d = sizes; d <= shape->rank; d++) {
		double f = c ? nn_onnx_real(c, (size_t)d) : (double)a->floats[d];
		size_t whole;

		f = sizes ? f / (double)shape->dim[d - 1] : f;
		if (!(f >= 1 && f <= 65536) || f != (double)(size_t)f)
			return nn_fail(err, NN_EFORMAT, "a scale of %g is not supported", f);
		whole = (size_t)f;
		if (d < 2 && whole != 1)
			return nn_fail(err, NN_EFORMAT, "of rows or channels is not supported");
		if (d >= 2)
			factor[shape->rank == 2 ? 1 : d - 2] = whole;
	}
	return 0;
}

/* The modes in which whole factors give what the layer gives; *linear: as the mode says. */
static int take_mode(const Onnx__Node *node, bool resize, const char **text, struct nn_error *err)
{
	const char *const how = "coordinate_transformation_mode";
	bool nearest = nn_onnx_string_is(node, "mode", "nearest", true),
	     linear = nn_onnx_string_is(node, "mode", "linear", false),
	     half = resize && (nn_onnx_string_is(node, how, "half_pixel", true) ||
			       nn_onnx_string_is(node, how, "pytorch_half_pixel", false)),
	     corners = resize && nn_onnx_string_is(node, how, "align_corners", false),
	     start = !resize || nn_onnx_string_is(node, how, "asymmetric", false),
	     floors = !resize || nn_onnx_string_is(node, "nearest_mode", "floor", false),
	     rounds = nn_onnx_string_is(node, "nearest_mode", "round_prefer_floor", true) ||
		      nn_onnx_string_is(node, "nearest_mode", "round_prefer_ceil", false);

	*text = linear ? corners ? " mode=bilinear align-corners=yes" : " mode=bilinear" : "";
	if (nn_onnx_attribute(node, "axes") || nn_onnx_int(node, "antialias", 0) ||
	    nn_onnx_int(node, "exclude_outside", 0))
		return nn_fail(err, NN_EFORMAT,
			       "axes, antialias and exclude_outside are not supported");
	if ((nearest && ((start && floors) || (half && rounds))) || (linear && (half || corners)))
		return 0;
	return nn_fail(err, NN_EFORMAT, "in this mode is not supported");
}

static int grow(struct nn_onnx_graph *g, const struct nn_onnx_node *node, bool resize,
		struct nn_error *err)
{
	struct nn_onnx_value *x;
	struct nn_shape shape;
	size_t factor[2];
	const char *mode;
	char text[96];

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0)
		return -1;
	shape = x->shape;
	if (shape.rank < 2 || shape.rank > 3)
		return nn_fail(err, NN_EFORMAT, "of %d dimension%s is not supported",
			       shape.rank + 1, nn_s(shape.rank + 1));
	if (take_mode(node->proto, resize, &mode, err) < 0 ||
	    take_factors(g, node, resize, &shape, factor, err) < 0)
		return -1;
	for (int d = 1; d < shape.rank; d++)
		if (!nn_mul(shape.dim[d], factor[shape.rank == 2 ? 1 : d - 1], &shape.dim[d]))
			return nn_fail(err, NN_EFORMAT, "the output is larger than memory can be");
	if (factor[0] == 1 && factor[1] == 1)
		return nn_onnx_pass(g, node, x, &shape, err);
	snprintf(text, sizeof text, "upsample %zux%zu%s", factor[0], factor[1], mode);
	return nn_onnx_layer(g, node, x, &shape, err, text);
}

int nn_onnx_resize(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	return grow(g, node, true, err);
}

int nn_onnx_upsample(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	return grow(g, node, false, err);
}
