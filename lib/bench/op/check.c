/*
 * Is what a kernel gives right? Rows of it against plain loops, gradients against differences of
 * these loops.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "bench/op/reference.h"
#include "bench/op/trial.h"
#include "device/products.h"
#include "step/cut.h"

/*
 * Rows are compared in blocks: a row, or a group of batch norm. Before backward dy is 0 outside the
 * blocks that were picked, so that what the loops say of these blocks alone is all there may be in
 * the gradients.
 */
#define BLOCKS 6    /* at most */
#define BUDGET 1e8  /* FLOP of the loops for a pass over the picked blocks, a block at least */
#define ELEMENTS 12 /* of an array whose gradients are looked at together */

struct block {
	size_t begin, rows, group[2];
	double **x, *y, *dy;
};

struct check {
	struct nn_op_trial *t;
	struct block blocks[BLOCKS];
	size_t n;
	double *w[NN_MAX_PARAMS]; /* values that differences move */
	uint64_t state;
};

static size_t pick(struct check *c, size_t n)
{
	return (size_t)(nn_lcg(&c->state) >> 33) % n;
}

/* ---- blocks ---- */

static size_t in_size(const struct check *c, int j)
{
	return nn_shape_count(&c->t->site.in[j]);
}

/* n values from element `at` on. */
static int read_part(const struct nn_op_trial *t, const void *array, size_t at, size_t n,
		     double *values, struct nn_error *err)
{
	const void *host = nn_op_trial_fetch(
		t, (const char *)array + at * nn_dtype_size(t->device->dtype), n, err);

	if (!host)
		return -1;
	for (size_t i = 0; i < n; i++)
		values[i] = nn_op_trial_real(t, host, i);
	nn_op_trial_drop(t, host);
	return 0;
}

static int take_block(struct check *c, struct block *b, struct nn_error *err)
{
	struct nn_op_trial *t = c->t;

	b->group[1] = b->rows;
	b->y = nn_alloc(b->rows * t->out_size, sizeof(double), err);
	b->dy = nn_alloc(b->rows * t->out_size, sizeof(double), err);
	if (!b->y || !b->dy || !(b->x = nn_alloc((size_t)t->site.n_in, sizeof *b->x, err)))
		return -1;
	for (int j = 0; j < t->site.n_in; j++) {
		size_t n = b->rows * in_size(c, j), at = b->begin * in_size(c, j);

		if (!(b->x[j] = nn_alloc(n, sizeof(double), err)) ||
		    read_part(t, t->x[0][j], at, n, b->x[j], err) < 0)
			return -1;
	}
	return 0;
}

static int take_blocks(struct check *c, struct nn_error *err)
{
	struct nn_op_trial *t = c->t;
	const struct nn_span *span = &t->cut->spans[0].span;
	size_t there = span->n_groups ? span->n_groups : t->rows;
	double cost = nn_op_trial_flop(t, false) / (double)there,
	       most = fmin(BLOCKS, BUDGET / fmax(cost, 1));

	c->n = most < 1 ? 1 : most < (double)there ? (size_t)most : there;
	for (size_t i = 0; i < c->n; i++) {
		struct block *b = &c->blocks[i];
		size_t which = c->n > 1 ? i * (there - 1) / (c->n - 1) : there - 1;

		b->begin = span->n_groups ? span->group[which] : which;
		b->rows = span->n_groups ? span->group[which + 1] - b->begin : 1;
		if (take_block(c, b, err) < 0)
			return -1;
	}
	for (int p = 0; p < t->n_params; p++)
		c->w[p] = t->values[p];
	return 0;
}

static void free_blocks(struct check *c)
{
	for (size_t i = 0; i < c->n; i++) {
		for (int j = 0; c->blocks[i].x && j < c->t->site.n_in; j++)
			nn_free(c->blocks[i].x[j]);
		nn_free(c->blocks[i].x);
		nn_free(c->blocks[i].y);
		nn_free(c->blocks[i].dy);
	}
}

static void run_block(const struct check *c, struct block *b)
{
	const struct nn_op_trial *t = c->t;
	struct nn_reference r = {
		.site = &t->site,
		.rows = b->rows,
		.sample = t->call.sample + b->begin,
		.seed = t->call.seed,
		.x = (const double *const *)b->x,
		.w = c->w,
		.group = b->group,
		.n_groups = 1,
		.y = b->y,
	};

	nn_references[t->op](&r);
}

/* ---- forward ---- */

static int forward_difference(struct check *c, double *found, struct nn_error *err)
{
	struct nn_op_trial *t = c->t;
	const void *y = nn_op_trial_fetch(t, t->y, t->rows * t->out_size, err);
	double largest = 0, difference = 0;

	if (!y)
		return -1;

	for (size_t i = 0; i < c->n; i++) {
		struct block *b = &c->blocks[i];
		size_t n = b->rows * t->out_size, at = b->begin * t->out_size;

		run_block(c, b);
		for (size_t k = 0; k < n; k++) {
			double d = fabs(nn_op_trial_real(t, y, at + k) - b->y[k]);

			largest = fmax(largest, fabs(b->y[k]));
			/* NaN where there should be a number is as far away as can be. */
			difference = isnan(d) ? INFINITY : fmax(difference, d);
		}
	}
	nn_op_trial_drop(t, y);
	*found = largest > 0 ? difference / largest : difference;
	return 0;
}

/* ---- backward ---- */

static int put_dy(struct check *c, struct nn_error *err)
{
	struct nn_op_trial *t = c->t;
	size_t size = t->out_size, bytes = nn_dtype_size(t->device->dtype);

	nn_queue_clear(t->queue, t->dy[0], t->rows * size * bytes);
	for (size_t i = 0; i < c->n; i++) {
		struct block *b = &c->blocks[i];

		if (read_part(t, t->given[0], b->begin * size, b->rows * size, b->dy, err) < 0 ||
		    nn_op_trial_store(t, (char *)t->dy[0] + b->begin * size * bytes,
				      b->rows * size, b->dy, err) < 0)
			return -1;
	}
	return 0;
}

/* The sum over blocks [from, to) of dy * y, which gradients are derivatives of. */
static double objective(struct check *c, size_t from, size_t to)
{
	double sum = 0;

	for (size_t i = from; i < to; i++) {
		struct block *b = &c->blocks[i];

		run_block(c, b);
		for (size_t k = 0; k < b->rows * c->t->out_size; k++)
			sum += b->dy[k] * b->y[k];
	}
	return sum;
}

/*
 * Elements of an array of doubles that all blocks, or one, depend on; and the gradient that the
 * kernel gave for them together.
 */
struct direction {
	double *values;
	size_t n, element[ELEMENTS];
	size_t from, to; /* blocks */
	double gradient, scale;
};

static void move(const struct direction *d, double by)
{
	for (size_t i = 0; i < d->n; i++)
		d->values[d->element[i]] += i % 2 ? -by : by;
}

/*
 * Where a step crosses the bend of a relu or the rank of two values the difference is no
 * derivative: a smaller step is tried.
 */
static double direction_difference(struct check *c, const struct direction *d, double allowed)
{
	double difference = INFINITY, old[ELEMENTS];

	for (size_t i = 0; i < d->n; i++)
		old[i] = d->values[d->element[i]];
	for (double h = 0x1p-20; h >= 0x1p-30 && !(difference <= allowed); h *= 0x1p-5) {
		double up, down, found;

		move(d, h);
		up = objective(c, d->from, d->to);
		move(d, -2 * h);
		down = objective(c, d->from, d->to);
		for (size_t i = 0; i < d->n; i++)
			d->values[d->element[i]] = old[i];
		found = fabs((up - down) / (2 * h) - d->gradient) / (d->scale > 0 ? d->scale : 1);
		difference = isnan(found) ? INFINITY : fmin(difference, found);
	}
	return difference;
}

/* Elements drawn from n, with the kernel's gradients of them from array[offset + element]. */
static void draw(struct check *c, struct direction *d, size_t n, const void *array, size_t offset)
{
	struct nn_op_trial *t = c->t;

	d->n = n < ELEMENTS ? n : ELEMENTS;
	for (size_t i = 0; i < n; i++)
		d->scale = fmax(d->scale, fabs(nn_op_trial_real(t, array, offset + i)));
	for (size_t i = 0; i < d->n; i++) {
		double g;

		d->element[i] = n <= ELEMENTS ? i : i * (n / d->n) + pick(c, n / d->n);
		g = nn_op_trial_real(t, array, offset + d->element[i]);
		d->gradient += i % 2 ? -g : g;
	}
}

static int input_difference(struct check *c, int j, double allowed, double *found,
			    struct nn_error *err)
{
	struct nn_op_trial *t = c->t;
	const void *dx = nn_op_trial_fetch(t, t->dx[j], nn_op_trial_in(t, j), err);
	double difference = 0;
	size_t row = 0;

	if (!dx)
		return -1;

	for (size_t i = 0; i < c->n; i++) {
		struct block *b = &c->blocks[i];
		struct direction d = { .values = b->x[j], .from = i, .to = i + 1 };

		draw(c, &d, b->rows * in_size(c, j), dx, b->begin * in_size(c, j));
		difference = fmax(difference, direction_difference(c, &d, allowed));
		/* Where dy is 0 there is no gradient. */
		for (; row < b->begin * in_size(c, j); row++)
			if (nn_op_trial_real(t, dx, row) != 0)
				difference = INFINITY;
		row += b->rows * in_size(c, j);
	}
	nn_op_trial_drop(t, dx);
	*found = fmax(*found, difference);
	return 0;
}

static int param_difference(struct check *c, int p, double allowed, double *difference,
			    struct nn_error *err)
{
	struct nn_op_trial *t = c->t;
	size_t n = nn_shape_count(&t->params[p].shape);
	struct direction d = { .values = c->w[p], .from = 0, .to = c->n };
	void *plain = nn_alloc(n, nn_dtype_size(t->device->dtype), err);

	if (!plain)
		return -1;
	if ((t->params[p].role == NN_ROW_TABLE
		     ? nn_op_lists_gradient(t, plain, err)
		     : nn_op_trial_unpack(t, p, t->dw[p], plain, err)) < 0) {
		nn_free(plain);
		return -1;
	}
	draw(c, &d, n, plain, 0);
	nn_free(plain);
	*difference = fmax(*difference, direction_difference(c, &d, allowed));
	return 0;
}

static int backward_difference(struct check *c, double allowed, double *difference,
			       struct nn_error *err)
{
	struct nn_op_trial *t = c->t;

	if (put_dy(c, err) < 0)
		return -1;
	t->calls = 0;
	t->call.dy = t->dy[0];
	t->kernel->backward(&t->call);
	if (t->lists.entries)
		nn_op_lists_sum(t);
	*difference = 0;
	for (int j = 0; j < t->site.n_in; j++)
		if (t->dx[j] && input_difference(c, j, allowed, difference, err) < 0)
			return -1;
	for (int p = 0; p < t->n_params; p++)
		if (t->dw[p] && param_difference(c, p, allowed, difference, err) < 0)
			return -1;
	nn_queue_copy(t->queue, t->dy[0], t->given[0],
		      t->rows * t->out_size * nn_dtype_size(t->device->dtype));
	return 0;
}

/* ---- both ---- */

/*
 * A chain of K products of values around 0 has errors of about sqrt(K) / 3 roundings of its largest
 * partial sums, four times less of the largest result; ten times that is an error. Vector
 * functions are right to a few. Factors that are rounded are good to 2^-9 at least.
 */
static double rounding(const struct nn_op_trial *t, bool backward)
{
	double one = nn_products_rounded(nn_products_named(t->device->name)) ? 0x1p-12
		     : t->device->dtype == NN_F64			     ? 0x1p-53
									     : 0x1p-24,
	       terms = nn_op_trial_flop(t, false) / (double)t->rows / 2;

	terms = backward ? terms + (double)t->rows : terms / (double)t->out_size;
	return fmax(one * (32 + 4 * sqrt(terms)), backward ? 1e-6 : 0);
}

int nn_op_trial_check(struct nn_op_trial *t, bool backward, double *difference, double *allowed,
		      struct nn_error *err)
{
	struct check c = { .t = t, .state = 1 };
	int status = take_blocks(&c, err);
	const size_t repeat = t->repeat;

	*allowed = rounding(t, backward);
	t->repeat = 1;
	if (status == 0) {
		t->calls = 0;
		nn_op_trial_forward(t);
		if (backward)
			status = backward_difference(&c, *allowed, difference, err);
		else
			status = forward_difference(&c, difference, err);
	}
	t->repeat = repeat;
	free_blocks(&c);
	return status == 0 ? nn_op_trial_failed(t, err) : -1;
}
