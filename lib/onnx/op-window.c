/* Windows over images: their attributes, and the poolings. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "onnx/ops.h"

#define MOST 2147483647 /* of a size, as in the language */

struct nn_shape nn_onnx_image_shape(const struct nn_shape *shape)
{
	return shape->rank == 2 ? nn_shape3(shape->dim[0], 1, shape->dim[1]) : *shape;
}

void nn_onnx_add_pair(struct nn_text *text, const char *name, const size_t pair[2], size_t usual)
{
	if (pair[0] == usual && pair[1] == usual)
		return;
	if (pair[0] == pair[1])
		nn_text_addf(text, " %s=%zu", name, pair[0]);
	else
		nn_text_addf(text, " %s=%zux%zu", name, pair[0], pair[1]);
}

/* An attribute of one number per dimension: `usual` where it is missing, and for what C,L lacks. */
static int take_pair(const Onnx__Node *node, const char *name, int n_dims, size_t usual,
		     int64_t least, size_t pair[2], struct nn_error *err)
{
	const Onnx__Attribute *a = nn_onnx_attribute(node, name);

	pair[0] = pair[1] = usual;
	if (!a || a->n_ints == 0)
		return 0;
	if (a->n_ints != (size_t)n_dims)
		return nn_fail(err, NN_EFORMAT, "%s has %zu number%s, expected %d", name, a->n_ints,
			       nn_s(a->n_ints), n_dims);
	for (int d = 0; d < n_dims; d++) {
		if (a->ints[d] < least || a->ints[d] > MOST)
			return nn_fail(err, NN_EFORMAT, "%s of %lld is not supported", name,
				       (long long)a->ints[d]);
		pair[2 - n_dims + d] = (size_t)a->ints[d];
	}
	return 0;
}

/* pads: before all dimensions, then after them. */
static int take_pads(const Onnx__Node *node, int n_dims, struct nn_onnx_window *w,
		     struct nn_error *err)
{
	const Onnx__Attribute *a = nn_onnx_attribute(node, "pads");

	for (int d = 0; d < 2; d++)
		w->before[d] = w->after[d] = 0;
	if (!a || a->n_ints == 0)
		return 0;
	if (a->n_ints != 2 * (size_t)n_dims)
		return nn_fail(err, NN_EFORMAT, "pads has %zu number%s, expected %d", a->n_ints,
			       nn_s(a->n_ints), 2 * n_dims);
	for (int i = 0; i < 2 * n_dims; i++) {
		if (a->ints[i] < 0 || a->ints[i] > MOST)
			return nn_fail(err, NN_EFORMAT, "pads of %lld are not supported",
				       (long long)a->ints[i]);
		(i < n_dims ? w->before : w->after)[2 - n_dims + i % n_dims] = (size_t)a->ints[i];
	}
	return 0;
}

/* As many steps as there are in the image, whole or begun. */
static void same_pads(struct nn_onnx_window *w, int d, bool lower)
{
	size_t steps = (w->in[d] + w->stride[d] - 1) / w->stride[d],
	       span = w->dilation[d] * (w->kernel[d] - 1) + 1,
	       needed = (steps - 1) * w->stride[d] + span;
	size_t pads = needed > w->in[d] ? needed - w->in[d] : 0;

	w->before[d] = lower ? pads - pads / 2 : pads / 2;
	w->after[d] = pads - w->before[d];
}

static int take_out(struct nn_onnx_window *w, int d, bool ceil, struct nn_error *err)
{
	size_t room = w->in[d] + w->before[d] + w->after[d],
	       span = w->dilation[d] * (w->kernel[d] - 1) + 1;

	if (span > room)
		return nn_fail(err, NN_EFORMAT, "a window of %zu exceeds an input of %zu", span,
			       room);
	w->out[d] = (room - span + (ceil ? w->stride[d] - 1 : 0)) / w->stride[d] + 1;
	/* a window must begin inside the image or its first pads */
	if (ceil && (w->out[d] - 1) * w->stride[d] >= w->in[d] + w->before[d])
		w->out[d]--;
	return 0;
}

int nn_onnx_window_attributes(const struct nn_onnx_node *node, int n_dims, struct nn_onnx_window *w,
			      struct nn_error *err)
{
	return take_pair(node->proto, "kernel_shape", n_dims, 1, 1, w->kernel, err) < 0 ||
			       take_pair(node->proto, "strides", n_dims, 1, 1, w->stride, err) <
				       0 ||
			       take_pair(node->proto, "dilations", n_dims, 1, 1, w->dilation, err) <
				       0 ||
			       take_pads(node->proto, n_dims, w, err) < 0
		       ? -1
		       : 0;
}

int nn_onnx_window(const struct nn_onnx_node *node, struct nn_onnx_value *x, const size_t *kernel,
		   bool may_ceil, struct nn_onnx_window *w, struct nn_error *err)
{
	bool upper = nn_onnx_string_is(node->proto, "auto_pad", "SAME_UPPER", false),
	     lower = nn_onnx_string_is(node->proto, "auto_pad", "SAME_LOWER", false);
	bool ceil = may_ceil && nn_onnx_int(node->proto, "ceil_mode", 0);
	struct nn_shape image = nn_onnx_image_shape(&x->shape);
	int n_dims = x->shape.rank - 1;
	char text[NN_SHAPE_TEXT];

	if (n_dims < 1 || n_dims > 2)
		return nn_fail(err, NN_EFORMAT, "rows of %s, expected CxHxW or CxL",
			       nn_shape_text(text, &x->shape));
	if (nn_onnx_window_attributes(node, n_dims, w, err) < 0)
		return -1;
	if (kernel && nn_onnx_attribute(node->proto, "kernel_shape") &&
	    (kernel[0] != w->kernel[0] || kernel[1] != w->kernel[1]))
		return nn_fail(err, NN_EFORMAT, "kernel_shape %zux%zu, the weights are %zux%zu",
			       w->kernel[0], w->kernel[1], kernel[0], kernel[1]);
	for (int d = 0; d < 2; d++) {
		w->in[d] = image.dim[1 + d];
		if (kernel)
			w->kernel[d] = kernel[d];
		if (w->kernel[d] > MOST)
			return nn_fail(err, NN_EFORMAT, "a window of %zu", w->kernel[d]);
		if (upper || lower)
			same_pads(w, d, lower);
		else if (nn_onnx_string_is(node->proto, "auto_pad", "VALID", false))
			w->before[d] = w->after[d] = 0;
		if (take_out(w, d, ceil, err) < 0)
			return -1;
	}
	return 0;
}

/* The pads that a layer can say: the same on both sides, or such that no window sees more. */
static bool even_pads(const struct nn_onnx_window *w)
{
	for (int d = 0; d < 2; d++) {
		size_t room = w->in[d] + 2 * w->before[d];

		if (2 * w->before[d] > w->kernel[d] || room < w->kernel[d] ||
		    (room - w->kernel[d]) / w->stride[d] + 1 != w->out[d])
			return false;
	}
	return true;
}

/* What windows see beyond the image, as a line of its own; then none is left. */
static int add_pads(struct nn_onnx_graph *g, struct nn_onnx_window *w, bool flat, bool max,
		    int from, struct nn_error *err)
{
	struct nn_text text = { 0 };
	size_t after[2];
	int line;

	for (int d = 0; d < 2; d++) {
		size_t seen = (w->out[d] - 1) * w->stride[d] + w->kernel[d],
		       have = w->in[d] + w->before[d];

		after[d] = seen > have ? seen - have : 0;
	}
	nn_text_addf(&text, flat ? "pad %zu after=%zu" : "pad %zux%zu after=%zux%zu",
		     w->before[flat], flat ? after[1] : w->before[1], after[0], after[1]);
	if (max)
		nn_text_add(&text, " value=-3e38");
	line = text.failed ? -1 : nn_onnx_add_line(g, &from, 1, NULL, NULL, err, "%s", text.data);
	nn_text_free(&text);
	w->before[0] = w->before[1] = 0;
	return line;
}

/* A window's size, stride or pad: of C,L the second number alone. */
static void add_sizes(struct nn_text *text, const char *name, const size_t pair[2], bool flat)
{
	size_t both[2] = { pair[flat], pair[1] };

	nn_onnx_add_pair(text, name, both, 0);
}

static int add_pool(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		    struct nn_onnx_value *x, bool max, struct nn_onnx_window *w,
		    struct nn_error *err)
{
	bool flat = x->shape.rank == 2;
	struct nn_shape result = flat ? nn_shape2(x->shape.dim[0], w->out[1])
				      : nn_shape3(x->shape.dim[0], w->out[0], w->out[1]);
	struct nn_text text = { 0 };
	int from, line;

	if (w->dilation[0] != 1 || w->dilation[1] != 1)
		return nn_fail(err, NN_EFORMAT, "dilations of %zux%zu are not supported",
			       w->dilation[0], w->dilation[1]);
	from = nn_onnx_line_of(g, x, err);
	if (from >= 0 && !even_pads(w))
		from = add_pads(g, w, flat, max, from, err);
	nn_text_addf(&text, flat || w->kernel[0] == w->kernel[1] ? "%s%s %zu" : "%s%s %zux%zu",
		     max ? "maxpool" : "avgpool", flat ? "1d" : "2d", w->kernel[flat],
		     w->kernel[1]);
	if (w->stride[0] != w->kernel[0] || w->stride[1] != w->kernel[1])
		add_sizes(&text, "stride", w->stride, flat);
	add_sizes(&text, "pad", w->before, flat);
	line = from < 0 || text.failed
		       ? -1
		       : nn_onnx_add_line(g, &from, 1, NULL, node->proto, err, "%s", text.data);
	nn_text_free(&text);
	if (line < 0)
		return -1;
	nn_onnx_give(g, node, line, &result);
	return 0;
}

int nn_onnx_maxpool(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	struct nn_onnx_window w;
	struct nn_onnx_value *x;

	if (node->proto->n_output > 1 && node->out[1] >= 0 && g->values[node->out[1]].uses > 0)
		return nn_fail(err, NN_EFORMAT, "its second output (Indices) is not supported");
	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    nn_onnx_window(node, x, NULL, true, &w, err) < 0)
		return -1;
	return add_pool(g, node, x, true, &w, err);
}

int nn_onnx_averagepool(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
			struct nn_error *err)
{
	bool counts = nn_onnx_int(node->proto, "count_include_pad", 0);
	struct nn_onnx_window w;
	struct nn_onnx_value *x;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    nn_onnx_window(node, x, NULL, true, &w, err) < 0)
		return -1;
	for (int d = 0; d < 2; d++) {
		size_t seen = (w.out[d] - 1) * w.stride[d] + w.kernel[d];

		if (!counts && (w.before[d] || w.after[d]))
			return nn_fail(err, NN_EFORMAT,
				       "pads that are not counted (count_include_pad=0) are not "
				       "supported");
		if (seen > w.in[d] + w.before[d] + w.after[d])
			return nn_fail(err, NN_EFORMAT,
				       "a last window that is not whole (ceil_mode) is not "
				       "supported");
	}
	return add_pool(g, node, x, false, &w, err);
}

/* C,H,W or C,L; the graph goes on with C,1,1 unless it leaves these dimensions out. */
static int global(struct nn_onnx_graph *g, const struct nn_onnx_node *node, bool keeps, bool max,
		  struct nn_error *err)
{
	struct nn_shape flat, image, vector, result;
	struct nn_onnx_value *x, *v;
	char text[NN_SHAPE_TEXT];
	int from, line;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0)
		return -1;
	flat = x->shape;
	if (flat.rank < 2 || flat.rank > 3)
		return nn_fail(err, NN_EFORMAT, "rows of %s, expected CxHxW or CxL",
			       nn_shape_text(text, &flat));
	image = nn_onnx_image_shape(&flat);
	x->shape = image;
	from = nn_onnx_line_of(g, x, err);
	x->shape = flat;
	if (from < 0)
		return -1;
	line = max ? nn_onnx_add_line(g, &from, 1, NULL, node->proto, err, "maxpool2d %zux%zu",
				      image.dim[1], image.dim[2])
		   : nn_onnx_add_line(g, &from, 1, NULL, node->proto, err, "global-avgpool");
	if (line < 0)
		return -1;
	vector = nn_shape1(image.dim[0]);
	result = max ? nn_shape3(image.dim[0], 1, 1) : vector;
	nn_onnx_give(g, node, line, &result);
	v = &g->values[node->out[0]];
	v->shape = !keeps           ? vector
		   : flat.rank == 2 ? nn_shape2(flat.dim[0], 1)
				    : nn_shape3(flat.dim[0], 1, 1);
	return 0;
}

int nn_onnx_global_average(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
			   struct nn_error *err)
{
	return global(g, node, true, false, err);
}

int nn_onnx_global_max(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		       struct nn_error *err)
{
	return global(g, node, true, true, err);
}

/* The mean over all positions; axes are an attribute, from opset 18 on an input. */
int nn_onnx_reduce_mean(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
			struct nn_error *err)
{
	const Onnx__Attribute *a = nn_onnx_attribute(node->proto, "axes");
	const struct nn_onnx_constant *c = NULL;
	size_t n = a ? a->n_ints : 0;
	struct nn_onnx_value *x;
	unsigned found = 0;
	int dim = 0;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    (!a && nn_onnx_in(g, node, 1) && nn_onnx_in_constant(g, node, 1, &c, err) < 0))
		return -1;
	if (c && !nn_onnx_is_whole(c))
		return nn_fail(err, NN_EFORMAT, "axes are no whole numbers");
	n = c ? c->count : n;
	for (size_t i = 0; i < n; i++) {
		if (nn_onnx_axis(c ? nn_onnx_whole(c, i) : a->ints[i], x->shape.rank, &dim, err) <
		    0)
			return -1;
		found |= 1u << dim;
	}
	if (x->shape.rank < 2 || found != (1u << x->shape.rank) - 2)
		return nn_fail(err, NN_EFORMAT,
			       "the mean over other axes than those of the image is not supported");
	return global(g, node, nn_onnx_int(node->proto, "keepdims", 1), false, err);
}
