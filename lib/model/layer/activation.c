/* The activations: a function of one variable, value by value. */
#include "model/layer.h"

#define NN_ACTIVATION(ID, id, layer, argument, slope_, most, text, from_y, value, derivative, doc) \
	static const struct nn_layer_arg args_##id[] = { \
		{ .name = argument, \
		  .type = NN_ARG_REAL, \
		  .offset = offsetof(struct nn_activation_attrs, slope), \
		  .fallback = #slope_, \
		  .max = most, \
		  .help = text }, \
		{ .name = NULL } \
	}; \
	static int expand_##id(const struct nn_expansion *line, const void *values, \
			       struct nn_error *err) \
	{ \
		struct nn_activation_attrs attrs = *(const struct nn_activation_attrs *)values; \
\
		attrs.kind = NN_ACT_##ID; \
		return nn_expand_op(line, NN_OP_activation, &attrs, err); \
	} \
	const struct nn_layer nn_layer_##id = { \
		.name = layer, \
		.brief = doc, \
		.args = args_##id, \
		.size = sizeof(struct nn_activation_attrs), \
		.min_in = 1, \
		.max_in = 1, \
		.expand = expand_##id, \
	};
#include "op/activations.def"
