/* Element by element functions of one input, and softmax: activation, dropout, softmax. */
#include <string.h>

#include "op/common.h"
#include "op/notation.h"

const char *nn_activation_name(enum nn_activation kind)
{
	static const char *const names[] = {
		"identity",
#define NN_ACTIVATION(ID, id, name, ...) name,
#include "op/activations.def"
	};

	return names[kind];
}

double nn_activation_slope(enum nn_activation kind)
{
	static const double slopes[] = {
		0,
#define NN_ACTIVATION(ID, id, name, argument, slope, ...) slope,
#include "op/activations.def"
	};

	return slopes[kind];
}

bool nn_activation_from_y(enum nn_activation kind, double slope)
{
	switch (kind) {
#define NN_ACTIVATION(ID, id, name, argument, usual, most, help, from_y, ...) \
	case NN_ACT_##ID: \
		return from_y;
#include "op/activations.def"
	default:
		return true;
	}
}

static int same_infer(const void *attrs, const struct nn_shape *in, int n_in, struct nn_shape *out,
		      struct nn_error *err)
{
	(void)attrs;
	if (nn_op_one_input(n_in, err))
		return -1;
	*out = in[0];
	return 0;
}

static unsigned activation_needs(const void *attrs)
{
	const struct nn_activation_attrs *activation = attrs;

	return nn_activation_from_y(activation->kind, activation->slope) ? NN_OP_NEEDS_Y
									 : NN_OP_NEEDS_X;
}

static void activation_read(struct nn_op_reader *r, struct nn_shape *in, void *attrs)
{
	struct nn_activation_attrs *a = attrs;

	(void)in;
	a->kind = NN_ACT_NONE + 1;
	while (a->kind < NN_N_ACTIVATIONS && strcmp(r->at, nn_activation_name(a->kind)) != 0)
		a->kind++;
	r->wrong |= a->kind == NN_N_ACTIVATIONS;
	if (r->wrong)
		return;
	a->slope = nn_activation_slope(a->kind);
	r->at += strlen(r->at);
}

static void activation_write(const void *attrs, struct nn_text *text)
{
	nn_text_addf(text, ",%s",
		     nn_activation_name(((const struct nn_activation_attrs *)attrs)->kind));
}

const struct nn_op nn_op_activation = {
	.name = "activation",
	.attrs_size = sizeof(struct nn_activation_attrs),
	.layout = NN_LAYOUT_ANY,
	.role = NN_ROLE_ACTIVATION,
	.flags = NN_OP_NEEDS_X | NN_OP_NEEDS_Y | NN_OP_Y_ON_X | NN_OP_DX_ON_DY,
	.step = nn_op_each_step,
	.lengths = nn_op_each_length,
	.infer = same_infer,
	.needs = activation_needs,
	.form = "ROWSxN,NAME, NAME being an activation",
	.read = activation_read,
	.write = activation_write,
};

static bool dropout_view(const void *attrs, bool training)
{
	return !training || ((const struct nn_dropout *)attrs)->p == 0;
}

/* Elements are numbered in the order they are held; backward draws the same numbers again. */
const struct nn_op nn_op_dropout = {
	.name = "dropout",
	.attrs_size = sizeof(struct nn_dropout),
	.layout = NN_LAYOUT_ANY,
	.flags = NN_OP_TRAIN_ONLY | NN_OP_Y_ON_X | NN_OP_DX_ON_DY,
	.step = nn_op_each_step,
	.lengths = nn_op_each_length,
	.infer = same_infer,
	.view = dropout_view,
};

static int softmax_infer(const void *attrs, const struct nn_shape *in, int n_in,
			 struct nn_shape *out, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];

	(void)attrs;
	if (nn_op_one_input(n_in, err))
		return -1;
	if (in->rank < 1 || nn_shape_count(in) == 0)
		return nn_fail(err, NN_EFAIL, "wants an input with at least one class, got %s",
			       nn_shape_text(text, in));
	*out = in[0];
	return 0;
}

/* Largest value, subtract, exp, sum, divide. */
static uint64_t softmax_flops(const void *attrs, const struct nn_shape *in, int n_in,
			      const struct nn_shape *out)
{
	(void)attrs;
	(void)in;
	(void)n_in;
	return nn_op_count(5, nn_shape_count(out), 1);
}

const struct nn_op nn_op_softmax = {
	.name = "softmax",
	.attrs_size = sizeof(struct nn_softmax),
	.layout = NN_LAYOUT_IMAGE,
	.flags = NN_OP_NEEDS_Y,
	.step = nn_op_each_step,
	.lengths = nn_op_inner_lengths,
	.infer = softmax_infer,
	.flops = softmax_flops,
};
