/*
 * The same values under another shape, with two dimensions exchanged, and the change between
 * language order and channels last that layout inserts.
 */
#include "base/text.h"
#include "op/common.h"
#include "op/notation.h"

static int reshape_infer(const void *attrs, const struct nn_shape *in, int n_in,
			 struct nn_shape *out, struct nn_error *err)
{
	const struct nn_reshape *reshape = attrs;
	char a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT];
	size_t bytes;

	if (nn_op_one_input(n_in, err))
		return -1;
	if (!nn_shape_check(&reshape->shape, sizeof(double), &bytes) ||
	    nn_shape_count(&reshape->shape) != nn_shape_count(in))
		return nn_fail(err, NN_EFAIL,
			       "cannot give %s the shape %s: the number of values differs",
			       nn_shape_text(a, in), nn_shape_text(b, &reshape->shape));
	*out = reshape->shape;
	return 0;
}

static bool reshape_view(const void *attrs, bool training)
{
	(void)attrs;
	(void)training;
	return true;
}

/* To a vector: where nothing is said of the shape. */
static void reshape_read(struct nn_op_reader *r, struct nn_shape *in, void *attrs)
{
	(void)r;
	((struct nn_reshape *)attrs)->shape = nn_shape1(nn_shape_count(in));
}

/* Steps remain what they are where the first dimension does. */
static enum nn_lengths reshape_lengths(const void *attrs, const struct nn_shape *in)
{
	const struct nn_reshape *reshape = attrs;

	return reshape->shape.rank > 0 && reshape->shape.dim[0] == in->dim[0] ? NN_LENGTHS_KEPT
									      : NN_LENGTHS_REFUSED;
}

const struct nn_op nn_op_reshape = {
	.name = "reshape",
	.attrs_size = sizeof(struct nn_reshape),
	.layout = NN_LAYOUT_VIEW,
	.role = NN_ROLE_RESHAPE,
	.lengths = reshape_lengths,
	.infer = reshape_infer,
	.view = reshape_view,
	.flops = nn_op_no_flops,
	.read = reshape_read,
};

/* Shapes are in language order, so only the order in memory changes. */
static int permute_infer(const void *attrs, const struct nn_shape *in, int n_in,
			 struct nn_shape *out, struct nn_error *err)
{
	const struct nn_permute *permute = attrs;
	char text[NN_SHAPE_TEXT];
	size_t count;

	if (nn_op_one_input(n_in, err))
		return -1;
	if (!nn_mul(permute->channels, permute->positions, &count) || count != nn_shape_count(in))
		return nn_fail(err, NN_EFAIL, "%zu channel%s of %zu position%s are not %s",
			       permute->channels, nn_s(permute->channels), permute->positions,
			       nn_s(permute->positions), nn_shape_text(text, in));
	*out = in[0];
	return 0;
}

static void permute_read(struct nn_op_reader *r, struct nn_shape *in, void *attrs)
{
	r->wrong |= in->rank != 3;
	*(struct nn_permute *)attrs =
		(struct nn_permute){ in->dim[0], in->dim[1] * in->dim[2], true };
}

const struct nn_op nn_op_permute = {
	.name = "permute",
	.attrs_size = sizeof(struct nn_permute),
	.layout = NN_LAYOUT_ANY,
	.role = NN_ROLE_PERMUTE,
	.infer = permute_infer,
	.flops = nn_op_no_flops,
	.form = "NxCxHxW",
	.read = permute_read,
};

static int transpose_infer(const void *attrs, const struct nn_shape *in, int n_in,
			   struct nn_shape *out, struct nn_error *err)
{
	const struct nn_transpose *transpose = attrs;
	char text[NN_SHAPE_TEXT];

	if (nn_op_one_input(n_in, err))
		return -1;
	for (int i = 0; i < 2; i++)
		if (transpose->dims[i] < 0 || transpose->dims[i] >= in->rank)
			return nn_fail(err, NN_EFAIL, "%d is not a dimension of input %s",
				       transpose->dims[i], nn_shape_text(text, in));
	*out = in[0];
	for (int i = 0; i < 2; i++)
		out->dim[transpose->dims[i]] = in->dim[transpose->dims[1 - i]];
	return 0;
}

/* The first two where nothing is said. */
static void transpose_read(struct nn_op_reader *r, struct nn_shape *in, void *attrs)
{
	(void)in;
	(void)r;
	*(struct nn_transpose *)attrs = (struct nn_transpose){ { 0, 1 } };
}

static void transpose_write(const void *attrs, struct nn_text *text)
{
	const struct nn_transpose *transpose = attrs;

	if (transpose->dims[0] != 0 || transpose->dims[1] != 1)
		nn_text_addf(text, ",%d+%d", transpose->dims[0], transpose->dims[1]);
}

const struct nn_op nn_op_transpose = {
	.name = "transpose",
	.attrs_size = sizeof(struct nn_transpose),
	.layout = NN_LAYOUT_IMAGE,
	.infer = transpose_infer,
	.flops = nn_op_no_flops,
	.form = "ROWSxAxB...",
	.read = transpose_read,
	.write = transpose_write,
};
