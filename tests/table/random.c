/* Sites that nobody thought of: any sizes, strides, paddings, groups, epilogues, leaves. */
#include <stdio.h>
#include <string.h>
#include "base/random.h"
#include "step/cut.h"
#include "table/random.h"

static uint64_t state;

static size_t any(size_t least, size_t most)
{
	return least + (size_t)(nn_lcg(&state) >> 33) % (most - least + 1);
}

static struct nn_epilogue any_epilogue(bool residual)
{
	static const enum nn_activation kinds[] = { NN_ACT_NONE, NN_ACT_RELU, NN_ACT_LEAKY_RELU,
						    NN_ACT_TANH };
	return (struct nn_epilogue){ kinds[any(0, 3)], 0.1, residual };
}

/* Sizes are made for the kernel to fit. */
static void any_conv2d(struct random_site *r)
{
	struct nn_conv2d *c = &r->attrs.conv2d;
	size_t groups = any(0, 3) ? 1 : any(1, 4), cin = groups * (any(0, 3) ? any(1, 20) : 1),
	       size[2];
	bool residual = any(0, 2) == 0;
	*c = (struct nn_conv2d){ .out = groups * any(1, 40),
				 .groups = groups,
				 .bias = any(0, 1),
				 .epilogue = any_epilogue(residual) };
	for (int i = 0; i < 2; i++) {
		c->kernel[i] = any(1, 4);
		c->stride[i] = any(1, 3);
		c->dilation[i] = any(1, 2);
		c->pad[i] = any(0, 3);
		size[i] = (c->kernel[i] - 1) * c->dilation[i] + any(1, 9);
	}
	r->in[0] = nn_shape3(cin, size[0], size[1]);
	for (int i = 0; i < 2; i++)
		size[i] = (size[i] + 2 * c->pad[i] - (c->kernel[i] - 1) * c->dilation[i] - 1) /
				  c->stride[i] +
			  1;
	r->in[1] = nn_shape3(c->out, size[0], size[1]);
	r->site.n_in = 1 + residual;
	c->pooling.on = any(0, 2) == 0;
	for (int i = 0; i < 2; i++) {
		c->pooling.window.kernel[i] = any(1, size[i] < 3 ? size[i] : 3);
		c->pooling.window.stride[i] = any(1, 3);
		c->pooling.window.pad[i] = any(0, c->pooling.window.kernel[i] / 2);
	}
}

static void any_conv_transpose2d(struct random_site *r)
{
	struct nn_conv_transpose2d *c = &r->attrs.conv_transpose2d;
	size_t groups = any(0, 3) ? 1 : any(1, 4), cin = groups * (any(0, 3) ? any(1, 20) : 1);
	bool residual = any(0, 2) == 0;
	*c = (struct nn_conv_transpose2d){ .out = groups * (any(0, 2) ? any(1, 40) : 1),
					   .groups = groups,
					   .bias = any(0, 1),
					   .epilogue = any_epilogue(residual) };
	for (int i = 0; i < 2; i++) {
		c->kernel[i] = any(1, 4);
		c->stride[i] = any(1, 3);
		c->dilation[i] = any(1, 2);
		c->more[i] = any(0, c->stride[i] - 1);
		c->pad[i] = any(0, (c->kernel[i] - 1) * c->dilation[i] / 2);
	}
	r->in[0] = nn_shape3(cin, any(1, 9), any(1, 9));
	r->in[1].rank = 3;
	r->site.n_in = 1 + residual;
	nn_ops[NN_OP_conv_transpose2d]->infer(c, r->in, r->site.n_in, &r->in[1], NULL);
}

static void any_dense(struct random_site *r)
{
	bool residual = any(0, 2) == 0;
	struct nn_dense *d = &r->attrs.dense;
	*d = (struct nn_dense){ .out = any(1, 150),
				.bias = any(0, 1),
				.epilogue = any_epilogue(residual) };
	r->in[0] = any(0, 2) ? nn_shape1(any(1, 400)) : nn_shape2(any(1, 5), any(1, 90));
	if (r->in[0].rank == 1 && any(0, 1)) {
		d->channels = any(1, 20);
		d->positions = any(1, 20);
		r->in[0] = nn_shape1(d->channels * d->positions);
	}
	r->in[1] = r->in[0];
	r->in[1].dim[r->in[0].rank - 1] = d->out;
	r->site.n_in = 1 + residual;
}

static void any_pool2d(struct random_site *r)
{
	struct nn_window *w = &r->attrs.pool2d.window;
	size_t size[2];
	for (int i = 0; i < 2; i++) {
		w->kernel[i] = any(1, 4);
		w->stride[i] = any(1, 4);
		w->pad[i] = any(0, w->kernel[i] / 2);
		size[i] = w->kernel[i] + any(0, 9);
	}
	r->in[0] = nn_shape3(any(1, 70), size[0], size[1]);
	r->site.n_in = 1;
}

static void any_batchnorm(struct random_site *r)
{
	bool residual = any(0, 2) == 0;
	r->attrs.batchnorm = (struct nn_batchnorm){ any(2, 9), 1e-5, 0.1, any_epilogue(residual) };
	r->in[0] = r->in[1] =
		any(0, 1) ? nn_shape1(any(1, 90)) : nn_shape3(any(1, 40), any(1, 12), any(1, 12));
	r->site.n_in = 1 + residual;
}

void random_site_make(struct random_site *r, uint64_t seed)
{
	static const enum nn_op_id ops[] = { NN_OP_conv2d,          NN_OP_conv2d,
					     NN_OP_dense,           NN_OP_maxpool2d,
					     NN_OP_avgpool2d,       NN_OP_batchnorm,
					     NN_OP_conv_transpose2d };
	static void (*const makers[])(struct random_site *) = { any_conv2d,          any_conv2d,
								any_dense,           any_pool2d,
								any_pool2d,          any_batchnorm,
								any_conv_transpose2d };
	size_t kind, units;
	state = seed * 0x9E3779B97F4A7C15 + 1;
	any(0, 1);
	kind = any(0, sizeof ops / sizeof ops[0] - 1);
	memset(r, 0, sizeof *r);
	r->site.name = r->name;
	r->site.op = ops[kind];
	r->site.attrs = &r->attrs;
	r->site.in = r->in;
	makers[kind](r);
	r->site.rows = any(2, 40);
	units = r->site.rows;
	if (nn_op_group(r->site.op, &r->attrs))
		units = nn_group_count(r->site.rows, r->attrs.batchnorm.group);
	for (r->site.n_leaves = 1; 2 * r->site.n_leaves <= units && any(0, 3);)
		r->site.n_leaves *= 2;
	if (r->site.n_leaves > 16)
		r->site.n_leaves = 16;
	snprintf(r->name, sizeof r->name, "random %s %llu", nn_ops[r->site.op]->name,
		 (unsigned long long)seed);
}
