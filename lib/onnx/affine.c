/*
 * Scales and shifts by constants. The language has no layer for them; they wait with the value, are
 * joined with what follows, become the bias of a product before them or a batchnorm whose running
 * statistics do nothing, and are left out where our own metadata have them as scales of a table.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "onnx/graph.h"

#define EPS 1e-5 /* of the batchnorm */

/* Dimension `dim` of rows as a constant has it, which is written from the last dimension on. */
static size_t size_at(const struct nn_onnx_constant *c, int rank, int dim)
{
	int at = dim + c->shape.rank - rank;

	return at < 0 ? 1 : c->shape.dim[at];
}

/* Features of v that a constant tells apart: 1, channels or all; 0: it would widen the rows. */
static size_t features(const struct nn_onnx_value *v, const struct nn_onnx_constant *c)
{
	int rank = v->shape.rank, extra = c->shape.rank - rank;
	bool channels = rank > 0 && size_at(c, rank, 0) == v->shape.dim[0];

	if (extra > 1 || (extra == 1 && c->shape.dim[0] != 1) || c->count == 0)
		return 0;
	for (int dim = 0; dim < rank; dim++) {
		size_t n = size_at(c, rank, dim);

		if (n != 1 && n != v->shape.dim[dim])
			return 0;
		channels &= dim == 0 || n == 1;
	}
	return c->count == 1 ? 1 : channels ? v->shape.dim[0] : nn_shape_count(&v->shape);
}

/* The element of a constant that stands beside feature i of n. */
static size_t element(const struct nn_onnx_value *v, const struct nn_onnx_constant *c, size_t i,
		      size_t n)
{
	size_t all = nn_shape_count(&v->shape), at = 0, stride = 1;

	i *= all / n;
	for (int dim = v->shape.rank; dim-- > 0; i /= v->shape.dim[dim]) {
		size_t size = size_at(c, v->shape.rank, dim);

		if (size > 1)
			at += i % v->shape.dim[dim] * stride;
		stride *= size;
	}
	return at;
}

/* The number of features of both: they are the same, or one of them is 1 or coarser. */
static int widen(struct nn_onnx_affine *a, size_t n, size_t all, struct nn_error *err)
{
	double *scale, *shift;

	if (a->n == n)
		return 0;
	scale = nn_alloc(n, sizeof *scale, err);
	shift = nn_alloc(n, sizeof *shift, err);
	for (size_t i = 0; scale && shift && i < n; i++) {
		size_t k = a->n <= 1 ? 0 : i / (all / a->n);

		scale[i] = a->n == 0 ? 1 : a->scale[k];
		shift[i] = a->n == 0 ? 0 : a->shift[k];
	}
	if (!scale || !shift) {
		nn_free(scale);
		nn_free(shift);
		return -1;
	}
	nn_free(a->scale);
	nn_free(a->shift);
	*a = (struct nn_onnx_affine){ n, scale, shift };
	return 0;
}

static void join(double *scale, double *shift, double c, enum nn_onnx_affine_kind kind)
{
	switch (kind) {
	case NN_ONNX_ADDED:
		*shift += c;
		break;
	case NN_ONNX_SUBTRACTED:
		*shift -= c;
		break;
	case NN_ONNX_SUBTRACTED_FROM:
		*scale = -*scale;
		*shift = c - *shift;
		break;
	case NN_ONNX_MULTIPLIED:
		*scale *= c;
		*shift *= c;
		break;
	case NN_ONNX_DIVIDED:
		*scale /= c;
		*shift /= c;
		break;
	}
}

/* The bias of the product that gives v, where that has none and nothing else takes v. */
static int as_bias(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		   struct nn_onnx_value *v, const struct nn_onnx_constant *c, bool *done,
		   struct nn_error *err)
{
	struct nn_onnx_line *line = &g->lines[v->line];
	struct nn_shape shape = nn_shape1(line->out);
	int feature = c->shape.rank - line->bare;

	*done = line->bare > 0 && v->uses == 1 && v->affine.n == 0 && c->count == line->out &&
		nn_dtype_float(c->dtype) && nn_shape_equal(&v->shape, &v->held) && feature >= 0 &&
		c->shape.dim[feature] == line->out;
	if (!*done)
		return 0;
	line->bare = 0;
	if (nn_onnx_add_parameter(g, v->line, "bias", c, &shape, err) < 0)
		return -1;
	return nn_onnx_pass(g, node, v, &v->shape, err);
}

int nn_onnx_affine(struct nn_onnx_graph *g, const struct nn_onnx_node *node,
		   struct nn_onnx_value *v, const struct nn_onnx_constant *c,
		   enum nn_onnx_affine_kind kind, struct nn_error *err)
{
	size_t n = features(v, c), all = nn_shape_count(&v->shape);
	char a[NN_SHAPE_TEXT], b[NN_SHAPE_TEXT];
	struct nn_onnx_affine *out = &g->values[node->out[0]].affine;
	bool done = false;

	if (n == 0)
		return nn_fail(err, NN_EFORMAT,
			       "a constant of %s beside rows of %s is not supported",
			       nn_shape_text(a, &c->shape), nn_shape_text(b, &v->shape));
	if (kind == NN_ONNX_ADDED && (as_bias(g, node, v, c, &done, err) < 0 || done))
		return done ? 0 : -1;
	if (nn_onnx_pass(g, node, v, &v->shape, err) < 0 ||
	    widen(out, n > out->n ? n : out->n, all, err) < 0)
		return -1;
	for (size_t i = 0; i < out->n; i++) {
		join(&out->scale[i], &out->shift[i], nn_onnx_real(c, element(v, c, i, out->n)),
		     kind);
		if (!isfinite(out->scale[i]) || !isfinite(out->shift[i]))
			return nn_fail(err, NN_EFORMAT, "scales by a number that is not finite");
	}
	return 0;
}

static bool nothing(const struct nn_onnx_affine *a)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->scale[i] != 1 || a->shift[i] != 0)
			return false;
	return true;
}

/* A parameter of n values: `values`, or all `value`. */
static int add(struct nn_onnx_graph *g, int line, const char *name, size_t n, const double *values,
	       double value, struct nn_error *err)
{
	struct nn_onnx_constant *c = nn_onnx_constant_new(g, err);
	struct nn_shape shape = nn_shape1(n);

	if (!c || nn_onnx_constant_room(c, NN_F32, &shape, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		((float *)c->owned.data)[i] = (float)(values ? values[i] : value);
	return nn_onnx_add_parameter(g, line, name, c, &shape, err);
}

/* The shape in which a batchnorm has these features: an image, or a vector of all. */
static int shape_for(struct nn_onnx_graph *g, struct nn_onnx_value *v, struct nn_error *err)
{
	size_t all = nn_shape_count(&v->shape);

	if (v->held.rank == 1)
		return widen(&v->affine, all, all, err);
	if (v->held.rank == 3 && (v->affine.n == 1 || v->affine.n == v->held.dim[0]))
		return widen(&v->affine, v->held.dim[0], all, err);
	v->line = nn_onnx_add_line(g, &v->line, 1, NULL, NULL, err, "flatten");
	v->held = nn_shape1(all);
	return v->line < 0 ? -1 : widen(&v->affine, all, all, err);
}

int nn_onnx_affine_settle(struct nn_onnx_graph *g, struct nn_onnx_value *v, struct nn_error *err)
{
	int line;

	if (nothing(&v->affine)) {
		v->affine.n = 0;
		return 0;
	}
	if (shape_for(g, v, err) < 0)
		return -1;
	line = nn_onnx_add_line(g, &v->line, 1, NULL, NULL, err, "batchnorm");
	if (line < 0 || add(g, line, "weight", v->affine.n, v->affine.scale, 0, err) < 0 ||
	    add(g, line, "bias", v->affine.n, v->affine.shift, 0, err) < 0 ||
	    add(g, line, "running_mean", v->affine.n, NULL, 0, err) < 0 ||
	    add(g, line, "running_var", v->affine.n, NULL, 1 - EPS, err) < 0)
		return -1;
	v->line = line;
	v->affine.n = 0;
	return 0;
}
