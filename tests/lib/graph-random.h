/* Random networks over every op, with parameters, inputs and a batch, for the tests of graphs. */
#ifndef TESTS_LIB_GRAPH_RANDOM_H
#define TESTS_LIB_GRAPH_RANDOM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "op/program.h"

struct dice {
	uint64_t state;
};

static uint64_t roll(struct dice *d, uint64_t n)
{
	return (nn_lcg(&d->state) >> 33) % n;
}

/* -1..1 */
static double roll_real(struct dice *d)
{
	return (double)roll(d, 2000001) / 1000000 - 1;
}

#define MOST_VALUES 64

struct making {
	struct nn_program *program;
	struct dice dice;
	bool every_op; /* else those of the plain device */
	bool dropout;
	size_t group;
	bool used[4 * MOST_VALUES];
	int line;
};

static const struct nn_shape *shape_of(const struct making *m, int value)
{
	return &m->program->values[value].shape;
}

static int put(struct making *m, enum nn_op_id op, const void *attrs, const int *in, int n_in)
{
	struct nn_error err = { 0 };
	char prefix[16];
	int out;

	snprintf(prefix, sizeof prefix, "%d", m->line);
	out = nn_program_add(m->program, op, attrs, in, n_in, prefix, m->line, &err);
	if (out < 0)
		return -1;
	for (int i = 0; i < n_in; i++)
		m->used[in[i]] = true;
	m->line++;
	return out;
}

static int put_activation(struct making *m, int value)
{
	struct nn_activation_attrs a = { 1 + roll(&m->dice, NN_N_ACTIVATIONS - 1), 0.3 };

	return put(m, NN_OP_activation, &a, &value, 1);
}

static int put_dense(struct making *m, int value)
{
	struct nn_dense a = { .out = 1 + roll(&m->dice, 6), .bias = roll(&m->dice, 4) > 0 };

	/* Often the width of another value, so that sums and products are possible. */
	if (roll(&m->dice, 2)) {
		const struct nn_shape *other =
			shape_of(m, (int)roll(&m->dice, (uint64_t)m->program->n_values));

		a.out = other->dim[other->rank - 1];
	}
	return put(m, NN_OP_dense, &a, &value, 1);
}

static int put_join(struct making *m, int value)
{
	int in[3] = { value, value, value }, n = 2 + (roll(&m->dice, 4) == 0), found = 1;
	enum nn_op_id op = roll(&m->dice, 3) ? NN_OP_add : NN_OP_mul;

	for (int tries = 0; tries < 20 && found < n; tries++) {
		int other = (int)roll(&m->dice, (uint64_t)m->program->n_values);

		if (nn_shape_equal(shape_of(m, other), shape_of(m, value)) &&
		    (other != value || tries > 15))
			in[found++] = other;
	}
	if (roll(&m->dice, 2)) {
		in[0] = in[1];
		in[1] = value;
	}
	return found < 2 ? -1 : put(m, op, NULL, in, found);
}

static int put_concat(struct making *m, int value)
{
	const struct nn_shape *shape = shape_of(m, value);
	struct nn_concat a = { (int)roll(&m->dice, (uint64_t)shape->rank) };
	int in[2] = { value, (int)roll(&m->dice, (uint64_t)m->program->n_values) };

	if (nn_shape_count(shape) + nn_shape_count(shape_of(m, in[1])) > 200)
		return -1;
	return put(m, NN_OP_concat, &a, in, 2);
}

/* Flat, or some C,H,W. */
static int put_reshape(struct making *m, int value)
{
	size_t count = nn_shape_count(shape_of(m, value));
	struct nn_reshape a = { nn_shape1(count) };

	if (shape_of(m, value)->rank == 1 || roll(&m->dice, 3) == 0)
		for (size_t c = 1 + roll(&m->dice, 4); c > 0; c--)
			if (count % (2 * c) == 0) {
				a.shape = roll(&m->dice, 3) ? nn_shape3(c, 2, count / c / 2)
							    : nn_shape2(2 * c, count / c / 2);
				break;
			}
	return put(m, NN_OP_reshape, &a, &value, 1);
}

static int put_conv2d(struct making *m, int value)
{
	const struct nn_shape *in = shape_of(m, value);
	struct nn_conv2d a = { .out = 1 + roll(&m->dice, 6),
			       .groups = 1,
			       .bias = roll(&m->dice, 3) > 0 };

	for (int i = 0; i < 2; i++) {
		a.kernel[i] = 1 + roll(&m->dice, 3);
		a.stride[i] = 1 + roll(&m->dice, 4) / 3;
		a.pad[i] = roll(&m->dice, 2);
		a.dilation[i] = 1 + roll(&m->dice, 4) / 3;
	}
	if (roll(&m->dice, 3) == 0) {
		a.groups = in->dim[0] % 2 || roll(&m->dice, 3) == 0 ? in->dim[0] : in->dim[0] / 2;
		a.out = a.groups * (1 + roll(&m->dice, 2));
	}
	/* Often of the same size, for residuals. */
	if (roll(&m->dice, 2)) {
		a = (struct nn_conv2d){ .out = in->dim[0],
					.kernel = { 3, 3 },
					.stride = { 1, 1 },
					.pad = { 1, 1 },
					.dilation = { 1, 1 },
					.groups = 1,
					.bias = a.bias };
	}
	return put(m, NN_OP_conv2d, &a, &value, 1);
}

static int put_pool(struct making *m, int value)
{
	struct nn_pool2d a = { { { 2, 2 }, { 2, 2 }, { 0, 0 } } };

	if (roll(&m->dice, 2))
		a.window = (struct nn_window){ { 3, 2 }, { 2, 1 }, { 1, 0 } };
	return put(m, roll(&m->dice, 3) ? NN_OP_maxpool2d : NN_OP_avgpool2d, &a, &value, 1);
}

static int put_batchnorm(struct making *m, int value)
{
	struct nn_batchnorm a = { .group = m->group, .eps = 1e-5, .momentum = 0.1 };

	return m->group ? put(m, NN_OP_batchnorm, &a, &value, 1) : -1;
}

static int put_other(struct making *m, int value)
{
	struct nn_layernorm norm = { 1e-5 };
	struct nn_softmax softmax = { roll(&m->dice, 2) };
	struct nn_dropout dropout = { 0.25, 2 + 256 * (uint32_t)m->line };

	switch (roll(&m->dice, 3)) {
	case 0:
		return put(m, NN_OP_layernorm, &norm, &value, 1);
	case 1:
		return put(m, NN_OP_softmax, &softmax, &value, 1);
	default:
		return m->dropout ? put(m, NN_OP_dropout, &dropout, &value, 1) : -1;
	}
}

static int put_conv_transpose2d(struct making *m, int value)
{
	const struct nn_shape *in = shape_of(m, value);
	struct nn_conv_transpose2d a = { .out = 1 + roll(&m->dice, 5),
					 .groups = 1,
					 .bias = roll(&m->dice, 3) > 0 };

	if (nn_shape_count(in) > 100)
		return -1;
	for (int i = 0; i < 2; i++) {
		a.kernel[i] = 1 + roll(&m->dice, 3);
		a.stride[i] = 1 + roll(&m->dice, 2);
		a.more[i] = roll(&m->dice, a.stride[i]);
		a.dilation[i] = 1;
		a.pad[i] = roll(&m->dice, 2);
	}
	if (roll(&m->dice, 3) == 0)
		a.out = a.groups = in->dim[0];
	return put(m, NN_OP_conv_transpose2d, &a, &value, 1);
}

/* A part of a dimension, a border, or two dimensions the other way round. */
static int put_move(struct making *m, int value)
{
	const struct nn_shape *in = shape_of(m, value);
	struct nn_slice a = { .rank = in->rank, .value = 0.5 };
	struct nn_transpose turn = { { (int)roll(&m->dice, (uint64_t)in->rank),
				       (int)roll(&m->dice, (uint64_t)in->rank) } };

	if (roll(&m->dice, 3) == 0)
		return put(m, NN_OP_transpose, &turn, &value, 1);
	for (int d = 0; d < in->rank; d++) {
		a.begin[d] = (ptrdiff_t)roll(&m->dice, 3) - 1;
		a.step[d] = 1 + roll(&m->dice, 4) / 3;
		a.size[d] = 1 + roll(&m->dice, in->dim[d] / a.step[d] + 1);
	}
	return put(m, NN_OP_slice, &a, &value, 1);
}

static int put_upsample(struct making *m, int value)
{
	struct nn_upsample a = { { 1 + roll(&m->dice, 2), 2 },
				 roll(&m->dice, 2),
				 roll(&m->dice, 2) };

	return nn_shape_count(shape_of(m, value)) > 100 ? -1
							: put(m, NN_OP_upsample, &a, &value, 1);
}

static int put_image_op(struct making *m, int value)
{
	if (shape_of(m, value)->rank != 3)
		return -1;
	switch (roll(&m->dice, 10)) {
	case 0:
		return put(m, NN_OP_global_avgpool, NULL, &value, 1);
	case 8:
		return put_conv_transpose2d(m, value);
	case 9:
		return put_upsample(m, value);
	case 1:
	case 2:
		return put_pool(m, value);
	default:
		return put_conv2d(m, value);
	}
}

/* A product that keeps the shape, perhaps with batchnorm. */
static int put_product(struct making *m, int value)
{
	const struct nn_shape *in = shape_of(m, value);
	struct nn_dense dense = { .out = in->dim[in->rank - 1], .bias = roll(&m->dice, 2) };
	struct nn_conv2d conv = { .out = in->dim[0],
				  .kernel = { 3, 1 },
				  .stride = { 1, 1 },
				  .pad = { 1, 0 },
				  .dilation = { 1, 1 },
				  .groups = 1,
				  .bias = roll(&m->dice, 2) };
	int out = in->rank == 3 && m->every_op ? put(m, NN_OP_conv2d, &conv, &value, 1)
					       : put(m, NN_OP_dense, &dense, &value, 1);
	int norm = m->every_op && roll(&m->dice, 2) ? put_batchnorm(m, out) : -1;

	return norm < 0 ? out : norm;
}

/* What fusion looks for: a product, perhaps a residual, an activation, a pooling. */
static int put_block(struct making *m, int value)
{
	struct nn_pool2d pool = { { { 2, 2 }, { 1, 2 }, { 0, 0 } } };
	int in[2] = { value, value }, out;

	if (roll(&m->dice, 2)) {
		in[0] = put_product(m, value);
		in[1] = roll(&m->dice, 2) ? put_product(m, value)
					  : put_product(m, put_product(m, value));
		if (in[1] >= 0 && roll(&m->dice, 3) == 0)
			in[0] = value;
		out = put(m, NN_OP_add, NULL, in, 2);
	} else {
		out = put_product(m, value);
	}
	if (roll(&m->dice, 3))
		out = put_activation(m, out);
	if (m->every_op && shape_of(m, out)->rank == 3 && roll(&m->dice, 3))
		out = put(m, NN_OP_maxpool2d, &pool, &out, 1);
	return out;
}

/* A network of about n nodes; every value that nothing reads becomes an output. */
static struct nn_program *random_program(uint64_t seed, int n, bool every_op, bool dropout,
					 size_t group)
{
	struct making m = { .dice = { seed * 2654435761u + 12345 },
			    .every_op = every_op,
			    .dropout = dropout,
			    .group = group };
	static int (*const makers[])(struct making *, int) = {
		put_activation, put_activation, put_dense,    put_dense,    put_join,
		put_join,       put_block,      put_concat,   put_reshape,  put_block,
		put_block,      put_image_op,   put_image_op, put_image_op, put_image_op,
		put_batchnorm,  put_batchnorm,  put_other,    put_move,
	};
	struct nn_shape image = nn_shape3(3, 6, 5), vector = nn_shape1(7);
	char name[16];

	m.program = nn_program_new(NULL);
	nn_program_input(m.program, roll(&m.dice, 3) ? &image : &vector, NULL);
	if (roll(&m.dice, 3) == 0)
		nn_program_input(m.program, &vector, NULL);
	for (int tries = 0;
	     tries < 20 * n && m.program->n_nodes < n && m.program->n_values < MOST_VALUES;
	     tries++) {
		int newest = m.program->n_values - 1;
		int value = roll(&m.dice, 3) ? newest
					     : (int)roll(&m.dice, (uint64_t)m.program->n_values);
		size_t maker = roll(&m.dice, every_op ? sizeof makers / sizeof *makers : 9);

		makers[maker](&m, value);
	}
	for (int v = 0; v < m.program->n_values; v++) {
		snprintf(name, sizeof name, "o%d", v);
		if (!m.used[v])
			nn_program_output(m.program, v, name, NULL);
	}
	return m.program;
}

/* Canonical parameters, one allocation; free with nn_free. */
static double **random_params(const struct nn_program *program, struct dice *dice)
{
	size_t n = 0;
	double **params, *at;

	for (int i = 0; i < program->n_params; i++)
		n += nn_shape_count(&program->params[i].desc.shape);
	params =
		nn_alloc((size_t)program->n_params * sizeof *params + n * sizeof **params, 1, NULL);
	at = (double *)(params + program->n_params);
	for (int i = 0; i < program->n_params; i++) {
		size_t count = nn_shape_count(&program->params[i].desc.shape);

		params[i] = at;
		for (size_t k = 0; k < count; k++)
			*at++ = program->params[i].desc.init == NN_INIT_ONE
					? 1 + 0.5 * roll_real(dice)
					: 0.7 * roll_real(dice);
	}
	return params;
}

/* [rows][count] of every input, language order; free with free_inputs. */
static double **random_inputs(const struct nn_program *program, size_t rows, struct dice *dice)
{
	double **inputs = calloc((size_t)program->n_inputs, sizeof *inputs);

	for (int i = 0; i < program->n_inputs; i++) {
		size_t n = rows * nn_shape_count(&program->values[program->inputs[i]].shape);

		inputs[i] = calloc(n, sizeof **inputs);
		for (size_t k = 0; k < n; k++)
			inputs[i][k] = roll_real(dice);
	}
	return inputs;
}

static void free_inputs(const struct nn_program *program, double **inputs)
{
	for (int i = 0; i < program->n_inputs; i++)
		free(inputs[i]);
	free(inputs);
}

#endif
