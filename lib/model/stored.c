/*
 * The types in which files hold the values of a model: bf16 and f16 by rounding to nearest even,
 * int8 weights of dense layers and convolutions with a scale for each output channel.
 *
 * Statistics stay f32: they are few, and f16 does not have their range. An int8 weight is q times
 * its channel's scale, q from -127 to 127; a channel's largest magnitude is 127 scales. The scale,
 * NAME_scale of shape [out,1,...], has 17 bits: so the product is exact in f32, and a model that is
 * written again has the same bytes.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "base/int8.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "file/bytes.h"
#include "file/convert.h"
#include "model/stored.h"

static enum nn_param_role role_of(const struct nn_program_param *param)
{
	return param->frozen ? param->was : param->desc.role;
}

/* ---- bf16 and f16 ---- */

static int fail_range(const char *name, enum nn_dtype dtype, float value, struct nn_error *err)
{
	char number[NN_NUMBER];

	nn_format_f32(number, value);
	return nn_fail(err, NN_EFAIL, "--precision=%s: tensor '%s': found %s, %s",
		       nn_dtype_name(dtype), name, number,
		       dtype == NN_F16 ? "the largest f16 is 65504; bf16 has the range of f32"
				       : "which rounds to no finite bf16");
}

static int narrow(struct nn_st_tensor *t, struct nn_block *block, enum nn_dtype dtype,
		  struct nn_error *err)
{
	size_t n = nn_shape_count(&t->shape);
	uint16_t infinite = dtype == NN_F16 ? 0x7c00 : 0x7f80, *half;
	const float *wide = t->data;

	if (nn_block_reserve(block, n * sizeof *half + 1, err) < 0)
		return -1;
	half = block->data;
	nn_half(dtype, false)->narrow(wide, half, 1, n);
	for (size_t i = 0; i < n; i++)
		if ((half[i] & 0x7fff) == infinite && fabsf(wide[i]) <= FLT_MAX)
			return fail_range(t->name, dtype, wide[i], err);
	t->dtype = dtype;
	t->data = half;
	return 0;
}

/* ---- int8 ---- */

static int quantize(struct nn_st_tensor *t, struct nn_block *block, struct nn_st_tensor *scales,
		    struct nn_block *scale_block, struct nn_error *err)
{
	size_t rows = t->shape.dim[0], n = nn_shape_count(&t->shape), row = rows ? n / rows : 0;
	const float *values = t->data;

	if (nn_find_not_finite(NN_F32, values, n) < n)
		return nn_fail(err, NN_EFAIL,
			       "--precision=int8: tensor '%s': found values that are not finite, "
			       "for which there is no scale",
			       t->name);
	if (nn_block_reserve(block, n + 1, err) < 0 ||
	    nn_block_reserve(scale_block, rows * sizeof(float) + 1, err) < 0)
		return -1;
	for (size_t r = 0; r < rows; r++) {
		float scale = nn_int8_scale(values + r * row, row);

		((float *)scale_block->data)[r] = scale;
		for (size_t i = r * row; i < (r + 1) * row; i++)
			((int8_t *)block->data)[i] = scale > 0 ? nn_int8_of(values[i], scale) : 0;
	}
	scales->dtype = NN_F32;
	scales->shape = t->shape;
	for (int d = 1; d < t->shape.rank; d++)
		scales->shape.dim[d] = 1;
	scales->data = scale_block->data;
	t->dtype = NN_I8;
	t->data = block->data;
	return 0;
}

static bool scaled_by(const struct nn_program *program, const struct nn_program_param *param)
{
	enum nn_op_id op = program->nodes[param->node].op;

	return (op == NN_OP_dense || op == NN_OP_conv2d) && role_of(param) == NN_WEIGHT;
}

/* ---- writing ---- */

static char *scale_name(const char *name, struct nn_error *err)
{
	size_t n = strlen(name) + sizeof NN_ST_SCALE;
	char *text = nn_alloc(n, 1, err);

	if (text)
		snprintf(text, n, "%s" NN_ST_SCALE, name);
	return text;
}

static int store(struct nn_st *st, const struct nn_program *program, int p, enum nn_dtype dtype,
		 const void *values, struct nn_error *err)
{
	const struct nn_program_param *param = &program->params[p];
	size_t i = st->n_tensors++, s;

	st->tensors[i] = (struct nn_st_tensor){ .name = param->name,
						.dtype = nn_dtype_computed(dtype),
						.shape = param->desc.shape,
						.data = values };
	if ((dtype == NN_F16 || dtype == NN_BF16) && role_of(param) != NN_BUFFER)
		return narrow(&st->tensors[i], &st->arrays[i], dtype, err);
	if (dtype != NN_I8 || !scaled_by(program, param))
		return 0;
	s = st->n_tensors++;
	st->tensors[s].name = st->names[s] = scale_name(param->name, err);
	return st->names[s] ? quantize(&st->tensors[i], &st->arrays[i], &st->tensors[s],
				       &st->arrays[s], err)
			    : -1;
}

int nn_stored_tensors(struct nn_st **result, const struct nn_program *program, enum nn_dtype dtype,
		      const void *const *params, struct nn_error *err)
{
	struct nn_st *st = nn_alloc(1, sizeof *st, err);
	int status = st ? nn_st_reserve(st, 2 * (size_t)program->n_params, err) : -1;

	for (int p = 0; p < program->n_params && status == 0; p++)
		status = store(st, program, p, dtype, params[p], err);
	if (status < 0) {
		nn_st_free(st);
		return -1;
	}
	*result = st;
	return 0;
}

/* ---- reading ---- */

static bool has_scales(const struct nn_st *st)
{
	for (size_t i = 0; i < st->n_tensors; i++)
		if (nn_st_scales(st->tensors, st->n_tensors, i))
			return true;
	return false;
}

static int widen(struct nn_st_tensor *t, const struct nn_st_tensor *scales, struct nn_block *block,
		 const char *place, struct nn_error *err)
{
	struct nn_shape wanted = t->shape;
	size_t n = nn_shape_count(&t->shape), rows;
	char a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT], quoted[NN_QUOTED];
	const int8_t *q = t->data;

	for (int d = 1; d < wanted.rank; d++)
		wanted.dim[d] = 1;
	if (scales->dtype != NN_F32 || !nn_shape_equal(&scales->shape, &wanted))
		return nn_fail(err, NN_EFORMAT, "%s: tensor '%s' is %s %s, expected %s f32", place,
			       nn_quote(quoted, scales->name, strlen(scales->name)),
			       nn_shape_text(a, &scales->shape), nn_dtype_name(scales->dtype),
			       nn_shape_text(b, &wanted));
	t->dtype = NN_F32;
	if (!q) /* not wanted */
		return 0;
	if (nn_block_reserve(block, n * sizeof(float) + 1, err) < 0)
		return -1;
	rows = nn_shape_count(&wanted);
	for (size_t i = 0; i < n; i++)
		((float *)block->data)[i] =
			(float)q[i] * ((const float *)scales->data)[i / (n / rows)];
	t->data = block->data;
	return 0;
}

static int widen_all(struct nn_st *own, const struct nn_st *st, const char *place,
		     struct nn_error *err)
{
	const struct nn_st_tensor *scales,
		*last = NULL; /* scales that are no tensor of their own */

	if (nn_st_reserve(own, st->n_tensors, err) < 0)
		return -1;
	for (size_t i = 0; i < st->n_tensors; i++) {
		size_t at = own->n_tensors;

		if (&st->tensors[i] == last)
			continue;
		own->tensors[own->n_tensors++] = st->tensors[i];
		scales = nn_st_scales(st->tensors, st->n_tensors, i);
		last = scales ? scales : last;
		if (scales && widen(&own->tensors[at], scales, &own->arrays[at], place, err) < 0)
			return -1;
	}
	return 0;
}

int nn_stored_widen(struct nn_st **st, const char *place, struct nn_error *err)
{
	struct nn_st *own;

	if (!has_scales(*st))
		return 0;
	own = nn_alloc(1, sizeof *own, err);
	if (!own || widen_all(own, *st, place, err) < 0) {
		nn_st_free(own);
		return -1;
	}
	own->base = *st;
	*st = own;
	return 0;
}

enum nn_dtype nn_stored_dtype(const struct nn_st *st, const struct nn_program *program)
{
	enum nn_dtype dtype = NN_F32;
	bool same = true, wide = false, any = false;
	size_t whole = 0, scaled = 0; /* weights that are int8, and that might be */

	for (int p = 0; p < program->n_params; p++) {
		const struct nn_st_tensor *t = nn_st_find(st, program->params[p].name);

		scaled += scaled_by(program, &program->params[p]);
		whole += t && t->dtype == NN_I8;
		if (!t || role_of(&program->params[p]) == NN_BUFFER)
			continue;
		same &= !any || t->dtype == dtype;
		wide |= t->dtype == NN_F64;
		dtype = t->dtype;
		any = true;
	}
	if (whole > 0 && whole == scaled)
		return NN_I8;
	return same ? dtype : wide ? NN_F64 : NN_F32;
}
