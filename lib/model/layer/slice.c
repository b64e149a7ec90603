/* Layers that take a part of their input, or put something around it. */
#include "base/error.h"
#include "model/layer.h"

/* All of a shape. */
static struct nn_slice whole(const struct nn_shape *shape)
{
	struct nn_slice slice = { .rank = shape->rank };

	for (int d = 0; d < shape->rank; d++) {
		slice.size[d] = shape->dim[d];
		slice.step[d] = 1;
	}
	return slice;
}

static const struct nn_shape *shape_of(const struct nn_expansion *line, int i)
{
	return &line->program->values[line->in[i]].shape;
}

/* The slice, of the first input; nothing where that is all of it. */
static int expand_slice_op(const struct nn_expansion *line, const struct nn_slice *slice,
			   struct nn_error *err)
{
	const struct nn_shape *shape = shape_of(line, 0);
	bool all = true;

	for (int d = 0; d < shape->rank; d++)
		all &= slice->begin[d] == 0 && slice->size[d] == shape->dim[d];
	if (all)
		return line->in[0];
	return nn_program_add(line->program, NN_OP_slice, slice, line->in, 1, line->prefix,
			      line->line, err);
}

/* Height and width of C,H,W; of other shapes the last dimension, as a width. Their first one. */
static int first_side(const struct nn_shape *shape, int *sides, struct nn_error *err)
{
	if (shape->rank < 1)
		return nn_fail(err, NN_EFAIL, "wants an input of at least one dimension");
	*sides = shape->rank == 3 ? 2 : 1;
	return shape->rank - *sides;
}

/* ---- pad ---- */

struct pad {
	size_t before[2], after[2];
	double value;
};

static const struct nn_layer_arg pad_args[] = {
	{ .name = "P",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct pad, before),
	  .max = NN_ARG_MAX,
	  .help = "Rows above and columns to the left, AxB or one number for both." },
	{ .name = "after",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct pad, after),
	  .like = "P",
	  .max = NN_ARG_MAX,
	  .help = "Rows below and columns to the right." },
	{ .name = "value",
	  .type = NN_ARG_REAL,
	  .offset = offsetof(struct pad, value),
	  .fallback = "0",
	  .min = -3e38,
	  .max = 3e38,
	  .help = "What is put there." },
	{ .name = NULL }
};

static int expand_pad(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	const struct nn_shape *shape = shape_of(line, 0);
	const struct pad *pad = values;
	struct nn_slice slice = whole(shape);
	int sides = 0, first = first_side(shape, &sides, err);

	if (first < 0)
		return -1;
	slice.value = pad->value;
	for (int i = 0; i < sides; i++) {
		size_t before = pad->before[i + 2 - sides], after = pad->after[i + 2 - sides];

		slice.begin[first + i] = -(ptrdiff_t)before;
		slice.size[first + i] += before + after;
	}
	return expand_slice_op(line, &slice, err);
}

const struct nn_layer nn_layer_pad = {
	.name = "pad",
	.also = "zeropad2d,constantpad2d,zeropadding2d,zeropad1d,padding",
	.brief =
		"A border of one value around an image (torch.nn.ConstantPad2d), or at the ends of "
		"the last dimension of other shapes.",
	.shapes = "C,H,W to C,H+P+after,W+P+after",
	.more = "Of C,L and vectors the second number counts.",
	.args = pad_args,
	.size = sizeof(struct pad),
	.min_in = 1,
	.max_in = 1,
	.expand = expand_pad,
};

/* ---- crop ---- */

struct crop {
	size_t size[2]; /* 0: that of the second input */
};

static const struct nn_layer_arg crop_args[] = {
	{ .name = "HxW",
	  .type = NN_ARG_PAIR,
	  .offset = offsetof(struct crop, size),
	  .fallback = "0",
	  .max = NN_ARG_MAX,
	  .cross = true,
	  .help = "Height and width of what is left; 0, or nothing, is that of the second input." },
	{ .name = NULL }
};

static int expand_crop(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	const struct nn_shape *shape = shape_of(line, 0), *like = shape_of(line, line->n_in - 1);
	const size_t *size = ((const struct crop *)values)->size;
	struct nn_slice slice = whole(shape);
	char a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT];
	int sides = 0, first = first_side(shape, &sides, err);

	if (first < 0)
		return -1;
	if ((size[0] == 0) != (size[1] == 0) || (size[0] == 0) != (line->n_in == 2))
		return nn_fail(err, NN_EFAIL,
			       "wants a size HxW, or a second input (from=A+B) of "
			       "which A gets the size");
	if (like->rank != shape->rank)
		return nn_fail(err, NN_EFAIL, "inputs %s and %s differ in their dimensions",
			       nn_shape_text(a, shape), nn_shape_text(b, like));
	for (int i = 0; i < sides; i++) {
		size_t in = shape->dim[first + i],
		       out = size[0] ? size[i + 2 - sides] : like->dim[first + i];

		if (out > in)
			return nn_fail(err, NN_EFAIL, "%zu of dimension %d exceeds input %s", out,
				       first + i, nn_shape_text(a, shape));
		slice.begin[first + i] = (ptrdiff_t)((in - out) / 2);
		slice.size[first + i] = out;
	}
	return expand_slice_op(line, &slice, err);
}

const struct nn_layer nn_layer_crop = {
	.name = "crop",
	.also = "centercrop,center-crop,cropping2d",
	.brief = "The middle of an image, or of the last dimension of other shapes.",
	.shapes = "C,H,W to C,H',W'",
	.more = "crop from=A+B cuts A to the height and width of B: what a U-Net without padding "
		"joins. Of an odd rest the larger part goes below and to the right.",
	.args = crop_args,
	.size = sizeof(struct crop),
	.min_in = 1,
	.max_in = 2,
	.expand = expand_crop,
};

/* ---- slice ---- */

struct slice {
	size_t begin, end, step;
	int dim;
};

static const struct nn_layer_arg slice_args[] = {
	{ .name = "BEGIN",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct slice, begin),
	  .max = NN_ARG_MAX,
	  .help = "The first element, from 0." },
	{ .name = "END",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct slice, end),
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "The element behind the last." },
	{ .name = "step",
	  .type = NN_ARG_SIZE,
	  .offset = offsetof(struct slice, step),
	  .fallback = "1",
	  .min = 1,
	  .max = NN_ARG_MAX,
	  .help = "Take every step-th." },
	{ .name = "dim",
	  .type = NN_ARG_INDEX,
	  .offset = offsetof(struct slice, dim),
	  .fallback = "0",
	  .max = NN_MAX_RANK - 1,
	  .help = "The dimension, counted without the rows; 0 are the channels." },
	{ .name = NULL }
};

static int expand_slice(const struct nn_expansion *line, const void *values, struct nn_error *err)
{
	const struct nn_shape *shape = shape_of(line, 0);
	const struct slice *part = values;
	struct nn_slice slice = whole(shape);
	char text[NN_SHAPE_TEXT];

	if (part->dim >= shape->rank)
		return nn_fail(err, NN_EFAIL, "dim=%d is not a dimension of input %s", part->dim,
			       nn_shape_text(text, shape));
	if (part->begin >= part->end || part->end > shape->dim[part->dim])
		return nn_fail(err, NN_EFAIL, "%zu to %zu are no part of dimension %d of input %s",
			       part->begin, part->end, part->dim, nn_shape_text(text, shape));
	slice.begin[part->dim] = (ptrdiff_t)part->begin;
	slice.step[part->dim] = part->step;
	slice.size[part->dim] = (part->end - part->begin - 1) / part->step + 1;
	return expand_slice_op(line, &slice, err);
}

const struct nn_layer nn_layer_slice = {
	.name = "slice",
	.also = "narrow,split,chunk",
	.brief = "A part of one dimension: x[BEGIN:END:step].",
	.shapes = "C,H,W to C',H,W",
	.args = slice_args,
	.size = sizeof(struct slice),
	.min_in = 1,
	.max_in = 1,
	.expand = expand_slice,
};
