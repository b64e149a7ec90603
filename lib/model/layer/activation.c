/* The activations: a function of one variable, value by value. */
#include "model/layer.h"

static const struct nn_layer_arg leaky_args[] = { { .name = "SLOPE",
						    .type = NN_ARG_REAL,
						    .offset = offsetof(struct nn_activation_attrs,
								       slope),
						    .fallback = "0.01",
						    .max = 1,
						    .help = "Slope below 0." },
						  { .name = NULL } };

static const struct nn_layer_arg elu_args[] = { { .name = "ALPHA",
						  .type = NN_ARG_REAL,
						  .offset = offsetof(struct nn_activation_attrs,
								     slope),
						  .fallback = "1",
						  .max = 1e6,
						  .help = "The value is above -ALPHA." },
						{ .name = NULL } };

#define ACTIVATION(id, layer, activation, arguments, doc) \
	static int expand_##id(const struct nn_expansion *line, const void *values, \
			       struct nn_error *err) \
	{ \
		struct nn_activation_attrs attrs = *(const struct nn_activation_attrs *)values; \
\
		attrs.kind = activation; \
		return nn_expand_op(line, NN_OP_activation, &attrs, err); \
	} \
	const struct nn_layer nn_layer_##id = { \
		.name = layer, \
		.brief = doc, \
		.args = arguments, \
		.size = sizeof(struct nn_activation_attrs), \
		.min_in = 1, \
		.max_in = 1, \
		.expand = expand_##id, \
	};

ACTIVATION(relu, "relu", NN_ACT_RELU, NULL, "max(x, 0) (torch.nn.ReLU).")
ACTIVATION(leaky_relu, "leaky-relu", NN_ACT_LEAKY_RELU, leaky_args,
	   "x above 0, SLOPE*x below (torch.nn.LeakyReLU).")
ACTIVATION(elu, "elu", NN_ACT_ELU, elu_args, "x above 0, ALPHA*(exp(x)-1) below (torch.nn.ELU).")
ACTIVATION(gelu, "gelu", NN_ACT_GELU, NULL,
	   "x*(1+erf(x/sqrt(2)))/2, the exact one (torch.nn.GELU).")
ACTIVATION(silu, "silu", NN_ACT_SILU, NULL, "x/(1+exp(-x)) (torch.nn.SiLU).")
ACTIVATION(sigmoid, "sigmoid", NN_ACT_SIGMOID, NULL, "1/(1+exp(-x)) (torch.nn.Sigmoid).")
ACTIVATION(tanh, "tanh", NN_ACT_TANH, NULL, "The hyperbolic tangent (torch.nn.Tanh).")
ACTIVATION(softplus, "softplus", NN_ACT_SOFTPLUS, NULL, "log(1+exp(x)) (torch.nn.Softplus).")
