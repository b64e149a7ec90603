/*
 * A part of the input, every step-th element of it, or the input with something around it: each
 * dimension for itself, what lies outside is one value.
 */
#include "base/text.h"
#include "op/common.h"
#include "op/notation.h"

#define MOST ((ptrdiff_t)1 << 48) /* sums of positions cannot wrap */

static int slice_infer(const void *attrs, const struct nn_shape *in, int n_in, struct nn_shape *out,
		       struct nn_error *err)
{
	const struct nn_slice *slice = attrs;
	char text[NN_SHAPE_TEXT];
	size_t reach;

	if (nn_op_one_input(n_in, err))
		return -1;
	if (slice->rank != in->rank)
		return nn_fail(err, NN_EFAIL, "wants an input of %d dimension%s, got %s",
			       slice->rank, nn_s(slice->rank), nn_shape_text(text, in));
	*out = in[0];
	for (int d = 0; d < in->rank; d++) {
		if (slice->size[d] == 0 || slice->step[d] == 0 ||
		    !nn_mul(slice->size[d], slice->step[d], &reach) || reach > (size_t)MOST ||
		    slice->begin[d] > MOST || slice->begin[d] < -MOST)
			return nn_fail(err, NN_EFAIL, "dimension %d: no part of input %s", d,
				       nn_shape_text(text, in));
		out->dim[d] = slice->size[d];
	}
	return nn_op_check_size(out, err);
}

/* The same number put on both sides of H and W, or of the last dimension. */
static void slice_read(struct nn_op_reader *r, struct nn_shape *in, void *attrs)
{
	struct nn_slice *slice = attrs;
	size_t pad[2] = { 0, 0 };

	r->wrong |= !nn_op_read_key(r, "pad=", true, pad);
	*slice = (struct nn_slice){ .rank = in->rank };
	for (int d = 0; d < in->rank; d++) {
		size_t p = d > 0 && d >= in->rank - 2 ? pad[0] : 0;

		slice->begin[d] = -(ptrdiff_t)p;
		slice->size[d] = in->dim[d] + 2 * p;
		slice->step[d] = 1;
	}
}

/* Parts of another form are recognized by the shape of the output. */
static void slice_write(const void *attrs, struct nn_text *text)
{
	const struct nn_slice *slice = attrs;
	ptrdiff_t pad = slice->rank > 0 ? -slice->begin[slice->rank - 1] : 0;
	struct nn_shape out = { .rank = slice->rank };
	char shape[NN_SHAPE_TEXT];
	bool padded = pad >= 0;

	for (int d = 0; d < slice->rank; d++) {
		out.dim[d] = slice->size[d];
		padded &= slice->begin[d] == (d > 0 && d >= slice->rank - 2 ? -pad : 0);
		padded &= slice->step[d] == 1;
	}
	if (padded)
		nn_text_addf(text, ",pad=%td", pad);
	else
		nn_text_addf(text, ",%s", nn_shape_text(shape, &out));
}

/* Of each step by itself. */
static enum nn_lengths slice_lengths(const void *attrs, const struct nn_shape *in)
{
	const struct nn_slice *slice = attrs;

	return slice->begin[0] == 0 && slice->step[0] == 1 && slice->size[0] == in->dim[0]
		       ? NN_LENGTHS_KEPT
		       : NN_LENGTHS_REFUSED;
}

const struct nn_op nn_op_slice = {
	.name = "slice",
	.attrs_size = sizeof(struct nn_slice),
	.layout = NN_LAYOUT_IMAGE,
	.lengths = slice_lengths,
	.infer = slice_infer,
	.flops = nn_op_no_flops,
	.form = "NxCxHxW,pad=P",
	.read = slice_read,
	.write = slice_write,
};
