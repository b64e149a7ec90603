/* A trial's memory and its calls. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "bench/op/trial.h"
#include "step/cut.h"

#define WORN 16 /* backward calls before dy is made anew where it wears */
#define SEED 1
#define LITTLE 0x1p24 /* bytes that are there without asking */

static size_t real_size(const struct nn_op_trial *t)
{
	return nn_dtype_size(t->device->dtype);
}

/* ---- values ---- */

/*
 * Uniform in [-1, 1), multiples of 2^-20, the same for a seed: no zeros to be fast at, no two alike
 * to be cached.
 */
static double noise(uint64_t *state)
{
	return (double)((int64_t)(nn_lcg(state) >> 43) - (1 << 20)) * 0x1p-20;
}

/*
 * As large as initial values are; scales and variances around 1. In f32 exactly as in the array of
 * doubles.
 */
static void make_param(struct nn_op_trial *t, int p)
{
	const struct nn_op_param *param = &t->params[p];
	size_t n = nn_shape_count(&param->shape);
	double scale = param->fan_in ? 1 / sqrt((double)param->fan_in) : 0.25,
	       base = param->init == NN_INIT_ONE;
	uint64_t state = 100 + (uint64_t)p;

	for (size_t i = 0; i < n; i++)
		t->values[p][i] = (double)(float)(base + scale * noise(&state));
}

/* ---- between the host and the device's memory ---- */

int nn_op_trial_store(const struct nn_op_trial *t, void *array, size_t n, const double *values,
		      struct nn_error *err)
{
	void *host = t->queue ? nn_alloc(n, real_size(t), err) : array;

	if (!host)
		return -1;
	for (size_t i = 0; i < n; i++)
		nn_op_trial_put(t, host, i, values ? values[i] : 0);
	if (t->queue) {
		nn_queue_write(t->queue, array, host, n * real_size(t));
		nn_free(host);
	}
	return 0;
}

const void *nn_op_trial_fetch(const struct nn_op_trial *t, const void *array, size_t n,
			      struct nn_error *err)
{
	void *host;

	if (!t->queue)
		return array;
	if ((host = nn_alloc(n, real_size(t), err)))
		nn_queue_read(t->queue, host, array, n * real_size(t));
	return host;
}

void nn_op_trial_drop(const struct nn_op_trial *t, const void *fetched)
{
	if (t->queue)
		nn_free((void *)fetched);
}

static void *take(const struct nn_op_trial *t, size_t n, struct nn_error *err)
{
	return nn_memory_new(t->queue, n * real_size(t), err);
}

static int pack(struct nn_op_trial *t, int p, struct nn_error *err)
{
	size_t n = nn_shape_count(&t->params[p].shape);
	void *plain = take(t, n, err);
	int status = plain ? nn_op_trial_store(t, plain, n, t->values[p], err) : -1;

	if (status == 0 && t->kernel->pack)
		t->kernel->pack(&t->site, p, plain, t->w[p]);
	else if (status == 0)
		nn_queue_copy(t->queue, t->w[p], plain, n * real_size(t));
	nn_memory_free(t->queue, plain);
	return status;
}

int nn_op_trial_unpack(const struct nn_op_trial *t, int p, const void *packed, void *plain,
		       struct nn_error *err)
{
	const size_t bytes = nn_shape_count(&t->params[p].shape) * real_size(t);
	void *there = t->queue && t->kernel->unpack ? nn_memory_new(t->queue, bytes, err) : plain;

	if (!there)
		return -1;
	if (t->kernel->unpack)
		t->kernel->unpack(&t->site, p, packed, there);
	if (!t->kernel->unpack || t->queue)
		nn_queue_read(t->queue, plain, t->kernel->unpack ? there : packed, bytes);
	if (there != plain)
		nn_memory_free(t->queue, there);
	return 0;
}

/* ---- memory ---- */

/*
 * An epilogue's derivative is multiplied into dy, again and again until nothing is left of it;
 * relu's is 0 or 1.
 */
static bool wears(const struct nn_op_trial *t)
{
	const struct nn_epilogue *epilogue = nn_op_epilogue(t->op, (void *)t->site.attrs);

	return epilogue && epilogue->activation != NN_ACT_NONE &&
	       epilogue->activation != NN_ACT_RELU;
}

static size_t scratch(const struct nn_op_trial *t)
{
	const struct nn_kernel *k = t->kernel;

	return k->work ? k->work(&t->site, t->rows, t->cut->n_leaves, nn_pool_threads(t->call.pool))
		       : 0;
}

/* All that nn_op_trial_new is about to take; in double, which no product of sizes exceeds. */
static double needed(const struct nn_op_trial *t)
{
	const struct nn_kernel *k = t->kernel;
	double real = (double)real_size(t), sets = t->sets, in = 0, bytes = 0;

	for (int j = 0; j < t->site.n_in; j++)
		in += (double)t->rows * (double)nn_shape_count(&t->site.in[j]) * real;
	for (int p = 0; p < t->n_params; p++)
		bytes += (double)nn_shape_count(&t->params[p].shape) * (8 + 2 * real);
	bytes += in * sets + (double)t->rows * (double)t->out_size * real;
	if (t->site.training)
		bytes += in + 2 * sets * (double)t->rows * (double)t->out_size * real +
			 (double)(k->saved ? k->saved(&t->site, t->rows) : 0);
	return bytes + (double)scratch(t);
}

static int check_room(const struct nn_op_trial *t, struct nn_error *err)
{
	double bytes = needed(t);
	size_t size, there;

	for (int p = 0; p < t->n_params; p++)
		if (!nn_shape_check(&t->params[p].shape, sizeof(double), &size))
			return nn_fail(err, NN_ENOMEM, "%s: parameters larger than memory can be",
				       nn_ops[t->op]->name);
	if (bytes <= LITTLE)
		return 0;
	there = nn_memory_available();
	if (t->queue && t->device->remote->room(t->device, &there, err) < 0)
		return -1;
	if (bytes > (double)there)
		return nn_fail(
			err, NN_ENOMEM,
			"%s of %zu rows needs %.0f bytes, %zu are free: fewer rows need less",
			nn_ops[t->op]->name, t->rows, bytes, there);
	return 0;
}

static int take_params(struct nn_op_trial *t, const struct nn_op_values *values,
		       struct nn_error *err)
{
	for (int p = 0; p < t->n_params; p++) {
		size_t n = nn_shape_count(&t->params[p].shape);

		t->packed[p] = t->kernel->packed ? t->kernel->packed(&t->site, p) : n;
		t->values[p] = nn_alloc(n, sizeof(double), err);
		t->w[p] = take(t, t->packed[p], err);
		if (!t->values[p] || !t->w[p])
			return -1;
		if (t->params[p].role == NN_ROW_TABLE
			    ? t->site.training && nn_op_lists_new(t, p, err) < 0
			    : t->params[p].role != NN_BUFFER && t->site.training &&
				      !(t->dw[p] = take(t, t->packed[p], err)))
			return -1;
		if (values)
			memcpy(t->values[p], values->w[p], n * sizeof(double));
		else
			make_param(t, p);
		if (pack(t, p, err) < 0)
			return -1;
	}
	return 0;
}

/* from NULL: noise of this seed; rows: as numbers of so many rows, 0: none are asked for. */
static int fill(const struct nn_op_trial *t, void *array, size_t n, const double *from,
		uint64_t seed, size_t rows, struct nn_error *err)
{
	void *host = t->queue ? nn_alloc(n, real_size(t), err) : array;

	if (!host)
		return -1;
	for (size_t i = 0; i < n; i++)
		nn_op_trial_put(t, host, i, from ? from[i] : noise(&seed));
	if (rows)
		nn_op_rows_fill(t, host, n, rows);
	if (t->queue) {
		nn_queue_write(t->queue, array, host, n * real_size(t));
		nn_free(host);
	}
	return 0;
}

static int take_set(struct nn_op_trial *t, int set, const struct nn_op_values *values,
		    struct nn_error *err)
{
	size_t n = t->rows * t->out_size;
	bool numbers = !values && nn_ops[t->op]->flags & NN_OP_NUMBERS_ROWS;
	uint64_t seed = 10 * ((uint64_t)set + 1);

	if (!(t->x[set] = nn_alloc((size_t)t->site.n_in, sizeof(void *), err)))
		return -1;
	for (int j = 0; j < t->site.n_in; j++) {
		if (!(t->x[set][j] = take(t, nn_op_trial_in(t, j), err)) ||
		    fill(t, t->x[set][j], nn_op_trial_in(t, j), values ? values->x[j] : NULL,
			 seed + (uint64_t)j, numbers ? t->params[0].shape.dim[0] : 0, err) < 0)
			return -1;
	}
	if (!t->site.training)
		return 0;
	t->dy[set] = take(t, n, err);
	t->given[set] = take(t, n, err);
	if (!t->dy[set] || !t->given[set] ||
	    fill(t, t->given[set], n, values ? values->dy : NULL, seed + 9, 0, err) < 0)
		return -1;
	nn_queue_copy(t->queue, t->dy[set], t->given[set], n * real_size(t));
	return 0;
}

/* Gradients of inputs, and what they are added to. */
static int take_dx(struct nn_op_trial *t, const struct nn_op_values *values, struct nn_error *err)
{
	for (int j = 0; j < t->site.n_in; j++) {
		if (j == 0 && !t->site.want_dx)
			continue;
		if (!(t->dx[j] = take(t, nn_op_trial_in(t, j), err)))
			return -1;
		if (values &&
		    fill(t, t->dx[j], nn_op_trial_in(t, j), values->dx[j], 0, 0, err) < 0)
			return -1;
	}
	return 0;
}

static int take_rest(struct nn_op_trial *t, const struct nn_op_values *values, struct nn_error *err)
{
	const struct nn_kernel *k = t->kernel;
	size_t derived = k->derived ? k->derived(&t->site) : 0, n_in = (size_t)t->site.n_in;
	void *memory;

	t->bytes.saved = k->saved && t->site.training ? k->saved(&t->site, t->rows) : 0;
	t->bytes.work = scratch(t);
	t->y = take(t, t->rows * t->out_size, err);
	t->dx = nn_alloc(n_in, sizeof(void *), err);
	t->dx_add = nn_alloc(n_in, sizeof(bool), err);
	/* Without training there is nothing to keep, which kernels see from NULL. */
	if (t->bytes.saved && !(t->call.saved = nn_memory_new(t->queue, t->bytes.saved, err)))
		return -1;
	t->call.work = nn_memory_new(t->queue, t->bytes.work, err);
	if (!t->y || !t->dx || !t->dx_add || !t->call.work)
		return -1;
	if (t->site.training && take_dx(t, values, err) < 0)
		return -1;
	if (derived) {
		if (!(memory = nn_memory_new(t->queue, derived, err)))
			return -1;
		k->derive(&t->site, (const void *const *)t->w, memory, t->call.pool);
		t->call.derived = memory;
	}
	return 0;
}

static void prepare_call(struct nn_op_trial *t)
{
	const struct nn_span *span = &t->cut->spans[0].span;

	t->call.site = t->site;
	t->call.rows = t->rows;
	t->call.seed = SEED;
	t->call.y = t->y;
	t->call.dx = t->dx;
	t->call.dx_add = t->dx_add;
	t->call.w = t->w;
	t->call.dw = t->dw;
	t->call.leaf = span->leaf;
	t->call.n_leaves = span->n_leaves;
	t->call.first = true;
	t->call.group = span->group;
	t->call.n_groups = span->n_groups;
}

static int begin(struct nn_op_trial *t, const struct nn_op_site *site, const struct nn_op_how *how,
		 struct nn_error *err)
{
	const struct nn_op *op = nn_ops[site->op];
	size_t group = how->training ? nn_op_group(site->op, site->attrs) : 0,
	       leaves = site->n_leaves;

	if (!t->kernel)
		return nn_fail(err, NN_ENODEV, "device %s cannot compute %s", t->device->name,
			       op->name);
	t->site = (struct nn_site){ .attrs = site->attrs,
				    .in = site->in,
				    .n_in = site->n_in,
				    .queue = t->queue,
				    .training = how->training,
				    .want_dx = how->training && how->want_dx &&
					       !(op->flags & NN_OP_NUMBERS_ROWS) };
	if (op->infer(site->attrs, site->in, site->n_in, &t->site.out, err) < 0)
		return nn_fail_at(err, "%s", op->name);
	t->out_size = nn_shape_count(&t->site.out);
	t->n_params = op->params ? op->params(site->attrs, site->in, site->n_in, t->params) : 0;
	if (!leaves)
		leaves = how->training ? t->device->leaves(t->rows, group, 16) : 1;
	t->cut = nn_cut_new(t->rows, leaves, group, t->rows, nn_cut_share(leaves, 0, 1), err);
	return t->cut ? check_room(t, err) : -1;
}

int nn_op_trial_new(struct nn_op_trial **trial, const struct nn_op_site *site,
		    const struct nn_op_how *how, struct nn_error *err)
{
	const struct nn_device *device = how->device;
	struct nn_op_trial *t;
	int status;

	if (!(t = nn_alloc(1, sizeof *t, err)))
		return -1;
	*t = (struct nn_op_trial){ .device = device,
				   .kernel = how->kernel ? how->kernel : device->kernels[site->op],
				   .op = site->op,
				   .rows = site->rows,
				   .sets = how->values ? 1 : NN_OP_TRIAL_SETS,
				   .repeat = 1 };
	t->call.pool = how->pool;
	status = nn_queue_open(&t->queue, device, err);
	if (status == 0)
		status = begin(t, site, how, err);
	if (status == 0)
		status = take_params(t, how->values, err);
	for (int set = 0; status == 0 && set < (int)t->sets; set++)
		status = take_set(t, set, how->values, err);
	if (status == 0)
		status = take_rest(t, how->values, err);
	if (status < 0) {
		nn_op_trial_free(t);
		return -1;
	}
	t->wears = wears(t);
	prepare_call(t);
	*trial = t;
	return 0;
}

void nn_op_trial_free(struct nn_op_trial *t)
{
	if (!t)
		return;
	for (int j = 0; j < t->site.n_in; j++) {
		for (int set = 0; set < (int)t->sets; set++)
			if (t->x[set])
				nn_memory_free(t->queue, t->x[set][j]);
		if (t->dx)
			nn_memory_free(t->queue, t->dx[j]);
	}
	for (int set = 0; set < (int)t->sets; set++) {
		nn_free(t->x[set]);
		nn_memory_free(t->queue, t->dy[set]);
		nn_memory_free(t->queue, t->given[set]);
	}
	for (int p = 0; p < t->n_params; p++) {
		nn_free(t->values[p]);
		nn_memory_free(t->queue, t->w[p]);
		if (t->dw[p] != t->lists.entries)
			nn_memory_free(t->queue, t->dw[p]);
	}
	nn_op_lists_free(t);
	nn_memory_free(t->queue, t->y);
	nn_free(t->dx);
	nn_free(t->dx_add);
	nn_memory_free(t->queue, t->call.saved);
	nn_memory_free(t->queue, t->call.work);
	nn_memory_free(t->queue, (void *)t->call.derived);
	nn_queue_close(t->queue);
	nn_cut_free(t->cut);
	nn_free(t);
}

/* ---- calls ---- */

int nn_op_trial_failed(struct nn_op_trial *t, struct nn_error *err)
{
	return nn_queue_wait(t->queue, err);
}

void nn_op_trial_forward(void *arg)
{
	struct nn_op_trial *t = arg;

	for (size_t i = 0; i < t->repeat; i++) {
		t->call.x = (const void *const *)t->x[t->calls % t->sets];
		t->calls++;
		t->kernel->forward(&t->call);
	}
	nn_queue_wait(t->queue, NULL);
}

static void backward(struct nn_op_trial *t)
{
	unsigned long set = t->calls % t->sets;

	/* Making it anew at every call would be most of what is measured. */
	if (t->wears && t->calls % WORN == set)
		nn_queue_copy(t->queue, t->dy[set], t->given[set],
			      t->rows * t->out_size * real_size(t));
	t->call.dy = t->dy[set];
	t->calls++;
	t->kernel->backward(&t->call);
	if (t->lists.entries)
		nn_op_lists_sum(t);
}

void nn_op_trial_backward(void *arg)
{
	struct nn_op_trial *t = arg;

	for (size_t i = 0; i < t->repeat; i++)
		backward(t);
	nn_queue_wait(t->queue, NULL);
}
