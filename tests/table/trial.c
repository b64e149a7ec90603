/*
 * One op at one site on one device: a pass forward and backward in any cut, results as bytes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "base/random.h"
#include "table/trial.h"

#define GUARD 256
#define MAX_THREADS 4
#define GUARD_BYTE 0x5a

static uint64_t state = 1;

static void *take(size_t bytes)
{
	struct nn_error err;
	void *p = nn_alloc(bytes + 64, 1, &err);
	if (!p) {
		puts("Bail out! out of memory");
		exit(1);
	}
	return p;
}

static void check(const char *name, int status, const struct nn_error *err)
{
	if (status < 0) {
		printf("Bail out! %s: %s\n", name, err->text);
		exit(1);
	}
}

double *doubles(size_t n)
{
	return take(n * sizeof(double));
}

/* Uniform in [-2, 2), multiples of 2^-20. */
static double *noises(size_t n)
{
	double *v = doubles(n);
	for (size_t i = 0; i < n; i++)
		v[i] = (double)(int64_t)(nn_lcg(&state) >> 42) * 0x1p-20 - 2;
	return v;
}

/* ---- data ---- */

/* Numbers of rows, some of which the table does not have. */
static void rows_of(struct data *d, int j)
{
	double rows = (double)d->params[0].shape.dim[0], beside = floor(rows / 6);
	for (size_t i = 0; i < d->n_x[j]; i++)
		d->x[j][i] = floor((d->x[j][i] + 2) / 4 * (rows + beside + 1)) - beside;
}

void data_init(struct data *d, const struct nn_op_site *site)
{
	const struct nn_op *op = nn_ops[site->op];
	struct nn_error err;
	memset(d, 0, sizeof *d);
	d->site = site;
	state = site->op + 1;
	check(site->name, op->infer(site->attrs, site->in, site->n_in, &d->out, &err), &err);
	d->n_params = op->params ? op->params(site->attrs, site->in, site->n_in, d->params) : 0;
	for (int j = 0; j < site->n_in; j++) {
		d->n_x[j] = site->rows * nn_shape_count(&site->in[j]);
		d->x[j] = noises(d->n_x[j]);
		if (op->flags & NN_OP_NUMBERS_ROWS)
			rows_of(d, j);
		d->old[j] = noises(d->n_x[j]);
	}
	for (int p = 0; p < d->n_params; p++) {
		d->n_w[p] = nn_shape_count(&d->params[p].shape);
		d->w[p] = noises(d->n_w[p]);
		for (size_t i = 0; i < d->n_w[p]; i++)
			d->w[p][i] = p == 3 ? 0.5 + d->w[p][i] * d->w[p][i] / 4 : d->w[p][i] / 4;
	}
	d->n_y = site->rows * nn_shape_count(&d->out);
	d->dy = noises(d->n_y);
	d->cut = nn_cut_new(site->rows, site->n_leaves, nn_op_group(site->op, site->attrs),
			    site->rows, nn_cut_share(site->n_leaves, 0, 1), &err);
	check(site->name, d->cut ? 0 : -1, &err);
	d->span = &d->cut->spans[0].span;
}

void data_fini(struct data *d)
{
	for (int j = 0; j < MAX_INPUTS; j++) {
		nn_free(d->x[j]);
		nn_free(d->old[j]);
	}
	for (int p = 0; p < NN_MAX_PARAMS; p++)
		nn_free(d->w[p]);
	nn_free(d->dy);
	nn_cut_free(d->cut);
}

double real_at(const struct result *r, const void *array, size_t i)
{
	return nn_op_trial_real(r->t, array, i);
}

double *canonical(const struct result *r, const void *packed, int p)
{
	size_t n = nn_shape_count(&r->t->params[p].shape);
	double *plain = doubles(n), *out = doubles(n);
	struct nn_error err;
	check("unpack", nn_op_trial_unpack(r->t, p, packed, plain, &err), &err);
	for (size_t i = 0; i < n; i++)
		out[i] = real_at(r, plain, i);
	nn_free(plain);
	return out;
}

/* ---- a pass ---- */

struct trial_pass {
	const struct data *d;
	const struct how *how;
	struct nn_op_trial *t;
	struct result *r;
	void *x[MAX_INPUTS], *dy;
	size_t real;
};

/* y and a gradient in the memory of others; what takes that memory with it is forgotten there. */
static void share(struct trial_pass *pass)
{
	const struct nn_op_site *site = pass->d->site;
	struct nn_op_trial *t = pass->t;
	bool needs_x = t->site.training && nn_op_needs(site->op, site->attrs) & NN_OP_NEEDS_X;
	int y = nn_op_in_place(site->op, site->attrs, site->n_in), k = site->n_in - 1;
	if (y >= 0 && (y > 0 || !needs_x)) {
		nn_free(t->y);
		t->y = pass->x[y];
		t->x[0][y] = NULL;
	}
	if (t->site.training && t->dx[k] && nn_op_takes_dy(site->op, site->attrs, site->n_in, k)) {
		nn_free(t->dx[k]);
		t->dx[k] = pass->dy;
		t->dy[0] = NULL;
	}
}

/* Memory with a guard behind it. */
static void *guarded(size_t bytes)
{
	char *p = take(bytes + GUARD);
	memset(p, 0xff, bytes); /* NaN: nobody may count on zeros */
	memset(p + bytes, GUARD_BYTE, GUARD);
	return p;
}

static bool intact(const void *memory, size_t bytes)
{
	const unsigned char *p = (const unsigned char *)memory + bytes;
	for (size_t i = 0; i < GUARD; i++)
		if (p[i] != GUARD_BYTE)
			return false;
	return true;
}

/* Rows [begin, end) as leaves leaf[0..n]. */
static void call_rows(struct trial_pass *pass, const size_t *leaf, size_t n_leaves, bool first,
		      void *const *dw)
{
	const struct data *d = pass->d;
	size_t begin = leaf[0], end = leaf[n_leaves], size = pass->real;
	size_t bounds[MAX_LEAVES + 1], group[MAX_GROUPS + 1], n_groups = 0, number = 0;
	const void *x[MAX_INPUTS];
	void *dx[MAX_INPUTS];
	struct nn_call call = pass->t->call;
	for (size_t i = 0; i <= n_leaves; i++)
		bounds[i] = leaf[i] - begin;
	for (size_t g = 0; d->span->n_groups && g <= d->span->n_groups; g++)
		if (d->span->group[g] >= begin && d->span->group[g] <= end)
			group[n_groups++] = d->span->group[g] - begin;
	for (int j = 0; j < d->site->n_in; j++) {
		size_t at = begin * (d->n_x[j] / d->site->rows) * size;
		x[j] = (char *)pass->x[j] + at;
		dx[j] = pass->t->dx[j] && !pass->how->no_dx ? (char *)pass->t->dx[j] + at : NULL;
	}
	call.rows = end - begin;
	call.sample = SAMPLE + begin;
	call.x = x;
	call.dx = dx;
	call.y = (char *)pass->t->y + begin * (d->n_y / d->site->rows) * size;
	call.dy = pass->dy ? (char *)pass->dy + begin * (d->n_y / d->site->rows) * size : NULL;
	while (d->span->leaf[number + 1] <= begin)
		number++;
	call.leaf_number = number;
	call.dw = dw;
	call.leaf = bounds;
	call.n_leaves = n_leaves;
	call.first = first;
	call.group = group;
	call.n_groups = n_groups ? n_groups - 1 : 0;
	pass->t->kernel->forward(&call);
	if (pass->how->training && !pass->how->forward)
		pass->t->kernel->backward(&call);
}

/* Leaf l, whole or in two pieces; batchnorm is cut between groups. */
static void call_leaf(struct trial_pass *pass, size_t l, void *const *dw)
{
	const struct nn_span *span = pass->d->span;
	const size_t *leaf = span->leaf + l;
	size_t middle = leaf[0] + (leaf[1] - leaf[0] + 1) / 2,
	       bounds[3] = { leaf[0], middle, leaf[1] };
	for (size_t g = 0; g < span->n_groups; g++)
		if (span->group[g] <= middle)
			bounds[1] = span->group[g];
	if (pass->how->cut == BY_LEAF || bounds[1] <= bounds[0] || bounds[1] >= bounds[2]) {
		call_rows(pass, leaf, 1, true, dw);
		return;
	}
	call_rows(pass, bounds, 1, true, dw);
	call_rows(pass, bounds + 1, 1, false, dw);
}

/* Leaves one by one, their gradients added along the tree; a table's are appended to one list. */
static void by_leaves(struct trial_pass *pass)
{
	struct nn_op_trial *t = pass->t;
	size_t n_leaves = pass->d->span->n_leaves;
	void *dw[MAX_LEAVES][NN_MAX_PARAMS] = { { NULL } };
	for (size_t l = 0; l < n_leaves; l++) {
		for (int p = 0; p < t->n_params; p++)
			dw[l][p] = l && t->dw[p] && !t->lists.entries ? take(t->packed[p] * pass->real)
								: t->dw[p];
		call_leaf(pass, l, dw[l]);
	}
	for (size_t step = 1; step < n_leaves; step *= 2)
		for (size_t l = 0; l < n_leaves; l += 2 * step)
			for (int p = 0; p < t->n_params; p++)
				if (t->dw[p] && !t->lists.entries)
					t->device->add(NULL, dw[l][p], dw[l + step][p],
						       t->packed[p], NULL);
	for (size_t l = 1; l < n_leaves; l++)
		for (int p = 0; p < t->n_params; p++)
			if (dw[l][p] != t->dw[p])
				nn_free(dw[l][p]);
}

static struct nn_row_list *list_new(const struct trial_pass *pass)
{
	struct nn_error err;
	struct nn_row_list *list = nn_op_list_new(pass->t, 0, &err);
	check(pass->d->site->name, list ? 0 : -1, &err);
	return list;
}

/* The sums of leaves up to `half`, then of the others, as entries in place of all. */
static void sum_parts(struct trial_pass *pass)
{
	struct nn_row_list *all = pass->t->lists.entries, *parts = list_new(pass), *to = list_new(pass);
	size_t bytes = all->width * pass->real, n_leaves = pass->d->span->n_leaves,
	       half = n_leaves / 2 + n_leaves / 4, n = 0, end = 0;
	for (int part = 0; part < 2; part++) {
		struct nn_row_list one = *all;
		size_t begin = end, listed;
		while (end < *all->n && (part || all->leaf[end] < half))
			end++;
		one.row += begin;
		one.leaf += begin;
		one.value = (char *)one.value + begin * bytes;
		listed = end - begin;
		one.n = &listed;
		pass->t->device->sum_rows(&(struct nn_row_sum){ &one, parts, part ? half : 0,
								part ? n_leaves : half,
								pass->t->lists.work, NULL, NULL });
		memcpy(to->row + n, parts->row, *parts->n * sizeof *to->row);
		memcpy(to->leaf + n, parts->leaf, *parts->n * sizeof *to->leaf);
		memcpy((char *)to->value + n * bytes, parts->value, *parts->n * bytes);
		n += *parts->n;
	}
	*to->n = n;
	pass->t->lists.entries = to;
	nn_op_list_free(pass->t, all);
	nn_op_list_free(pass->t, parts);
}

/* Sums of what was listed, as an array of all rows; in two steps, as ranks would. */
static void take_list(struct trial_pass *pass)
{
	struct nn_op_trial *t = pass->t;
	if (pass->how->threads == 3)
		sum_parts(pass);
	nn_op_lists_sum(t);
	t->dw[0] = t->lists.entries;
	pass->r->sums = take(t->packed[0] * pass->real);
	struct nn_error err;
	check(pass->d->site->name, nn_op_lists_gradient(t, pass->r->sums, &err), &err);
}

static void prepare(struct trial_pass *pass, struct nn_pool *pool)
{
	const struct data *d = pass->d;
	const struct how *how = pass->how;
	struct nn_op_values values = { (const double *const *)d->x, (const double *const *)d->w,
				       d->dy, (const double *const *)d->old };
	struct nn_op_how there = { .device = how->device,
				   .pool = pool,
				   .training = how->training,
				   .want_dx = !how->no_dx,
				   .values = &values };
	struct nn_op_trial *t;
	struct nn_error err;
	check(d->site->name, nn_op_trial_new(&t, d->site, &there, &err), &err);
	pass->t = pass->r->t = t;
	pass->real = nn_dtype_size(how->device->dtype);
	pass->dy = t->dy[0];
	for (int j = 0; j < d->site->n_in; j++) {
		pass->x[j] = t->x[0][j];
		t->dx_add[j] = how->add;
	}
	if (how->shared)
		share(pass);
	t->call.seed = SEED;
	nn_free(t->call.saved);
	nn_free(t->call.work);
	t->call.saved = t->bytes.saved ? guarded(t->bytes.saved) : NULL;
	t->call.work = t->bytes.work ? guarded(t->bytes.work) : NULL;
}

/* The arrays of the trial as names of their own. */
static void keep(struct result *r)
{
	struct nn_op_trial *t = r->t;
	r->y = t->y;
	for (int j = 0; j < t->site.n_in; j++)
		r->dx[j] = t->dx[j];
	for (int p = 0; p < t->n_params; p++) {
		r->w[p] = t->w[p];
		r->dw[p] = t->lists.entries ? r->sums : t->dw[p];
		r->n_dw[p] = t->packed[p];
	}
	r->guarded = (!t->bytes.saved || intact(t->call.saved, t->bytes.saved)) &&
		     (!t->bytes.work || intact(t->call.work, t->bytes.work));
}

/* One for each number of threads, kept. */
static struct nn_pool *pool_of(int threads)
{
	static struct nn_pool *pools[MAX_THREADS + 1];
	struct nn_error err;
	if (!pools[threads])
		check("threads", nn_pool_new(&pools[threads], threads, &err), &err);
	return pools[threads];
}

void result_make(struct result *r, const struct data *d, const struct how *how)
{
	struct trial_pass pass = { .d = d, .how = how, .r = r };
	memset(r, 0, sizeof *r);
	prepare(&pass, pool_of(how->threads));
	if (how->cut == BY_ROW)
		for (size_t row = 0; row < d->site->rows; row++)
			call_rows(&pass, (const size_t[]){ row, row + 1 }, 1, true, r->t->dw);
	else if (how->cut == WHOLE)
		call_rows(&pass, d->span->leaf, d->span->n_leaves, true, r->t->dw);
	else
		by_leaves(&pass);
	if (r->t->lists.entries && !how->forward)
		take_list(&pass);
	keep(r);
}

void result_free(struct result *r)
{
	nn_op_trial_free(r->t);
	nn_free(r->sums);
}
