/* What the ops of this room share: checks of inputs, and windows that slide over images. */
#include <stdio.h>

#include "op/common.h"

struct nn_op_param nn_op_param(const char *name, enum nn_param_role role, enum nn_init init,
			       struct nn_shape shape, size_t fan_in)
{
	return (struct nn_op_param){ .name = name,
				     .role = role,
				     .init = init,
				     .shape = shape,
				     .fan_in = fan_in,
				     .padding = NN_NO_ROW };
}

int nn_op_one_input(int n_in, struct nn_error *err)
{
	if (n_in != 1)
		return nn_fail(err, NN_EFAIL, "takes one input, got %d", n_in);
	return 0;
}

int nn_op_one_image(const struct nn_shape *in, int n_in, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];

	if (nn_op_one_input(n_in, err))
		return -1;
	if (in->rank != 3)
		return nn_fail(err, NN_EFAIL, "wants an input CxHxW, got %s",
			       nn_shape_text(text, in));
	return 0;
}

int nn_op_same_shapes(const struct nn_shape *in, int n_in, struct nn_shape *out,
		      struct nn_error *err)
{
	char a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT];

	if (n_in < 2)
		return nn_fail(err, NN_EFAIL, "wants two inputs or more, got %d", n_in);
	for (int i = 1; i < n_in; i++)
		if (!nn_shape_equal(&in[0], &in[i]))
			return nn_fail(err, NN_EFAIL, "inputs differ in shape: %s and %s",
				       nn_shape_text(a, &in[0]), nn_shape_text(b, &in[i]));
	*out = in[0];
	return 0;
}

int nn_op_check_size(const struct nn_shape *out, struct nn_error *err)
{
	char text[NN_SHAPE_TEXT];
	size_t bytes;

	if (!nn_shape_check(out, sizeof(double), &bytes))
		return nn_fail(err, NN_EFAIL, "output %s is larger than memory can be",
			       nn_shape_text(text, out));
	return 0;
}

uint64_t nn_op_count(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t product;

	if (__builtin_mul_overflow(a, b, &product) || __builtin_mul_overflow(product, c, &product))
		return UINT64_MAX;
	return product;
}

uint64_t nn_op_no_flops(const void *attrs, const struct nn_shape *in, int n_in,
			const struct nn_shape *out)
{
	(void)attrs;
	(void)in;
	(void)n_in;
	(void)out;
	return 0;
}

/* " with dilation=2 and pad=1": what made the kernel or the image larger than its numbers say. */
static const char *with_text(char *buffer, size_t size, const struct nn_slide *slide)
{
	const size_t *d = slide->dilation, *p = slide->pad;
	bool dilated = d && (d[0] > 1 || d[1] > 1), padded = p[0] || p[1];
	size_t n = 0;

	buffer[0] = '\0';
	if (dilated)
		n = (size_t)snprintf(buffer, size, " with dilation=%zux%zu", d[0], d[1]);
	if (padded && n < size)
		snprintf(buffer + n, size - n, " %s pad=%zux%zu", dilated ? "and" : "with", p[0],
			 p[1]);
	return buffer;
}

int nn_slide_infer(const struct nn_slide *slide, const struct nn_shape *in, size_t out[2],
		   struct nn_error *err)
{
	char with[128];

	for (int i = 0; i < 2; i++) {
		size_t dilation = slide->dilation ? slide->dilation[i] : 1;
		size_t reach, padded;

		if (slide->kernel[i] == 0 || slide->stride[i] == 0 || dilation == 0)
			return nn_fail(err, NN_EFAIL, "%s, stride and dilation must be at least 1",
				       slide->what);
		if (!nn_mul(slide->kernel[i] - 1, dilation, &reach) ||
		    !nn_mul(slide->pad[i], 2, &padded) ||
		    !nn_add(padded, in->dim[1 + i], &padded) || reach >= padded)
			return nn_fail(err, NN_EFAIL, "%s %zux%zu exceeds input %zux%zu%s",
				       slide->what, slide->kernel[0], slide->kernel[1], in->dim[1],
				       in->dim[2], with_text(with, sizeof with, slide));
		out[i] = (padded - reach - 1) / slide->stride[i] + 1;
	}
	return 0;
}

enum nn_stepping nn_op_each_step(void *attrs, const struct nn_shape *in)
{
	(void)attrs;
	return in->rank == 2 ? NN_STEPS_ANY : NN_STEPS_AT_ONCE;
}

enum nn_lengths nn_op_each_length(const void *attrs, const struct nn_shape *in)
{
	(void)attrs;
	(void)in;
	return NN_LENGTHS_KEPT;
}

enum nn_lengths nn_op_inner_lengths(const void *attrs, const struct nn_shape *in)
{
	(void)attrs;
	return in->rank > 1 ? NN_LENGTHS_KEPT : NN_LENGTHS_REFUSED;
}
