/* C,H,W made larger by whole numbers: each pixel several times, or between its neighbours. */
#include <string.h>

#include "op/common.h"
#include "op/notation.h"

static int upsample_infer(const void *attrs, const struct nn_shape *in, int n_in,
			  struct nn_shape *out, struct nn_error *err)
{
	const struct nn_upsample *up = attrs;
	char text[NN_SHAPE_TEXT];

	if (nn_op_one_image(in, n_in, err))
		return -1;
	*out = in[0];
	for (int i = 0; i < 2; i++)
		if (in->dim[1 + i] == 0 || up->scale[i] == 0 ||
		    !nn_mul(in->dim[1 + i], up->scale[i], &out->dim[1 + i]))
			return nn_fail(err, NN_EFAIL,
				       "input %s cannot be made %zux%zu times as large",
				       nn_shape_text(text, in), up->scale[0], up->scale[1]);
	return nn_op_check_size(out, err);
}

/* Two rows of two pixels. */
static uint64_t upsample_flops(const void *attrs, const struct nn_shape *in, int n_in,
			       const struct nn_shape *out)
{
	(void)in;
	(void)n_in;
	return ((const struct nn_upsample *)attrs)->bilinear
		       ? nn_op_count(9, nn_shape_count(out), 1)
		       : 0;
}

static void upsample_read(struct nn_op_reader *r, struct nn_shape *in, void *attrs)
{
	struct nn_upsample *up = attrs;

	(void)in;
	*up = (struct nn_upsample){ .bilinear = false };
	nn_op_read_pair(r, up->scale);
	up->bilinear = strcmp(r->at, "bilinear") == 0;
	r->at += up->bilinear ? strlen(r->at) : 0;
}

static void upsample_write(const void *attrs, struct nn_text *text)
{
	const struct nn_upsample *up = attrs;

	nn_text_addf(text, ",%zux%zu%s", up->scale[0], up->scale[1],
		     up->bilinear ? ",bilinear" : "");
}

const struct nn_op nn_op_upsample = {
	.name = "upsample",
	.attrs_size = sizeof(struct nn_upsample),
	.layout = NN_LAYOUT_IMAGE,
	.infer = upsample_infer,
	.flops = upsample_flops,
	.form = "NxCxHxW,KxK[,bilinear]",
	.read = upsample_read,
	.write = upsample_write,
};
