/*
 * Poolings over C,H,W: maxpool2d, avgpool2d (the padding counts as zeros), and the average of a
 * whole image.
 */
#include "op/common.h"
#include "op/notation.h"

#define FORM "NxCxHxW,KxK[,stride=S][,pad=P]"

int nn_op_infer_pool(const struct nn_window *window, const struct nn_shape *in,
		     struct nn_shape *out, struct nn_error *err)
{
	struct nn_slide slide = { "window", window->kernel, window->stride, window->pad, NULL };
	size_t size[2];

	for (int i = 0; i < 2; i++)
		if (window->pad[i] > window->kernel[i] / 2)
			return nn_fail(err, NN_EFAIL, "pad=%zux%zu exceeds half of window %zux%zu",
				       window->pad[0], window->pad[1], window->kernel[0],
				       window->kernel[1]);
	if (nn_slide_infer(&slide, in, size, err))
		return -1;
	*out = nn_shape3(in->dim[0], size[0], size[1]);
	return nn_op_check_size(out, err);
}

static int pool2d_infer(const void *attrs, const struct nn_shape *in, int n_in,
			struct nn_shape *out, struct nn_error *err)
{
	const struct nn_pool2d *pool = attrs;

	if (nn_op_one_image(in, n_in, err))
		return -1;
	return nn_op_infer_pool(&pool->window, in, out, err);
}

static uint64_t pool2d_flops(const void *attrs, const struct nn_shape *in, int n_in,
			     const struct nn_shape *out)
{
	const struct nn_pool2d *pool = attrs;

	(void)in;
	(void)n_in;
	return nn_op_count(pool->window.kernel[0], pool->window.kernel[1], nn_shape_count(out));
}

/* A window's stride is its size where none is written. */
static void pool2d_read(struct nn_op_reader *r, struct nn_shape *in, void *attrs)
{
	struct nn_window *w = &((struct nn_pool2d *)attrs)->window;

	(void)in;
	*w = (struct nn_window){ 0 };
	nn_op_read_pair(r, w->kernel);
	for (int i = 0; i < 2; i++)
		w->stride[i] = w->kernel[i];
	while (*r->at && !r->wrong)
		if (!nn_op_read_key(r, "stride=", false, w->stride) &&
		    !nn_op_read_key(r, "pad=", true, w->pad))
			r->wrong = true;
}

static void pool2d_write(const void *attrs, struct nn_text *text)
{
	const struct nn_window *w = &((const struct nn_pool2d *)attrs)->window;

	nn_op_write_window(text, w->kernel, w->stride, w->pad, w->kernel[0]);
}

/* Backward knows the places of the maxima from what forward saved. */
const struct nn_op nn_op_maxpool2d = {
	.name = "maxpool2d",
	.attrs_size = sizeof(struct nn_pool2d),
	.layout = NN_LAYOUT_IMAGE,
	.role = NN_ROLE_MAXPOOL,
	.infer = pool2d_infer,
	.flops = pool2d_flops,
	.form = FORM,
	.read = pool2d_read,
	.write = pool2d_write,
};

const struct nn_op nn_op_avgpool2d = {
	.name = "avgpool2d",
	.attrs_size = sizeof(struct nn_pool2d),
	.layout = NN_LAYOUT_IMAGE,
	.infer = pool2d_infer,
	.flops = pool2d_flops,
	.form = FORM,
	.read = pool2d_read,
	.write = pool2d_write,
};

static int global_infer(const void *attrs, const struct nn_shape *in, int n_in,
			struct nn_shape *out, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];

	(void)attrs;
	if (nn_op_one_image(in, n_in, err))
		return -1;
	if (in->dim[1] == 0 || in->dim[2] == 0)
		return nn_fail(err, NN_EFAIL, "input %s has no pixels", nn_shape_text(text, in));
	*out = nn_shape1(in->dim[0]);
	return 0;
}

static uint64_t global_flops(const void *attrs, const struct nn_shape *in, int n_in,
			     const struct nn_shape *out)
{
	(void)attrs;
	(void)n_in;
	(void)out;
	return nn_shape_count(in);
}

/* C,H,W becomes a vector of C. */
const struct nn_op nn_op_global_avgpool = {
	.name = "global-avgpool",
	.layout = NN_LAYOUT_IMAGE,
	.infer = global_infer,
	.flops = global_flops,
	.form = "NxCxHxW",
};
