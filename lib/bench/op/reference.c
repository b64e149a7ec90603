/*
 * The ops as plain loops in double: no blocks, no vectors, nothing that could be wrong for the
 * reason a kernel is.
 */
#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "bench/op/reference.h"

double nn_reference_activation(enum nn_activation kind, double slope, double x)
{
	switch (kind) {
#define NN_ACTIVATION(ID, id, name, argument, usual, most, help, from_y, value, ...) \
	case NN_ACT_##ID: \
		return value;
#include "op/activations.def"
	default:
		return x;
	}
}

double nn_reference_slope(enum nn_activation kind, double slope, double x, double y)
{
	switch (kind) {
#define NN_ACTIVATION(ID, id, name, argument, usual, most, help, from_y, value, derivative, doc) \
	case NN_ACT_##ID: \
		return derivative;
#include "op/activations.def"
	default:
		return 1;
	}
}

static void epilogue(const struct nn_reference *r, const struct nn_epilogue *e, double *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = nn_reference_activation(
			e->activation, e->slope,
			y[i] + (e->residual ? r->x[r->site->n_in - 1][i] : 0));
}

static size_t size(const struct nn_shape *s)
{
	return nn_shape_count(s);
}

static void activation(const struct nn_reference *r)
{
	const struct nn_activation_attrs *a = r->site->attrs;
	for (size_t i = 0; i < r->rows * size(&r->site->out); i++)
		r->y[i] = nn_reference_activation(a->kind, a->slope, r->x[0][i]);
}

static void dense(const struct nn_reference *r)
{
	const struct nn_dense *a = r->site->attrs;
	size_t in = r->site->in[0].dim[r->site->in[0].rank - 1],
	       rows = r->rows * (size(&r->site->in[0]) / in);
	for (size_t i = 0; i < rows; i++)
		for (size_t o = 0; o < a->out; o++) {
			double sum = a->bias ? r->w[1][o] : 0;
			for (size_t k = 0; k < in; k++) {
				/* k in the canonical weight; its place in a channels-last image */
				size_t at = a->channels ? k % a->positions * a->channels +
								  k / a->positions
							: k;
				sum += r->x[0][i * in + at] * r->w[0][o * in + k];
			}
			r->y[i * a->out + o] = sum;
		}
	epilogue(r, &a->epilogue, r->y, rows * a->out);
}

static size_t out_size(size_t in, size_t kernel, size_t stride, size_t pad, size_t dilation)
{
	return (in + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
}

/* x[h][w][c] of C channels -> y; largest or mean of each window */
static void pool(const struct nn_window *win, const double *x, size_t c_n, size_t height,
		 size_t width, bool mean, double *y)
{
	size_t oh_n = out_size(height, win->kernel[0], win->stride[0], win->pad[0], 1);
	size_t ow_n = out_size(width, win->kernel[1], win->stride[1], win->pad[1], 1);
	for (size_t oh = 0; oh < oh_n; oh++)
		for (size_t ow = 0; ow < ow_n; ow++)
			for (size_t c = 0; c < c_n; c++) {
				double best = -INFINITY, sum = 0;
				for (size_t i = 0; i < win->kernel[0]; i++)
					for (size_t j = 0; j < win->kernel[1]; j++) {
						size_t h = oh * win->stride[0] + i - win->pad[0],
						       w = ow * win->stride[1] + j - win->pad[1];
						if (h >= height || w >= width)
							continue;
						double v = x[(h * width + w) * c_n + c];
						best = v > best ? v : best;
						sum += v;
					}
				y[(oh * ow_n + ow) * c_n + c] =
					mean ? sum / (double)(win->kernel[0] * win->kernel[1])
					     : best;
			}
}

static void conv_pixel(const struct nn_reference *r, const double *x, size_t oh, size_t ow,
		       double *y)
{
	const struct nn_conv2d *a = r->site->attrs;
	const size_t *d = r->site->in[0].dim;
	size_t cin = d[0] / a->groups, cout = a->out / a->groups;
	for (size_t o = 0; o < a->out; o++) {
		double sum = a->bias ? r->w[1][o] : 0;
		for (size_t i = 0; i < a->kernel[0]; i++)
			for (size_t j = 0; j < a->kernel[1]; j++) {
				size_t h = oh * a->stride[0] + i * a->dilation[0] - a->pad[0];
				size_t w = ow * a->stride[1] + j * a->dilation[1] - a->pad[1];
				if (h >= d[1] || w >= d[2])
					continue;
				for (size_t c = 0; c < cin; c++)
					sum += x[(h * d[2] + w) * d[0] + o / cout * cin + c] *
					       r->w[0][((o * cin + c) * a->kernel[0] + i) *
							       a->kernel[1] +
						       j];
			}
		y[o] = sum;
	}
}

static void conv2d(const struct nn_reference *r)
{
	const struct nn_conv2d *a = r->site->attrs;
	const size_t *d = r->site->in[0].dim;
	size_t oh_n = out_size(d[1], a->kernel[0], a->stride[0], a->pad[0], a->dilation[0]);
	size_t ow_n = out_size(d[2], a->kernel[1], a->stride[1], a->pad[1], a->dilation[1]);
	size_t n = oh_n * ow_n * a->out;
	double *z = nn_alloc(r->rows * n, sizeof *z, NULL);
	if (!z) {
		/* Nothing agrees with that. */
		for (size_t i = 0; i < r->rows * size(&r->site->out); i++)
			r->y[i] = NAN;
		return;
	}
	for (size_t s = 0; s < r->rows; s++)
		for (size_t oh = 0; oh < oh_n; oh++)
			for (size_t ow = 0; ow < ow_n; ow++)
				conv_pixel(r, r->x[0] + s * d[0] * d[1] * d[2], oh, ow,
					   z + s * n + (oh * ow_n + ow) * a->out);
	epilogue(r, &a->epilogue, z, r->rows * n);
	for (size_t s = 0; s < r->rows; s++)
		if (a->pooling.on)
			pool(&a->pooling.window, z + s * n, a->out, oh_n, ow_n, false,
			     r->y + s * size(&r->site->out));
		else
			for (size_t i = 0; i < n; i++)
				r->y[s * n + i] = z[s * n + i];
	nn_free(z);
}

static void pool_all(const struct nn_reference *r, const struct nn_window *window, bool mean)
{
	const size_t *d = r->site->in[0].dim;
	for (size_t s = 0; s < r->rows; s++)
		pool(window, r->x[0] + s * d[0] * d[1] * d[2], d[0], d[1], d[2], mean,
		     r->y + s * size(&r->site->out));
}

static void maxpool2d(const struct nn_reference *r)
{
	pool_all(r, &((const struct nn_pool2d *)r->site->attrs)->window, false);
}

static void avgpool2d(const struct nn_reference *r)
{
	pool_all(r, &((const struct nn_pool2d *)r->site->attrs)->window, true);
}

static void global_avgpool(const struct nn_reference *r)
{
	const size_t *d = r->site->in[0].dim;
	struct nn_window all = { { d[1], d[2] }, { 1, 1 }, { 0, 0 } };
	pool_all(r, &all, true);
}

static void batchnorm(const struct nn_reference *r)
{
	const struct nn_batchnorm *a = r->site->attrs;
	size_t c_n = nn_shape_columns(&r->site->out), places = size(&r->site->out) / c_n;
	size_t n_groups = r->site->training ? r->n_groups : 1;
	for (size_t g = 0; g < n_groups; g++)
		for (size_t c = 0; c < c_n; c++) {
			size_t begin = r->site->training ? r->group[g] * places : 0;
			size_t end =
				r->site->training ? r->group[g + 1] * places : r->rows * places;
			double n = (double)(end - begin), mean = 0, var = 0;
			for (size_t q = begin; q < end; q++)
				mean += r->x[0][q * c_n + c] / n;
			for (size_t q = begin; q < end; q++)
				var += (r->x[0][q * c_n + c] - mean) *
				       (r->x[0][q * c_n + c] - mean) / n;
			if (r->site->training) {
				r->w[2][c] = a->momentum * mean + (1 - a->momentum) * r->w[2][c];
				r->w[3][c] = a->momentum * var * n / (n > 1 ? n - 1 : 1) +
					     (1 - a->momentum) * r->w[3][c];
			} else {
				mean = r->w[2][c];
				var = r->w[3][c];
			}
			for (size_t q = begin; q < end; q++)
				r->y[q * c_n + c] = (r->x[0][q * c_n + c] - mean) /
							    sqrt(var + a->eps) * r->w[0][c] +
						    r->w[1][c];
		}
	epilogue(r, &a->epilogue, r->y, r->rows * places * c_n);
}

static void layernorm(const struct nn_reference *r)
{
	const struct nn_layernorm *a = r->site->attrs;
	size_t n = r->site->out.dim[r->site->out.rank - 1];
	for (size_t q = 0; q < r->rows * size(&r->site->out) / n; q++) {
		const double *x = r->x[0] + q * n;
		double mean = 0, var = 0;
		for (size_t i = 0; i < n; i++)
			mean += x[i] / (double)n;
		for (size_t i = 0; i < n; i++)
			var += (x[i] - mean) * (x[i] - mean) / (double)n;
		for (size_t i = 0; i < n; i++)
			r->y[q * n + i] =
				(x[i] - mean) / sqrt(var + a->eps) * r->w[0][i] + r->w[1][i];
	}
}

static void dropout(const struct nn_reference *r)
{
	const struct nn_dropout *a = r->site->attrs;
	size_t n = size(&r->site->out);
	for (size_t s = 0; s < r->rows; s++)
		for (size_t i = 0; i < n; i++) {
			double u = nn_uniform(nn_random_u32(r->seed, r->sample + s, a->stream, i));
			r->y[s * n + i] = u < a->p ? 0 : r->x[0][s * n + i] / (1 - a->p);
		}
}

static void softmax(const struct nn_reference *r)
{
	const struct nn_softmax *a = r->site->attrs;
	size_t n = nn_shape_columns(&r->site->out);
	for (size_t q = 0; q < r->rows * size(&r->site->out) / n; q++) {
		const double *x = r->x[0] + q * n;
		double most = -INFINITY, sum = 0;
		for (size_t i = 0; i < n; i++)
			most = x[i] > most ? x[i] : most;
		for (size_t i = 0; i < n; i++)
			sum += exp(x[i] - most);
		for (size_t i = 0; i < n; i++)
			r->y[q * n + i] = a->log ? x[i] - most - log(sum) : exp(x[i] - most) / sum;
	}
}

static void add(const struct nn_reference *r)
{
	for (size_t i = 0; i < r->rows * size(&r->site->out); i++) {
		r->y[i] = 0;
		for (int j = 0; j < r->site->n_in; j++)
			r->y[i] += r->x[j][i];
	}
}

static void mul(const struct nn_reference *r)
{
	for (size_t i = 0; i < r->rows * size(&r->site->out); i++) {
		r->y[i] = 1;
		for (int j = 0; j < r->site->n_in; j++)
			r->y[i] *= r->x[j][i];
	}
}

static void concat(const struct nn_reference *r)
{
	/* language dimension of each dimension in memory */
	static const int image[3] = { 1, 2, 0 }, plain[3] = { 0, 1, 2 };
	const struct nn_concat *a = r->site->attrs;
	const int *order = r->site->out.rank == 3 ? image : plain;
	size_t y_run = size(&r->site->out), turns = r->rows, place = 0;
	for (int i = 0; i < r->site->out.rank && order[i] != a->dim; i++) {
		turns *= r->site->out.dim[order[i]];
		y_run /= r->site->out.dim[order[i]];
	}
	for (int j = 0; j < r->site->n_in; j++) {
		size_t run = r->rows * size(&r->site->in[j]) / turns;
		for (size_t t = 0; t < turns; t++)
			for (size_t i = 0; i < run; i++)
				r->y[t * y_run + place + i] = r->x[j][t * run + i];
		place += run;
	}
}

/* Numbers outside the table, and in sums the padding, are zeros. */
static void embedding(const struct nn_reference *r)
{
	const struct nn_embedding *a = r->site->attrs;
	size_t group = a->sum ? r->site->in->dim[r->site->in->rank - 1] : 1,
	       n = r->rows * size(r->site->in);
	for (size_t i = 0; i < n / group * a->size; i++)
		r->y[i] = 0;
	for (size_t i = 0; i < n; i++) {
		double x = r->x[0][i];
		bool row = x >= 0 && x < (double)a->rows && !(a->sum && (size_t)x == a->padding);
		for (size_t k = 0; row && k < a->size; k++)
			r->y[i / group * a->size + k] += r->w[0][(size_t)x * a->size + k];
	}
}

static void conv_transpose2d(const struct nn_reference *r)
{
	const struct nn_conv_transpose2d *a = r->site->attrs;
	nn_reference_conv_transpose2d(r);
	epilogue(r, &a->epilogue, r->y, r->rows * size(&r->site->out));
}

static void last(const struct nn_reference *r)
{
	const size_t *d = r->site->in[0].dim;
	for (size_t i = 0; i < r->rows * d[1]; i++)
		r->y[i] = r->x[0][(i / d[1] * d[0] + d[0] - 1) * d[1] + i % d[1]];
}

static void position(const struct nn_reference *r)
{
	size_t n = size(&r->site->out);
	for (size_t i = 0; i < r->rows * n; i++)
		r->y[i] = r->x[0][i] + r->w[0][i % n];
}

/* y of a position: q, and of all keys and values the first, 3 n apart; heads lie side by side. */
static void attend(const double *q, const double *keys, size_t keys_n, size_t n, size_t size,
		   double *y)
{
	const double *values = keys + n;
	double sum = 0, most = -INFINITY;
	for (int pass = 0; pass < 2; pass++)
		for (size_t j = 0; j < keys_n; j++) {
			double score = 0, weight;
			for (size_t k = 0; k < size; k++)
				score += q[k] * keys[3 * n * j + k];
			score /= sqrt((double)size);
			if (pass == 0) {
				most = score > most ? score : most;
				continue;
			}
			weight = exp(score - most);
			sum += weight;
			for (size_t k = 0; k < size; k++)
				y[k] = (j ? y[k] : 0) + weight * values[3 * n * j + k];
		}
	for (size_t k = 0; k < size; k++)
		y[k] /= sum;
}

static void attention(const struct nn_reference *r)
{
	const struct nn_attention *a = r->site->attrs;
	size_t t_n = r->site->out.dim[0], n = r->site->out.dim[1], part = n / a->heads;
	for (size_t s = 0; s < r->rows; s++)
		for (size_t t = 0; t < t_n; t++)
			for (size_t h = 0; h < n; h += part) {
				const double *x = r->x[0] + s * t_n * 3 * n + h;
				attend(x + t * 3 * n, x + n, a->causal ? t + 1 : t_n, n, part,
				       r->y + (s * t_n + t) * n + h);
			}
}

static void reshape(const struct nn_reference *r)
{
	for (size_t i = 0; i < r->rows * size(&r->site->out); i++)
		r->y[i] = r->x[0][i];
}

/* Ops whose loops are in files of their own. */
#define ELSEWHERE(op) \
	static void op(const struct nn_reference *r) \
	{ \
		nn_reference_##op(r); \
	}
ELSEWHERE(permute)
ELSEWHERE(recurrent)
ELSEWHERE(slice)
ELSEWHERE(transpose)
ELSEWHERE(upsample)

void (*const nn_references[NN_N_OPS])(const struct nn_reference *r) = {
#define NN_OP(id, name) [NN_OP_##id] = id,
#include "op/ops.def"
#undef NN_OP
};
