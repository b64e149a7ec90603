/*
 * One op at one site on one device: buffers, a pass forward and backward in any cut, results as
 * bytes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "table/trial.h"

#define GUARD 256
#define GUARD_BYTE 0x5a
#define SAMPLE 1000003
#define SEED 77

static uint64_t state = 1;

double noise(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(int64_t)(state >> 42) * 0x1p-20 - 2;
}

static void *take(size_t bytes)
{
	void *p = calloc(1, bytes + 64);
	if (!p) {
		puts("Bail out! out of memory");
		exit(1);
	}
	return p;
}

double *doubles(size_t n)
{
	return take(n * sizeof(double));
}

static double *noises(size_t n)
{
	double *v = doubles(n);
	for (size_t i = 0; i < n; i++)
		v[i] = noise();
	return v;
}

/* ---- data ---- */

static void cut_rows(struct data *d)
{
	const struct nn_batchnorm *norm = d->site->attrs;
	size_t n = d->site->op == NN_OP_batchnorm ? norm->group : d->site->rows,
	       rows = d->site->rows;
	d->n_groups = rows < n ? 1 : rows / n + (2 * (rows % n) >= n);
	d->n_leaves = d->site->n_leaves;
	for (size_t g = 0; g <= d->n_groups; g++)
		d->group[g] = g < d->n_groups ? g * n : rows;
	for (size_t l = 0; l <= d->n_leaves; l++)
		d->leaf[l] = d->site->op == NN_OP_batchnorm
				     ? d->group[l * d->n_groups / d->n_leaves]
				     : l * rows / d->n_leaves;
}

/* Numbers of rows, some of which the table does not have. */
static void rows_of(struct data *d, int j)
{
	const struct nn_embedding *e = d->site->attrs;
	for (size_t i = 0; i < d->n_x[j]; i++)
		d->x[j][i] = floor((d->x[j][i] + 2) / 4 * (double)(e->rows + e->rows / 6 + 1)) -
			     (double)(e->rows / 6);
}

void data_init(struct data *d, const struct site *site)
{
	const struct nn_op *op = nn_ops[site->op];
	struct nn_error err;
	memset(d, 0, sizeof *d);
	d->site = site;
	state = site->op + 1;
	if (op->infer(site->attrs, site->in, site->n_in, &d->out, &err)) {
		printf("Bail out! %s: %s\n", site->name, err.text);
		exit(1);
	}
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
	cut_rows(d);
}

void data_fini(struct data *d)
{
	for (int j = 0; j < 3; j++) {
		free(d->x[j]);
		free(d->old[j]);
	}
	for (int p = 0; p < NN_MAX_PARAMS; p++)
		free(d->w[p]);
	free(d->dy);
}

/* ---- arrays of the device's type ---- */

size_t real_size(const struct nn_device *device)
{
	return device->dtype == NN_F64 ? sizeof(double) : sizeof(float);
}

double real_at(const struct nn_device *device, const void *array, size_t i)
{
	return device->dtype == NN_F64 ? ((const double *)array)[i]
				       : (double)((const float *)array)[i];
}

void reals(const struct nn_device *device, const double *from, void *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (device->dtype == NN_F64)
			((double *)to)[i] = from[i];
		else
			((float *)to)[i] = (float)from[i];
}

static void *copy(const struct nn_device *device, const double *from, size_t n)
{
	void *to = take(n * real_size(device));
	reals(device, from, to, n);
	return to;
}

static size_t packed_size(const struct nn_kernel *kernel, const struct nn_site *site,
			  const struct data *d, int p)
{
	return kernel->packed ? kernel->packed(site, p) : d->n_w[p];
}

static struct nn_site site_of(const struct data *d, const struct how *how)
{
	return (struct nn_site){ .attrs = d->site->attrs,
				 .in = d->site->in,
				 .n_in = d->site->n_in,
				 .out = d->out,
				 .training = how->training,
				 .want_dx = how->training && !how->no_dx };
}

double *canonical(const struct data *d, const struct nn_device *device, const void *packed, int p)
{
	const struct nn_kernel *kernel = device->kernels[d->site->op];
	struct how how = { .device = device, .training = true };
	struct nn_site site = site_of(d, &how);
	void *plain = take(d->n_w[p] * real_size(device));
	double *out = doubles(d->n_w[p]);
	if (kernel->unpack)
		kernel->unpack(&site, p, packed, plain);
	else
		memcpy(plain, packed, d->n_w[p] * real_size(device));
	for (size_t i = 0; i < d->n_w[p]; i++)
		out[i] = real_at(device, plain, i);
	free(plain);
	return out;
}

/* ---- a pass ---- */

struct pass {
	const struct data *d;
	const struct how *how;
	const struct nn_kernel *kernel;
	struct nn_call call;
	struct result *r;
	void *x[3], *dy;
	void *own_x[3], *own_dy; /* what is to be freed of them */
	bool add[3];
	size_t saved, work;
	struct nn_row_list list; /* of a table */
};

/* The input whose memory y may take; -1: none. */
static int y_shares(const struct data *d, bool training)
{
	const struct nn_activation_attrs *act = d->site->attrs;
	const struct nn_dense *dense = d->site->attrs;
	const struct nn_conv2d *conv = d->site->attrs;
	switch (d->site->op) {
	case NN_OP_activation:
		return !training || nn_activation_from_y(act->kind, act->slope) ? 0 : -1;
	case NN_OP_dropout:
	case NN_OP_add:
		return 0;
	case NN_OP_mul:
	case NN_OP_batchnorm:
		return training ? -1 : 0;
	case NN_OP_dense:
		return dense->epilogue.residual ? 1 : -1;
	case NN_OP_conv2d:
		return conv->epilogue.residual && !conv->pooling.on ? 1 : -1;
	default:
		return -1;
	}
}

/* The input whose gradient may lie in dy's memory. */
static int dx_shares(const struct data *d, bool training)
{
	const struct nn_dense *dense = d->site->attrs;
	const struct nn_conv2d *conv = d->site->attrs;
	if (!training)
		return -1;
	switch (d->site->op) {
	case NN_OP_activation:
	case NN_OP_dropout:
		return 0;
	case NN_OP_add:
	case NN_OP_batchnorm:
		return d->site->n_in - 1;
	case NN_OP_dense:
		return dense->epilogue.residual ? 1 : -1;
	case NN_OP_conv2d:
		return conv->epilogue.residual && !conv->pooling.on ? 1 : -1;
	default:
		return -1;
	}
}

static void share(const struct data *d, const struct how *how, struct result *r, void **x, void *dy)
{
	int y = y_shares(d, how->training), dx = dx_shares(d, how->training);
	if (y >= 0) {
		free(r->y);
		r->y = x[y];
		x[y] = NULL;
	}
	if (dx >= 0) {
		free(r->dx[dx]);
		r->dx[dx] = dy;
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
static void call_rows(struct pass *pass, const size_t *leaf, size_t n_leaves, bool first,
		      void *const *dw)
{
	const struct data *d = pass->d;
	size_t begin = leaf[0], end = leaf[n_leaves], size = real_size(pass->how->device);
	size_t bounds[MAX_LEAVES + 1], group[MAX_GROUPS + 1], n_groups = 0, number = 0;
	void *with_list[NN_MAX_PARAMS];
	const void *x[3];
	void *dx[3];
	struct nn_call call = pass->call;
	for (size_t i = 0; i <= n_leaves; i++)
		bounds[i] = leaf[i] - begin;
	for (size_t g = 0; g <= d->n_groups; g++)
		if (d->group[g] >= begin && d->group[g] <= end)
			group[n_groups++] = d->group[g] - begin;
	for (int j = 0; j < d->site->n_in; j++) {
		size_t at = begin * (d->n_x[j] / d->site->rows) * size;
		x[j] = (char *)pass->x[j] + at;
		dx[j] = pass->how->no_dx ? NULL : (char *)pass->r->dx[j] + at;
	}
	call.rows = end - begin;
	call.sample = SAMPLE + begin;
	call.x = x;
	call.dx = dx;
	call.y = (char *)pass->r->y + begin * (d->n_y / d->site->rows) * size;
	call.dy = (char *)pass->dy + begin * (d->n_y / d->site->rows) * size;
	for (int p = 0; p < d->n_params; p++)
		with_list[p] = d->params[p].role == NN_ROW_TABLE ? (void *)&pass->list : dw[p];
	while (d->leaf[number + 1] <= begin)
		number++;
	call.leaf_number = number;
	call.dw = with_list;
	call.leaf = bounds;
	call.n_leaves = n_leaves;
	call.first = first;
	call.group = group;
	call.n_groups = n_groups - 1;
	pass->kernel->forward(&call);
	if (pass->how->training)
		pass->kernel->backward(&call);
}

/* Leaf l, whole or in two pieces; batchnorm is cut between groups. */
static void call_leaf(struct pass *pass, size_t l, void *const *dw)
{
	const struct data *d = pass->d;
	size_t middle = d->leaf[l] + (d->leaf[l + 1] - d->leaf[l] + 1) / 2,
	       bounds[3] = { d->leaf[l], middle, d->leaf[l + 1] };
	if (d->site->op == NN_OP_batchnorm)
		for (size_t g = 0; g < d->n_groups; g++)
			if (d->group[g] <= middle)
				bounds[1] = d->group[g];
	if (pass->how->cut == BY_LEAF || bounds[1] <= bounds[0] || bounds[1] >= bounds[2]) {
		call_rows(pass, d->leaf + l, 1, true, dw);
		return;
	}
	call_rows(pass, bounds, 1, true, dw);
	call_rows(pass, bounds + 1, 1, false, dw);
}

/* Leaves one by one, their gradients added along the tree. */
static void by_leaves(struct pass *pass)
{
	const struct nn_device *device = pass->how->device;
	const struct data *d = pass->d;
	void *dw[MAX_LEAVES][NN_MAX_PARAMS] = { { NULL } };
	for (size_t l = 0; l < d->n_leaves; l++) {
		for (int p = 0; p < d->n_params; p++)
			if (pass->r->dw[p])
				dw[l][p] = l ? take(pass->r->n_dw[p] * real_size(device))
					     : pass->r->dw[p];
		call_leaf(pass, l, dw[l]);
	}
	for (size_t step = 1; step < d->n_leaves; step *= 2)
		for (size_t l = 0; l < d->n_leaves; l += 2 * step)
			for (int p = 0; p < d->n_params; p++)
				if (pass->r->dw[p])
					device->add(NULL, dw[l][p], dw[l + step][p],
						    pass->r->n_dw[p], NULL);
	for (size_t l = 1; l < d->n_leaves; l++)
		for (int p = 0; p < d->n_params; p++)
			free(dw[l][p]);
}

static struct nn_row_list list_new(const struct pass *pass)
{
	const struct data *d = pass->d;
	struct nn_row_list list = { 0 };
	if (d->n_params == 0 || d->params[0].role != NN_ROW_TABLE)
		return list;
	list.width = d->params[0].shape.dim[1];
	list.room = d->n_x[0];
	list.n = take(sizeof *list.n);
	list.row = take(list.room * sizeof *list.row);
	list.leaf = take(list.room * sizeof *list.leaf);
	list.value = take(list.room * list.width * real_size(pass->how->device));
	return list;
}

static void list_free(struct nn_row_list *list)
{
	free(list->n);
	free(list->row);
	free(list->leaf);
	free(list->value);
}

static void prepare(struct pass *pass)
{
	const struct data *d = pass->d;
	const struct how *how = pass->how;
	const struct nn_device *device = how->device;
	struct nn_site site = site_of(d, how);
	struct result *r = pass->r;
	for (int j = 0; j < d->site->n_in; j++) {
		pass->x[j] = copy(device, d->x[j], d->n_x[j]);
		r->dx[j] = copy(device, d->old[j], d->n_x[j]);
		pass->add[j] = how->add;
	}
	r->y = take(d->n_y * real_size(device));
	pass->dy = copy(device, d->dy, d->n_y);
	for (int p = 0; p < d->n_params; p++) {
		void *plain = copy(device, d->w[p], d->n_w[p]);
		r->n_dw[p] = packed_size(pass->kernel, &site, d, p);
		r->w[p] = take(r->n_dw[p] * real_size(device));
		if (pass->kernel->pack)
			pass->kernel->pack(&site, p, plain, r->w[p]);
		else
			memcpy(r->w[p], plain, d->n_w[p] * real_size(device));
		if (d->params[p].role != NN_BUFFER)
			r->dw[p] = take(r->n_dw[p] * real_size(device));
		free(plain);
	}
	memcpy(pass->own_x, pass->x, sizeof pass->x);
	pass->own_dy = pass->dy;
	if (how->shared) {
		share(d, how, r, pass->own_x, pass->dy);
		if (dx_shares(d, how->training) >= 0)
			pass->own_dy = NULL;
	}
	pass->list = list_new(pass);
	pass->call = (struct nn_call){ .site = site, .seed = SEED, .dx_add = pass->add, .w = r->w };
	pass->saved = pass->kernel->saved ? pass->kernel->saved(&site, d->site->rows) : 0;
	pass->work = pass->kernel->work
			     ? pass->kernel->work(&site, d->site->rows, d->n_leaves, how->threads)
			     : 0;
	pass->call.saved = pass->saved ? guarded(pass->saved) : NULL;
	pass->call.work = pass->work ? guarded(pass->work) : NULL;
}

/* Sums of what was listed, as an array of all rows; in two steps, as ranks would. */
static void take_list(struct pass *pass)
{
	const struct data *d = pass->d;
	size_t size = real_size(pass->how->device), bytes = pass->list.width * size,
	       half = d->n_leaves / 2 + d->n_leaves / 4;
	struct nn_row_list sums = list_new(pass), parts = list_new(pass);
	void *work = take((*pass->list.n + 1) * NN_ROW_SUM_WORK);
	struct nn_row_sum whole = {
		&pass->list, &sums, 0, d->n_leaves, work, pass->call.pool, NULL
	};
	if (pass->how->threads == 3) { /* leaves up to `half`, then the others, then both */
		struct nn_row_list all = pass->list, *to = &pass->list;
		size_t n = 0, end = 0;
		*to = list_new(pass);
		for (int part = 0; part < 2; part++) {
			struct nn_row_list one = all;
			size_t begin = end;
			while (end < *all.n && (part || all.leaf[end] < half))
				end++;
			one.row += begin;
			one.leaf += begin;
			one.value = (char *)one.value + begin * bytes;
			size_t listed = end - begin;
			one.n = &listed;
			pass->how->device->sum_rows(&(struct nn_row_sum){
				&one, &parts, part ? half : 0, part ? d->n_leaves : half, work,
				NULL, NULL });
			memcpy(to->row + n, parts.row, *parts.n * sizeof *to->row);
			memcpy(to->leaf + n, parts.leaf, *parts.n * sizeof *to->leaf);
			memcpy((char *)to->value + n * bytes, parts.value, *parts.n * bytes);
			n += *parts.n;
		}
		*to->n = n;
		list_free(&all);
	}
	pass->how->device->sum_rows(&whole);
	for (size_t j = 0; j < *sums.n; j++)
		memcpy((char *)pass->r->dw[0] + sums.row[j] * bytes, (char *)sums.value + j * bytes,
		       bytes);
	free(work);
	list_free(&sums);
	list_free(&parts);
}

void result_make(struct result *r, const struct data *d, const struct how *how)
{
	struct pass pass = {
		.d = d, .how = how, .kernel = how->device->kernels[d->site->op], .r = r
	};
	struct nn_error err;
	size_t derived;
	memset(r, 0, sizeof *r);
	prepare(&pass);
	if (nn_pool_new(&pass.call.pool, how->threads, &err)) {
		printf("Bail out! %s\n", err.text);
		exit(1);
	}
	derived = pass.kernel->derived ? pass.kernel->derived(&pass.call.site) : 0;
	if (derived) {
		void *memory = take(derived);
		pass.kernel->derive(&pass.call.site, (const void *const *)r->w, memory,
				    pass.call.pool);
		pass.call.derived = memory;
	}
	if (how->cut == BY_ROW)
		for (size_t row = 0; row < d->site->rows; row++)
			call_rows(&pass, (const size_t[]){ row, row + 1 }, 1, true, r->dw);
	else if (how->cut == WHOLE)
		call_rows(&pass, d->leaf, d->n_leaves, true, r->dw);
	else
		by_leaves(&pass);
	if (d->n_params && d->params[0].role == NN_ROW_TABLE && how->training)
		take_list(&pass);
	list_free(&pass.list);
	nn_pool_free(pass.call.pool);
	r->guarded = (!pass.saved || intact(pass.call.saved, pass.saved)) &&
		     (!pass.work || intact(pass.call.work, pass.work));
	free((void *)pass.call.derived);
	free(pass.call.saved);
	free(pass.call.work);
	free(pass.own_dy);
	for (int j = 0; j < 3; j++)
		free(pass.own_x[j]);
}

void result_free(struct result *r)
{
	free(r->y);
	for (int j = 0; j < 3; j++)
		free(r->dx[j]);
	for (int p = 0; p < NN_MAX_PARAMS; p++) {
		free(r->dw[p]);
		free(r->w[p]);
	}
}
