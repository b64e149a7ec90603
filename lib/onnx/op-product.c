/* Products: Gemm and MatMul become dense, Conv conv2d or conv1d. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "onnx/ops.h"

/* Values times a factor, f32 or f64. */
static int scaled(struct nn_onnx_graph *g, const struct nn_onnx_constant **c, double factor,
		  struct nn_error *err)
{
	struct nn_onnx_constant *made;

	if (factor == 1)
		return 0;
	made = nn_onnx_constant_new(g, err);
	if (!made || nn_onnx_constant_room(made, (*c)->dtype == NN_F64 ? NN_F64 : NN_F32,
					   &(*c)->shape, err) < 0)
		return -1;
	for (size_t i = 0; i < made->count; i++) {
		double v = factor * nn_onnx_real(*c, i);

		if (made->dtype == NN_F64)
			((double *)made->owned.data)[i] = v;
		else
			((float *)made->owned.data)[i] = (float)v;
	}
	*c = made;
	return 0;
}

/* Of one value or `n`, with 1 as all other dimensions, a vector of n. */
static int as_vector(struct nn_onnx_graph *g, const struct nn_onnx_constant **c, size_t n,
		     struct nn_error *err)
{
	size_t size = nn_dtype_size((*c)->dtype);
	struct nn_shape shape = nn_shape1(n);
	char text[NN_SHAPE_TEXT];
	struct nn_onnx_constant *made;

	if (!nn_dtype_float((*c)->dtype) ||
	    ((*c)->count != 1 && ((*c)->count != n || (*c)->shape.dim[(*c)->shape.rank - 1] != n)))
		return nn_fail(
			err, NN_EFORMAT, "a bias of %s (%s) for %zu output%s is not supported",
			nn_shape_text(text, &(*c)->shape), nn_dtype_name((*c)->dtype), n, nn_s(n));
	if ((*c)->count == n)
		return 0;
	made = nn_onnx_constant_new(g, err);
	if (!made || nn_onnx_constant_room(made, (*c)->dtype, &shape, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		memcpy(nn_block_at(&made->owned, i * size), nn_onnx_data(*c), size);
	*c = made;
	return 0;
}

struct weights {
	const char *name;                             /* of the tensor in the graph */
	const struct nn_onnx_constant *weight, *bias; /* bias NULL: none */
};

static int is_matrix(const struct nn_onnx_constant *c, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];

	if (c->shape.rank == 2 && nn_dtype_float(c->dtype) && c->count > 0)
		return 0;
	return nn_fail(err, NN_EFORMAT, "weights of %s (%s), expected a matrix of numbers",
		       nn_shape_text(text, &c->shape), nn_dtype_name(c->dtype));
}

/* weight [out,in] */
static int add_dense(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		     struct nn_onnx_value *x, const struct weights *w, struct nn_error *err)
{
	size_t out = w->weight->shape.dim[0], in = w->weight->shape.dim[1];
	struct nn_shape shape = x->shape, vector = nn_shape1(out);
	char text[NN_SHAPE_TEXT];
	int from, line;

	if (shape.rank == 0 || shape.dim[shape.rank - 1] != in)
		return nn_fail(err, NN_EFORMAT, "weights of %zu input%s for rows of %s", in,
			       nn_s(in), nn_shape_text(text, &shape));
	shape.dim[shape.rank - 1] = out;
	from = nn_onnx_line_of(g, x, err);
	if (from < 0)
		return -1;
	line = nn_onnx_add_line(g, &from, 1, w->name, node->proto, err, "dense %zu", out);
	if (line < 0 ||
	    nn_onnx_add_parameter(g, line, "weight", w->weight, &w->weight->shape, err) < 0)
		return -1;
	g->lines[line].out = out;
	g->lines[line].bare = w->bias ? 0 : 1;
	if (w->bias && nn_onnx_add_parameter(g, line, "bias", w->bias, &vector, err) < 0)
		return -1;
	nn_onnx_give(g, node, line, &shape);
	return 0;
}

static int turned(struct nn_onnx_graph *g, const struct nn_onnx_constant **c, struct nn_error *err)
{
	struct nn_onnx_constant *made = nn_onnx_constant_new(g, err);

	if (!made || nn_onnx_transpose(made, *c, err) < 0)
		return -1;
	*c = made;
	return 0;
}

int nn_onnx_gemm(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	double alpha = nn_onnx_float(node->proto, "alpha", 1),
	       beta = nn_onnx_float(node->proto, "beta", 1);
	struct nn_onnx_value *x;
	struct weights w = { 0 };

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    nn_onnx_in_constant(g, node, 1, &w.weight, err) < 0 || is_matrix(w.weight, err) < 0)
		return -1;
	w.name = node->proto->input[1];
	if (nn_onnx_int(node->proto, "transA", 0))
		return nn_fail(err, NN_EFORMAT, "transA is not supported");
	if (x->shape.rank != 1)
		return nn_fail(err, NN_EFORMAT, "takes rows of one dimension");
	if (!nn_onnx_int(node->proto, "transB", 0) && turned(g, &w.weight, err) < 0)
		return -1;
	if (scaled(g, &w.weight, alpha, err) < 0)
		return -1;
	if (nn_onnx_in(g, node, 2) && beta != 0 &&
	    (nn_onnx_in_constant(g, node, 2, &w.bias, err) < 0 ||
	     as_vector(g, &w.bias, w.weight->shape.dim[0], err) < 0 ||
	     scaled(g, &w.bias, beta, err) < 0))
		return -1;
	return add_dense(g, node, x, &w, err);
}

int nn_onnx_matmul(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	struct nn_onnx_value *x;
	struct weights w = { 0 };

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    nn_onnx_in_constant(g, node, 1, &w.weight, err) < 0 || is_matrix(w.weight, err) < 0 ||
	    turned(g, &w.weight, err) < 0)
		return -1;
	w.name = node->proto->input[1];
	return add_dense(g, node, x, &w, err);
}

/* ---- convolution ---- */

/* Rows of zeros at a kernel's begin and end that stand for pads which differ. */
struct extension {
	size_t before[2], after[2], pad[2];
};

/*
 * The language pads both sides alike: with the larger pad, and a kernel that has zeros where the
 * smaller one would have ended. At the end none are needed where the last step stays the same.
 */
static int extend(const struct nn_onnx_window *w, int d, struct extension *e, struct nn_error *err)
{
	size_t before = w->before[d], after = w->after[d];
	size_t more = before > after ? before - after : after - before;
	size_t span = w->dilation[d] * (w->kernel[d] - 1) + 1;

	e->pad[d] = before > after ? before : after;
	e->before[d] = e->after[d] = 0;
	if (more == 0 ||
	    (before > after && (w->in[d] + 2 * before - span) / w->stride[d] + 1 == w->out[d]))
		return 0;
	if (more % w->dilation[d] != 0)
		return nn_fail(err, NN_EFORMAT,
			       "pads %zu and %zu differ by no multiple of the dilation %zu", before,
			       after, w->dilation[d]);
	*(before > after ? &e->after[d] : &e->before[d]) = more / w->dilation[d];
	return 0;
}

/* The weight in shape [out,in,kh,kw], with the zeros of e around each kernel. */
static int pad_kernel(struct nn_onnx_graph *g, const struct nn_onnx_constant **c,
		      struct nn_shape *shape, const struct extension *e, struct nn_error *err)
{
	struct nn_onnx_constant *made = nn_onnx_constant_new(g, err);
	struct nn_shape from = *shape;
	size_t size = nn_dtype_size((*c)->dtype), run = from.dim[3] * size;

	for (int d = 0; d < 2; d++)
		shape->dim[2 + d] += e->before[d] + e->after[d];
	if (nn_shape_equal(shape, &from))
		return 0;
	if (!made || nn_onnx_constant_room(made, (*c)->dtype, shape, err) < 0)
		return -1;
	for (size_t i = 0; i < from.dim[0] * from.dim[1]; i++)
		for (size_t y = 0; y < from.dim[2]; y++) {
			size_t row = i * shape->dim[2] + e->before[0] + y;

			memcpy(nn_block_at(&made->owned,
					   (row * shape->dim[3] + e->before[1]) * size),
			       (const char *)nn_onnx_data(*c) + (i * from.dim[2] + y) * run, run);
		}
	*c = made;
	return 0;
}

/* Weights [out,in/groups,kh,kw], or [out,in/groups,k] of one dimension as [out,in/groups,1,k]. */
static int conv_shape(const struct nn_onnx_constant *c, const struct nn_shape *image,
		      struct nn_shape *shape, struct nn_error *err)
{
	char a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT];

	if (c->shape.rank != image->rank + 1 || c->shape.rank < 3 || c->shape.rank > 4 ||
	    !nn_dtype_float(c->dtype) || c->count == 0)
		return nn_fail(err, NN_EFORMAT, "weights of %s for rows of %s are not supported",
			       nn_shape_text(a, &c->shape), nn_shape_text(b, image));
	*shape = c->shape;
	if (shape->rank == 3)
		*shape = nn_shape4(shape->dim[0], shape->dim[1], 1, shape->dim[2]);
	return 0;
}

struct conv {
	struct nn_onnx_window window;
	struct extension extension;
	struct nn_shape weight; /* as the layer has it */
	size_t groups;
};

static int read_conv(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		     struct nn_onnx_value *x, const struct nn_onnx_constant **weight,
		     struct conv *c, struct nn_error *err)
{
	int64_t groups = nn_onnx_int(node->proto, "group", 1);
	struct nn_shape image;

	if (conv_shape(*weight, &x->shape, &c->weight, err) < 0 ||
	    nn_onnx_window(node, x, c->weight.dim + 2, false, &c->window, err) < 0)
		return -1;
	image = nn_onnx_image_shape(&x->shape);
	if (groups < 1 || image.dim[0] % (size_t)groups || c->weight.dim[0] % (size_t)groups ||
	    c->weight.dim[1] != image.dim[0] / (size_t)groups)
		return nn_fail(
			err, NN_EFORMAT, "weights of %zu channel%s for rows of %zu in %lld groups",
			c->weight.dim[1], nn_s(c->weight.dim[1]), image.dim[0], (long long)groups);
	c->groups = (size_t)groups;
	return extend(&c->window, 0, &c->extension, err) < 0 ||
			       extend(&c->window, 1, &c->extension, err) < 0
		       ? -1
		       : pad_kernel(g, weight, &c->weight, &c->extension, err);
}

/* " NAME=AxB", or of C,L the second number alone. */
static void add_sizes(struct nn_text *text, const char *name, const size_t pair[2], size_t usual,
		      bool line)
{
	size_t both[2] = { pair[line], pair[1] };

	nn_onnx_add_pair(text, name, both, usual);
}

static int add_conv(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		    struct nn_onnx_value *x, const struct weights *w, const struct conv *c,
		    struct nn_error *err)
{
	const size_t *d = c->weight.dim;
	bool flat = x->shape.rank == 2;
	struct nn_shape result = flat ? nn_shape2(d[0], c->window.out[1])
				      : nn_shape3(d[0], c->window.out[0], c->window.out[1]),
			weight = flat ? nn_shape3(d[0], d[1], d[3]) : c->weight,
			vector = nn_shape1(d[0]);
	struct nn_text text = { 0 };
	int from = nn_onnx_line_of(g, x, err), line;

	if (flat)
		nn_text_addf(&text, "conv1d %zu %zu", d[0], d[3]);
	else
		nn_text_addf(&text, "conv2d %zu %zux%zu", d[0], d[2], d[3]);
	add_sizes(&text, "stride", c->window.stride, 1, flat);
	add_sizes(&text, "pad", c->extension.pad, 0, flat);
	add_sizes(&text, "dilation", c->window.dilation, 1, flat);
	if (c->groups > 1)
		nn_text_addf(&text, " groups=%zu", c->groups);
	line = from < 0 || text.failed
		       ? -1
		       : nn_onnx_add_line(g, &from, 1, w->name, node->proto, err, "%s", text.data);
	nn_text_free(&text);
	if (line < 0 || nn_onnx_add_parameter(g, line, "weight", w->weight, &weight, err) < 0 ||
	    (w->bias && nn_onnx_add_parameter(g, line, "bias", w->bias, &vector, err) < 0))
		return -1;
	g->lines[line].out = d[0];
	g->lines[line].bare = w->bias ? 0 : flat ? 2 : 3;
	nn_onnx_give(g, node, line, &result);
	return 0;
}

int nn_onnx_conv(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	struct nn_onnx_value *x;
	struct weights w = { 0 };
	struct conv conv;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 ||
	    nn_onnx_in_constant(g, node, 1, &w.weight, err) < 0)
		return -1;
	w.name = node->proto->input[1];
	if (read_conv(g, node, x, &w.weight, &conv, err) < 0)
		return -1;
	if (nn_onnx_in(g, node, 2) && (nn_onnx_in_constant(g, node, 2, &w.bias, err) < 0 ||
				       as_vector(g, &w.bias, conv.weight.dim[0], err) < 0))
		return -1;
	return add_conv(g, node, x, &w, &conv, err);
}
