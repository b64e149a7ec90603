/* Activations, and what passes values on. */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "onnx/ops.h"

static const struct {
	const char *op, *layer;
	double alpha; /* the default, 0: has none */
} activations[] = {
	{ "Relu", "relu", 0 },         { "LeakyRelu", "leaky-relu", 0.01 }, { "Elu", "elu", 1 },
	{ "Gelu", "gelu", 0 },         { "Sigmoid", "sigmoid", 0 },         { "Tanh", "tanh", 0 },
	{ "Softplus", "softplus", 0 },
};

int nn_onnx_activation(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		       struct nn_error *err)
{
	struct nn_text text = { 0 };
	struct nn_onnx_value *x;
	char number[NN_NUMBER];
	size_t i = 0;
	int status;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0)
		return -1;
	if (nn_onnx_string_is(node->proto, "approximate", "tanh", false))
		return nn_fail(err, NN_EFORMAT, "approximate=tanh is not supported");
	while (strcmp(activations[i].op, node->proto->op_type) != 0)
		i++;
	nn_text_add(&text, activations[i].layer);
	if (activations[i].alpha != 0) {
		nn_format_f32(number,
			      (float)nn_onnx_float(node->proto, "alpha", activations[i].alpha));
		nn_text_addf(&text, " %s", number);
	}
	status = text.failed ? nn_fail(err, NN_ENOMEM, "cannot allocate a line")
			     : nn_onnx_layer(g, node, x, &x->shape, err, text.data);
	nn_text_free(&text);
	return status;
}

/* A bound of Clip: an attribute, from opset 11 on an input. */
static int bound(const struct nn_onnx_graph *g, const struct nn_onnx_node *node, size_t i,
		 const char *name, double *value, struct nn_error *err)
{
	const struct nn_onnx_constant *c;

	*value = nn_onnx_float(node->proto, name, *value);
	if (!nn_onnx_in(g, node, i))
		return 0;
	if (nn_onnx_in_constant(g, node, i, &c, err) < 0)
		return -1;
	if (c->count != 1)
		return nn_fail(err, NN_EFORMAT, "a bound of %zu values", c->count);
	*value = nn_onnx_real(c, 0);
	return 0;
}

int nn_onnx_clip(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	double least = -INFINITY, most = INFINITY, largest = 3.4e38;
	struct nn_onnx_value *x;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0 || bound(g, node, 1, "min", &least, err) < 0 ||
	    bound(g, node, 2, "max", &most, err) < 0)
		return -1;
	if (most < largest || (least > -largest && least != 0))
		return nn_fail(err, NN_EFORMAT, "bounds of %g and %g are not supported", least,
			       most);
	return least == 0 ? nn_onnx_layer(g, node, x, &x->shape, err, "relu")
			  : nn_onnx_pass(g, node, x, &x->shape, err);
}

/* The probability is an attribute, from opset 12 on an input. */
int nn_onnx_dropout(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	double ratio = nn_onnx_float(node->proto, "ratio", 0.5);
	const struct nn_onnx_constant *c, *training = NULL;
	struct nn_text text = { 0 };
	struct nn_onnx_value *x;
	char number[NN_NUMBER];
	int status;

	if (nn_onnx_in_rows(g, node, 0, &x, err) < 0)
		return -1;
	if (nn_onnx_in(g, node, 1)) {
		if (nn_onnx_in_constant(g, node, 1, &c, err) < 0)
			return -1;
		ratio = c->count == 1 ? nn_onnx_real(c, 0) : -1;
	}
	if (nn_onnx_in(g, node, 2) && nn_onnx_in_constant(g, node, 2, &training, err) < 0)
		return -1;
	if ((training && training->count > 0 && nn_onnx_real(training, 0) != 0) ||
	    (node->proto->n_output > 1 && node->out[1] >= 0 && g->values[node->out[1]].uses > 0))
		return nn_fail(err, NN_EFORMAT, "training_mode and the mask are not supported");
	if (!(ratio >= 0) || ratio >= 1)
		return nn_fail(err, NN_EFORMAT, "a ratio of %g is not supported", ratio);
	nn_format_f32(number, (float)ratio);
	nn_text_addf(&text, "dropout %s", number);
	status = text.failed ? nn_fail(err, NN_ENOMEM, "cannot allocate a line")
			     : nn_onnx_layer(g, node, x, &x->shape, err, text.data);
	nn_text_free(&text);
	return status;
}

int nn_onnx_identity(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	struct nn_onnx_value *x;

	return nn_onnx_in_rows(g, node, 0, &x, err) < 0 ? -1
							: nn_onnx_pass(g, node, x, &x->shape, err);
}

/* Between types of numbers with a point it changes nothing that is computed here. */
int nn_onnx_cast(struct nn_onnx_graph *g, const struct nn_onnx_node *node, struct nn_error *err)
{
	int dtype = nn_onnx_dtype(nn_onnx_int(node->proto, "to", 0));

	if (dtype != NN_F32 && dtype != NN_F64)
		return nn_fail(err, NN_EFORMAT, "to %s is not supported, only to f32 and f64",
			       dtype < 0 ? "another type" : nn_dtype_name((enum nn_dtype)dtype));
	return nn_onnx_identity(g, node, err);
}
