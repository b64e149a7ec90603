/*
 * Initial values of parameters: uniform numbers by Philox, each element's its own whatever else is
 * in the model.
 */
#include <math.h>
#include <string.h>
#include "base/memory.h"
#include "base/random.h"
#include "base/real.h"
#include "model/initial.h"
#include "model/net.h"

const char *const nn_initial_names[] = { [NN_INITIAL_DEFAULT] = "default",
					 [NN_INITIAL_KAIMING] = "kaiming-uniform",
					 [NN_INITIAL_XAVIER] = "xavier-uniform",
					 [NN_INITIAL_ZEROS] = "zeros",
					 NULL };

/* What init= of a line says. */
static enum nn_initial initial_of(const struct nn_layer *layer, const void *values)
{
	for (const struct nn_layer_arg *arg = layer->args; arg && arg->name; arg++)
		if (arg->choices == nn_initial_names)
			return *(const int *)((const char *)values + arg->offset);
	return NN_INITIAL_DEFAULT;
}

static bool is_weight(const struct nn_op_param *desc)
{
	return desc->role == NN_WEIGHT || desc->role == NN_ROW_TABLE;
}

/*
 * Values of a weight are uniform in [-bound, bound): 1/sqrt(fan in) by default (what
 * torch.nn.Linear and Conv2d draw: He's uniform with a = sqrt(5)), sqrt(6/fan in) for He et al.
 * 2015 behind relu, sqrt(6/(fan in + fan out)) for Glorot and Bengio 2010. Tables: sqrt(3) by
 * default, which gives the variance of the normal values of torch.nn.Embedding.
 */
static double bound_of(enum nn_initial initial, const struct nn_op_param *desc)
{
	double fan_in = (double)desc->fan_in, fan_out = (double)desc->shape.dim[0];

	for (int i = 2; i < desc->shape.rank; i++)
		fan_out *= (double)desc->shape.dim[i];
	switch (initial) {
	case NN_INITIAL_DEFAULT:
		return desc->init == NN_INIT_UNIT             ? sqrt(3)
		       : desc->init == NN_INIT_XAVIER_UNIFORM ? sqrt(6 / (fan_in + fan_out))
							      : 1 / sqrt(fan_in);
	case NN_INITIAL_KAIMING:
		return is_weight(desc) ? sqrt(6 / fan_in) : 0;
	case NN_INITIAL_XAVIER:
		return is_weight(desc) ? sqrt(6 / (fan_in + fan_out)) : 0;
	case NN_INITIAL_ZEROS:
		break;
	}
	return 0;
}

/*
 * Element i: the numbers of counter i/4, lane i%4; an f32 value is the f64 one rounded. part:
 * beside the stream, of which a line has but sixteen.
 */
static void fill_uniform(void *values, enum nn_dtype dtype, size_t n, double bound, uint64_t seed,
			 uint32_t stream, uint32_t part)
{
	uint32_t random[4] = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (i % 4 == 0)
			nn_philox(seed, i / 4, stream, part, random);
		nn_real_put(dtype, values, i, bound * ((double)(random[i % 4] >> 8) * 0x1p-23 - 1));
	}
}

static void clear_padding(const struct nn_op_param *desc, enum nn_dtype dtype, void *values)
{
	size_t bytes = desc->shape.dim[1] * nn_dtype_size(dtype);

	if (desc->padding != NN_NO_ROW)
		memset((char *)values + desc->padding * bytes, 0, bytes);
}

/* which: number of the parameter among those of its line. */
static void fill(const struct nn_net *net, const struct nn_program_param *param, int which,
		 uint64_t seed, enum nn_dtype dtype, void *values)
{
	const struct nn_statement *statement = net->lines[net->layer_lines[param->line]].statement;
	size_t n = nn_shape_count(&param->desc.shape);
	double bound;

	if (param->desc.init == NN_INIT_ZERO || param->desc.init == NN_INIT_ONE) {
		for (size_t i = 0; i < n; i++)
			nn_real_put(dtype, values, i, param->desc.init == NN_INIT_ONE);
		return;
	}
	bound = bound_of(initial_of(statement->layer, statement->values), &param->desc);
	if (bound == 0)
		memset(values, 0, n * nn_dtype_size(dtype));
	else
		fill_uniform(values, dtype, n, bound, seed,
			     NN_STREAM_INIT + 16 * (uint32_t)(which % 16) +
				     256 * (uint32_t)param->line,
			     (uint32_t)(which / 16));
	if (param->desc.role == NN_ROW_TABLE)
		clear_padding(&param->desc, dtype, values);
}

int nn_net_init(const struct nn_net *net, uint64_t seed, enum nn_dtype dtype, void *const *params,
		struct nn_error *err)
{
	const struct nn_program *program = net->program;

	if (!program || (dtype != NN_F32 && dtype != NN_F64))
		return nn_fail(err, NN_EUSAGE,
			       "initial values are f32 or f64 ones of a resolved net");
	for (int i = 0, which = 0; i < program->n_params; i++) {
		which = i > 0 && program->params[i - 1].line == program->params[i].line ? which + 1
											: 0;
		if (params[i])
			fill(net, &program->params[i], which, seed, dtype, params[i]);
	}
	return 0;
}

void **nn_params_new(const struct nn_program *program, enum nn_dtype dtype, struct nn_error *err)
{
	return nn_params_some(program, dtype, NULL, err);
}

static size_t elements(const struct nn_program *program, const size_t *counts, int param)
{
	return counts ? counts[param] : nn_shape_count(&program->params[param].desc.shape);
}

void **nn_params_some(const struct nn_program *program, enum nn_dtype dtype, const size_t *counts,
		      struct nn_error *err)
{
	size_t head = (size_t)program->n_params * sizeof(void *), total;
	void **params;
	char *at;

	head = (head + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN;
	total = head;
	for (int i = 0; i < program->n_params; i++) {
		size_t bytes;

		if (!nn_shape_check(&program->params[i].desc.shape, nn_dtype_size(dtype), &bytes) ||
		    !nn_add(elements(program, counts, i) * nn_dtype_size(dtype), NN_ALIGN - 1,
			    &bytes) ||
		    !nn_add(total, bytes / NN_ALIGN * NN_ALIGN, &total)) {
			nn_fail(err, NN_ENOMEM,
				"the parameters of the model are more bytes than memory can be");
			return NULL;
		}
	}
	params = nn_alloc(total, 1, err);
	if (!params)
		return NULL;
	at = (char *)params + head;
	for (int i = 0; i < program->n_params; i++) {
		size_t bytes = elements(program, counts, i) * nn_dtype_size(dtype);

		if (counts && !counts[i])
			continue;
		params[i] = at;
		at += (bytes + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN;
	}
	return params;
}

void nn_params_copy(const struct nn_program *program, enum nn_dtype dtype, const size_t *counts,
		    void **to, void *const *from)
{
	for (int i = 0; i < program->n_params; i++)
		if (to[i])
			memcpy(to[i], from[i], elements(program, counts, i) * nn_dtype_size(dtype));
}
