/*
 * Ops as nodes of opset 13. A line is one node where ONNX has one; the last of several has the
 * line's name, so that an import finds it again.
 */
#include <math.h>
#include <string.h>

#include "onnx/export.h"

struct op {
	struct nn_onnx_export *e;
	const struct nn_node *node;
	const char *name, *out; /* of the line, and of its value */
	const char *in;         /* first input */
	const void *attrs;
};

#define IN(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct nn_shape *shape_in(const struct op *o)
{
	return &o->e->program->values[o->node->in[0]].shape;
}

/* "3.mean": of a line that is several nodes. */
static const char *part(const struct op *o, const char *what)
{
	return nn_onnx_keep_text(o->e, "%s.%s", o->name, what);
}

/* Parameter k of the op as a constant; its name, NULL where there is none. */
static const char *parameter(const struct op *o, int k)
{
	const struct nn_program_param *p = &o->e->program->params[o->node->param + k];
	const void *const *params = o->e->model->params;

	if (k >= o->node->n_params)
		return NULL;
	nn_onnx_tensor(o->e, p->name, o->e->model->dtype, &p->desc.shape,
		       params ? params[o->node->param + k] : NULL);
	return p->name;
}

/* What one node of one input computes. */
static Onnx__Node *simple(const struct op *o, const char *op)
{
	return nn_onnx_node(o->e, op, o->name, o->out, IN(o->in));
}

static const char *step(const struct op *o, const char *op, const char *what, const char *a,
			const char *b)
{
	const char *out = part(o, what);

	nn_onnx_node(o->e, op, out, out, IN(a, b));
	return out;
}

/* The weight [out,in] as [in,out], for MatMul. */
static const char *turned_weight(const struct op *o)
{
	const struct nn_program_param *p = &o->e->program->params[o->node->param];
	const void *const *params = o->e->model->params;
	struct nn_shape shape = nn_shape2(p->desc.shape.dim[1], p->desc.shape.dim[0]);
	size_t size = nn_dtype_size(o->e->model->dtype);
	char *turned = nn_onnx_keep(o->e, params ? nn_shape_count(&shape) : 0, size);
	const char *from = params ? params[o->node->param] : NULL;

	for (size_t r = 0; from && turned && r < shape.dim[1]; r++)
		for (size_t c = 0; c < shape.dim[0]; c++)
			memcpy(turned + (c * shape.dim[1] + r) * size,
			       from + (r * shape.dim[0] + c) * size, size);
	nn_onnx_tensor(o->e, p->name, o->e->model->dtype, &shape, turned);
	return p->name;
}

static void dense(const struct op *o)
{
	const struct nn_dense *dense = o->attrs;

	if (shape_in(o)->rank == 1) {
		const char *weight = parameter(o, 0);
		Onnx__Node *n = nn_onnx_node(o->e, "Gemm", o->name, o->out,
					     IN(o->in, weight, parameter(o, 1)));

		nn_onnx_put_int(o->e, n, "transB", 1);
		return;
	}
	if (dense->bias) {
		const char *product = part(o, "product");

		nn_onnx_node(o->e, "MatMul", o->name, product, IN(o->in, turned_weight(o)));
		nn_onnx_node(o->e, "Add", part(o, "sum"), o->out, IN(product, parameter(o, 1)));
		return;
	}
	nn_onnx_node(o->e, "MatMul", o->name, o->out, IN(o->in, turned_weight(o)));
}

static void put_pair(const struct op *o, Onnx__Node *n, const char *name, const size_t pair[2],
		     bool both_sides)
{
	int64_t values[4] = { (int64_t)pair[0], (int64_t)pair[1], (int64_t)pair[0],
			      (int64_t)pair[1] };

	nn_onnx_put_ints(o->e, n, name, values, both_sides ? 4 : 2);
}

static void conv2d(const struct op *o)
{
	const struct nn_conv2d *conv = o->attrs;
	const char *weight = parameter(o, 0);
	Onnx__Node *n =
		nn_onnx_node(o->e, "Conv", o->name, o->out, IN(o->in, weight, parameter(o, 1)));

	put_pair(o, n, "dilations", conv->dilation, false);
	nn_onnx_put_int(o->e, n, "group", (int64_t)conv->groups);
	put_pair(o, n, "kernel_shape", conv->kernel, false);
	put_pair(o, n, "pads", conv->pad, true);
	put_pair(o, n, "strides", conv->stride, false);
}

static void pool(const struct op *o, const char *op)
{
	const struct nn_window *window = &((const struct nn_pool2d *)o->attrs)->window;
	Onnx__Node *n = simple(o, op);

	if (strcmp(op, "AveragePool") == 0)
		nn_onnx_put_int(o->e, n, "count_include_pad", 1);
	put_pair(o, n, "kernel_shape", window->kernel, false);
	put_pair(o, n, "pads", window->pad, true);
	put_pair(o, n, "strides", window->stride, false);
}

static void global_avgpool(const struct op *o)
{
	const char *mean = part(o, "mean");
	Onnx__Node *n;

	nn_onnx_node(o->e, "GlobalAveragePool", o->name, mean, IN(o->in));
	n = nn_onnx_node(o->e, "Flatten", part(o, "flatten"), o->out, IN(mean));
	nn_onnx_put_int(o->e, n, "axis", 1);
}

static void batchnorm(const struct op *o)
{
	const struct nn_batchnorm *norm = o->attrs;
	const char *p[4];
	Onnx__Node *n;

	for (int k = 0; k < 4; k++)
		p[k] = parameter(o, k);
	n = nn_onnx_node(o->e, "BatchNormalization", o->name, o->out,
			 IN(o->in, p[0], p[1], p[2], p[3]));
	nn_onnx_put_float(o->e, n, "epsilon", norm->eps);
	nn_onnx_put_float(o->e, n, "momentum", 1 - norm->momentum);
}

static const char *mean_of(const struct op *o, const char *what, const char *in)
{
	const char *out = part(o, what);
	Onnx__Node *n = nn_onnx_node(o->e, "ReduceMean", out, out, IN(in));

	nn_onnx_put_ints(o->e, n, "axes", (const int64_t[]){ -1 }, 1);
	nn_onnx_put_int(o->e, n, "keepdims", 1);
	return out;
}

/* LayerNormalization came with opset 17. */
static void layernorm(const struct op *o)
{
	const char *weight = parameter(o, 0), *bias = parameter(o, 1), *eps = part(o, "eps");
	const char *d = step(o, "Sub", "difference", o->in, mean_of(o, "mean", o->in));
	const char *variance = mean_of(o, "variance", step(o, "Mul", "square", d, d));
	const char *sum, *root, *scaled;

	nn_onnx_number(o->e, eps, ((const struct nn_layernorm *)o->attrs)->eps);
	sum = step(o, "Add", "sum", variance, eps);
	root = step(o, "Sqrt", "root", sum, NULL);
	scaled = step(o, "Mul", "scaled", step(o, "Div", "normal", d, root), weight);
	nn_onnx_node(o->e, "Add", o->name, o->out, IN(scaled, bias));
}

/* Gelu came with opset 20. */
static void gelu(const struct op *o)
{
	const char *root = part(o, "root"), *one = part(o, "one"), *half = part(o, "half"),
		   *product;

	nn_onnx_number(o->e, root, sqrt(2));
	nn_onnx_number(o->e, one, 1);
	nn_onnx_number(o->e, half, 0.5);
	product = step(o, "Erf", "erf", step(o, "Div", "quotient", o->in, root), NULL);
	product = step(o, "Mul", "product", o->in, step(o, "Add", "sum", product, one));
	nn_onnx_node(o->e, "Mul", o->name, o->out, IN(product, half));
}

static void activation(const struct op *o)
{
	static const char *const ops[NN_N_ACTIVATIONS] = {
		[NN_ACT_RELU] = "Relu", [NN_ACT_LEAKY_RELU] = "LeakyRelu",
		[NN_ACT_ELU] = "Elu",   [NN_ACT_SIGMOID] = "Sigmoid",
		[NN_ACT_TANH] = "Tanh", [NN_ACT_SOFTPLUS] = "Softplus",
	};
	const struct nn_activation_attrs *attrs = o->attrs;
	Onnx__Node *n;

	if (attrs->kind == NN_ACT_GELU) {
		gelu(o);
	} else if (attrs->kind == NN_ACT_SILU) {
		const char *gate = part(o, "sigmoid");

		nn_onnx_node(o->e, "Sigmoid", gate, gate, IN(o->in));
		nn_onnx_node(o->e, "Mul", o->name, o->out, IN(o->in, gate));
	} else {
		n = simple(o, ops[attrs->kind]);
		if (attrs->kind == NN_ACT_LEAKY_RELU || attrs->kind == NN_ACT_ELU)
			nn_onnx_put_float(o->e, n, "alpha", attrs->slope);
	}
}

static void dropout(const struct op *o)
{
	const char *ratio = part(o, "ratio");

	nn_onnx_number(o->e, ratio, ((const struct nn_dropout *)o->attrs)->p);
	nn_onnx_node(o->e, "Dropout", o->name, o->out, IN(o->in, ratio));
}

static void softmax(const struct op *o)
{
	Onnx__Node *n =
		simple(o, ((const struct nn_softmax *)o->attrs)->log ? "LogSoftmax" : "Softmax");

	nn_onnx_put_int(o->e, n, "axis", shape_in(o)->rank == 3 ? 1 : -1);
}

/* From left to right, two at a time. */
static void join(const struct op *o, const char *op)
{
	const char *sum = o->in;

	for (int i = 1; i < o->node->n_in; i++) {
		bool last = i == o->node->n_in - 1;
		const char *name = last ? o->name : nn_onnx_keep_text(o->e, "%s.%d", o->name, i);
		const char *out = last ? o->out : name;

		nn_onnx_node(o->e, op, name, out, IN(sum, o->e->names[o->node->in[i]]));
		sum = out;
	}
}

static void concat(const struct op *o)
{
	const char **in = nn_onnx_keep(o->e, (size_t)o->node->n_in + 1, sizeof *in);
	Onnx__Node *n;

	for (int i = 0; in && i < o->node->n_in; i++)
		in[i] = o->e->names[o->node->in[i]];
	n = nn_onnx_node(o->e, "Concat", o->name, o->out, in);
	nn_onnx_put_int(o->e, n, "axis", ((const struct nn_concat *)o->attrs)->dim + 1);
}

/* 0: as many rows as there are. */
static void reshape(const struct op *o)
{
	const struct nn_shape *shape = &((const struct nn_reshape *)o->attrs)->shape;
	struct nn_shape length = nn_shape1((size_t)shape->rank + 1);
	const char *sizes;
	int64_t *dims;

	if (shape->rank == 1) {
		nn_onnx_put_int(o->e, simple(o, "Flatten"), "axis", 1);
		return;
	}
	dims = nn_onnx_keep(o->e, length.dim[0], sizeof *dims);
	sizes = part(o, "shape");
	for (int i = 0; dims && i < shape->rank; i++)
		dims[i + 1] = (int64_t)shape->dim[i];
	nn_onnx_tensor(o->e, sizes, NN_I64, &length, dims);
	nn_onnx_node(o->e, "Reshape", o->name, o->out, IN(o->in, sizes));
}

static void maxpool2d(const struct op *o)
{
	pool(o, "MaxPool");
}

static void avgpool2d(const struct op *o)
{
	pool(o, "AveragePool");
}

static void add(const struct op *o)
{
	join(o, "Add");
}

static void mul(const struct op *o)
{
	join(o, "Mul");
}

/* An op that is not among them cannot be written. */
static void (*const exports[NN_N_OPS])(const struct op *o) = {
	[NN_OP_dense] = dense,
	[NN_OP_conv2d] = conv2d,
	[NN_OP_maxpool2d] = maxpool2d,
	[NN_OP_avgpool2d] = avgpool2d,
	[NN_OP_global_avgpool] = global_avgpool,
	[NN_OP_batchnorm] = batchnorm,
	[NN_OP_layernorm] = layernorm,
	[NN_OP_activation] = activation,
	[NN_OP_dropout] = dropout,
	[NN_OP_softmax] = softmax,
	[NN_OP_add] = add,
	[NN_OP_mul] = mul,
	[NN_OP_concat] = concat,
	[NN_OP_reshape] = reshape,
};

int nn_onnx_export_op(struct nn_onnx_export *e, const struct nn_node *node, const char *name,
		      struct nn_error *err)
{
	struct op o = { e, node, name, e->names[node->out], e->names[node->in[0]], node->attrs };

	if (!exports[node->op])
		return nn_fail(err, NN_EFAIL, "layer %s (%s) cannot be written as ONNX", name,
			       nn_ops[node->op]->name);
	exports[node->op](&o);
	return 0;
}
