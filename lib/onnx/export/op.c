/*
 * Ops as nodes of opset 13. A line is one node where ONNX has one; the last of several has the
 * line's name, so that an import finds it again.
 */
#include <math.h>
#include <string.h>

#include "onnx/export/op.h"

/* The weight [out,in] as [in,out], for MatMul. */
static const char *turned_weight(const struct nn_onnx_op *o)
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

static void dense(const struct nn_onnx_op *o)
{
	const struct nn_dense *dense = o->attrs;

	if (nn_onnx_shape_in(o)->rank == 1) {
		const char *weight = nn_onnx_parameter(o, 0);
		Onnx__Node *n = nn_onnx_node(o->e, "Gemm", o->name, o->out,
					     IN(o->in, weight, nn_onnx_parameter(o, 1)));

		nn_onnx_put_int(o->e, n, "transB", 1);
		return;
	}
	if (dense->bias) {
		const char *product = nn_onnx_part(o, "product");

		nn_onnx_node(o->e, "MatMul", o->name, product, IN(o->in, turned_weight(o)));
		nn_onnx_node(o->e, "Add", nn_onnx_part(o, "sum"), o->out,
			     IN(product, nn_onnx_parameter(o, 1)));
		return;
	}
	nn_onnx_node(o->e, "MatMul", o->name, o->out, IN(o->in, turned_weight(o)));
}

static const char *mean_of(const struct nn_onnx_op *o, const char *what, const char *in)
{
	const char *out = nn_onnx_part(o, what);
	Onnx__Node *n = nn_onnx_node(o->e, "ReduceMean", out, out, IN(in));

	nn_onnx_put_ints(o->e, n, "axes", (const int64_t[]){ -1 }, 1);
	nn_onnx_put_int(o->e, n, "keepdims", 1);
	return out;
}

/* LayerNormalization came with opset 17. */
static void layernorm(const struct nn_onnx_op *o)
{
	const char *weight = nn_onnx_parameter(o, 0), *bias = nn_onnx_parameter(o, 1),
		   *eps = nn_onnx_part(o, "eps");
	const char *d = nn_onnx_step(o, "Sub", "difference", o->in, mean_of(o, "mean", o->in));
	const char *variance = mean_of(o, "variance", nn_onnx_step(o, "Mul", "square", d, d));
	const char *sum, *root, *scaled;

	nn_onnx_number(o->e, eps, ((const struct nn_layernorm *)o->attrs)->eps);
	sum = nn_onnx_step(o, "Add", "sum", variance, eps);
	root = nn_onnx_step(o, "Sqrt", "root", sum, NULL);
	scaled =
		nn_onnx_step(o, "Mul", "scaled", nn_onnx_step(o, "Div", "normal", d, root), weight);
	nn_onnx_node(o->e, "Add", o->name, o->out, IN(scaled, bias));
}

/* Gelu came with opset 20. */
static void gelu(const struct nn_onnx_op *o)
{
	const char *root = nn_onnx_part(o, "root"), *one = nn_onnx_part(o, "one"),
		   *half = nn_onnx_part(o, "half"), *product;

	nn_onnx_number(o->e, root, sqrt(2));
	nn_onnx_number(o->e, one, 1);
	nn_onnx_number(o->e, half, 0.5);
	product = nn_onnx_step(o, "Erf", "erf", nn_onnx_step(o, "Div", "quotient", o->in, root),
			       NULL);
	product = nn_onnx_step(o, "Mul", "product", o->in,
			       nn_onnx_step(o, "Add", "sum", product, one));
	nn_onnx_node(o->e, "Mul", o->name, o->out, IN(product, half));
}

static void activation(const struct nn_onnx_op *o)
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
		const char *gate = nn_onnx_part(o, "sigmoid");

		nn_onnx_node(o->e, "Sigmoid", gate, gate, IN(o->in));
		nn_onnx_node(o->e, "Mul", o->name, o->out, IN(o->in, gate));
	} else {
		n = nn_onnx_simple(o, ops[attrs->kind]);
		if (attrs->kind == NN_ACT_LEAKY_RELU || attrs->kind == NN_ACT_ELU)
			nn_onnx_put_float(o->e, n, "alpha", attrs->slope);
	}
}

static void dropout(const struct nn_onnx_op *o)
{
	const char *ratio = nn_onnx_part(o, "ratio");

	nn_onnx_number(o->e, ratio, ((const struct nn_dropout *)o->attrs)->p);
	nn_onnx_node(o->e, "Dropout", o->name, o->out, IN(o->in, ratio));
}

static void softmax(const struct nn_onnx_op *o)
{
	Onnx__Node *n = nn_onnx_simple(o, ((const struct nn_softmax *)o->attrs)->log ? "LogSoftmax"
										     : "Softmax");

	nn_onnx_put_int(o->e, n, "axis", nn_onnx_shape_in(o)->rank == 3 ? 1 : -1);
}

/* From left to right, two at a time. */
static void join(const struct nn_onnx_op *o, const char *op)
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

static void add(const struct nn_onnx_op *o)
{
	join(o, "Add");
}

static void mul(const struct nn_onnx_op *o)
{
	join(o, "Mul");
}

/* An op that is not among them cannot be written. */
static void (*const exports[NN_N_OPS])(const struct nn_onnx_op *o) = {
	[NN_OP_dense] = dense,
	[NN_OP_conv2d] = nn_onnx_put_conv2d,
	[NN_OP_conv_transpose2d] = nn_onnx_put_conv_transpose2d,
	[NN_OP_maxpool2d] = nn_onnx_put_maxpool2d,
	[NN_OP_avgpool2d] = nn_onnx_put_avgpool2d,
	[NN_OP_global_avgpool] = nn_onnx_put_global_avgpool,
	[NN_OP_batchnorm] = nn_onnx_put_batchnorm,
	[NN_OP_upsample] = nn_onnx_put_upsample,
	[NN_OP_layernorm] = layernorm,
	[NN_OP_activation] = activation,
	[NN_OP_dropout] = dropout,
	[NN_OP_softmax] = softmax,
	[NN_OP_add] = add,
	[NN_OP_mul] = mul,
	[NN_OP_embedding] = nn_onnx_put_embedding,
	[NN_OP_concat] = nn_onnx_put_concat,
	[NN_OP_reshape] = nn_onnx_put_reshape,
	[NN_OP_slice] = nn_onnx_put_slice,
	[NN_OP_transpose] = nn_onnx_put_transpose,
	[NN_OP_recurrent] = nn_onnx_put_recurrent,
	[NN_OP_last] = nn_onnx_put_last,
};

int nn_onnx_export_op(struct nn_onnx_export *e, const struct nn_node *node, const char *name,
		      struct nn_error *err)
{
	const struct nn_node *last = e->program->nodes + e->program->n_nodes - 1;
	struct nn_onnx_op o = { e,           node, name, e->names[node->out], e->names[node->in[0]],
				node->attrs, false };

	if (!exports[node->op])
		return nn_fail(err, NN_EFAIL, "layer %s (%s) cannot be written as ONNX", name,
			       nn_ops[node->op]->name);
	if (nn_onnx_is_part_of_recurrent(e, node))
		return 0;
	if (node->op == NN_OP_reshape &&
	    ((node > e->program->nodes && node[-1].line == node->line) ||
	     (node < last && node[1].line == node->line)))
		return 0; /* of a layer over C,L, which is one node here */
	o.line = node > e->program->nodes && node[-1].line == node->line;
	if (o.line) {
		o.in = e->names[node[-1].in[0]];
		if (node < last && node[1].line == node->line)
			o.out = e->names[node[1].out];
	}
	exports[node->op](&o);
	return 0;
}
