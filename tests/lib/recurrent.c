/*
 * Rows of different lengths through recurrent, attention and last: each row is computed as if it
 * were alone in a batch whose steps are its length.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "device/device.h"
#include "tap.h"

#define STEPS 70
#define IN 12
#define UNITS 20
#define ROWS 5
#define MANY 100 /* rows, of MANY_UNITS: 2 MB and more by position */
#define MANY_UNITS 16

/* One call and its arrays. */
struct pass {
	const struct nn_device *device;
	struct nn_shape in;
	struct nn_call call;
	void *x[1], *dx[1], *w[NN_MAX_PARAMS], *dw[NN_MAX_PARAMS];
	bool dx_add[1];
	size_t leaf[2], bytes[NN_MAX_PARAMS];
};

static void *array(const struct nn_device *device, size_t n)
{
	void *p = device->alloc(n * nn_dtype_size(device->dtype) + 64, NULL);

	if (!p)
		exit(1);
	return p;
}

static void put(const struct nn_device *device, void *values, size_t i, double x)
{
	if (device->dtype == NN_F64)
		((double *)values)[i] = x;
	else
		((float *)values)[i] = (float)x;
}

static void draw(const struct nn_device *device, void *values, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		put(device, values, i, (double)(nn_lcg(&seed) >> 40) / (double)(1 << 23) - 1);
}

static size_t size_of(const struct pass *p, size_t n)
{
	return n * nn_dtype_size(p->device->dtype);
}

/* dy and x of `rows` rows of `steps` steps, all of them given. */
static void pass_init(struct pass *p, const struct nn_device *device, enum nn_op_id op,
		      const void *attrs, size_t rows, size_t steps)
{
	const struct nn_kernel *kernel = device->kernels[op];
	struct nn_op_param params[NN_MAX_PARAMS];
	struct nn_call *c = &p->call;
	int n;

	*p = (struct pass){ .device = device, .in = nn_shape2(steps, IN), .leaf = { 0, rows } };
	c->site = (struct nn_site){
		.attrs = attrs, .in = &p->in, .n_in = 1, .training = true, .want_dx = true
	};
	if (nn_ops[op]->infer(attrs, &p->in, 1, &c->site.out, NULL) < 0)
		exit(1);
	c->rows = rows;
	c->x = (const void *const *)p->x;
	c->dx = p->dx;
	c->dx_add = p->dx_add;
	c->w = p->w;
	c->dw = p->dw;
	c->leaf = p->leaf;
	c->n_leaves = 1;
	c->first = true;
	p->x[0] = array(device, rows * steps * IN);
	p->dx[0] = array(device, rows * steps * IN);
	c->y = array(device, rows * nn_shape_count(&c->site.out));
	c->dy = array(device, rows * nn_shape_count(&c->site.out));
	c->saved = kernel->saved ? array(device, kernel->saved(&c->site, rows)) : NULL;
	c->work = array(device, kernel->work ? kernel->work(&c->site, rows, 1, 1) : 0);
	n = nn_ops[op]->params ? nn_ops[op]->params(attrs, &p->in, 1, params) : 0;
	for (int i = 0; i < n; i++) {
		size_t count = nn_shape_count(&params[i].shape);
		void *plain = array(device, count);

		p->w[i] = array(device, kernel->packed(&c->site, i));
		p->dw[i] = array(device, kernel->packed(&c->site, i));
		p->bytes[i] = size_of(p, kernel->packed(&c->site, i));
		draw(device, plain, count, 10 + (uint64_t)i);
		kernel->pack(&c->site, i, plain, p->w[i]);
		device->free(plain);
	}
}

static void pass_fini(struct pass *p)
{
	void (*release)(void *) = p->device->free;

	release(p->x[0]);
	release(p->dx[0]);
	release(p->call.y);
	release(p->call.dy);
	release(p->call.saved);
	release(p->call.work);
	for (int i = 0; i < NN_MAX_PARAMS; i++) {
		release(p->w[i]);
		release(p->dw[i]);
	}
}

static void run(struct pass *p, enum nn_op_id op)
{
	p->device->kernels[op]->forward(&p->call);
	p->device->kernels[op]->backward(&p->call);
}

/* Are the n values zeros? */
static bool zeros(const struct pass *p, const void *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p->device->dtype == NN_F64 ? ((const double *)values)[i] != 0
					       : ((const float *)values)[i] != 0)
			return false;
	return true;
}

static char *at(const struct pass *p, const void *values, size_t i)
{
	return (char *)values + size_of(p, i);
}

/* Row `row` of `all`, whose length is `length`, against a batch of it alone. */
static bool row_alone(const struct pass *all, enum nn_op_id op, size_t row, size_t length)
{
	size_t n = nn_shape_count(&all->call.site.out), of_y = op == NN_OP_last ? n : n / STEPS,
	       ys = op == NN_OP_last ? n : length * of_y;
	bool same;
	struct pass one;

	pass_init(&one, all->device, op, all->call.site.attrs, 1, length);
	memcpy(one.x[0], at(all, all->x[0], row * STEPS * IN), size_of(all, length * IN));
	memcpy(one.call.dy, at(all, all->call.dy, row * n), size_of(all, ys));
	run(&one, op);
	same = memcmp(one.call.y, at(all, all->call.y, row * n), size_of(all, ys)) == 0 &&
	       zeros(all, at(all, all->call.y, row * n + ys), n - ys) &&
	       memcmp(one.dx[0], at(all, all->dx[0], row * STEPS * IN),
		      size_of(all, length * IN)) == 0 &&
	       zeros(all, at(all, all->dx[0], (row * STEPS + length) * IN), (STEPS - length) * IN);
	/* A batch of one row has the gradients of that row alone. */
	for (int i = 0; all->call.rows == 1 && i < NN_MAX_PARAMS && one.dw[i]; i++)
		same = same && memcmp(one.dw[i], all->dw[i], one.bytes[i]) == 0;
	pass_fini(&one);
	return same;
}

static bool rows_alone(const struct nn_device *device, enum nn_op_id op, const void *attrs,
		       const uint32_t *lengths, size_t rows)
{
	bool same = true;
	struct pass all;

	pass_init(&all, device, op, attrs, rows, STEPS);
	draw(device, all.x[0], rows * STEPS * IN, 1);
	draw(device, all.call.dy, rows * nn_shape_count(&all.call.site.out), 2);
	all.call.lengths = lengths;
	run(&all, op);
	for (size_t row = 0; row < rows; row++)
		same = same && row_alone(&all, op, row, lengths[row]);
	pass_fini(&all);
	return same;
}

/*
 * Rows that no cache keeps from forward to backward, whose arrays are then written past the caches,
 * against the same rows one after the other, whose gradients go on from each other's.
 */
static bool many_rows(const struct nn_device *device, const struct nn_recurrent *attrs)
{
	const enum nn_op_id op = NN_OP_recurrent;
	size_t n = STEPS * attrs->units;
	bool same = true;
	struct pass all, one;

	pass_init(&all, device, op, attrs, MANY, STEPS);
	draw(device, all.x[0], MANY * STEPS * IN, 1);
	draw(device, all.call.dy, MANY * n, 2);
	run(&all, op);
	pass_init(&one, device, op, attrs, 1, STEPS);
	for (size_t row = 0; row < MANY; row++) {
		memcpy(one.x[0], at(&all, all.x[0], row * STEPS * IN), size_of(&all, STEPS * IN));
		memcpy(one.call.dy, at(&all, all.call.dy, row * n), size_of(&all, n));
		one.call.first = row == 0;
		run(&one, op);
		same = same &&
		       memcmp(one.call.y, at(&all, all.call.y, row * n), size_of(&all, n)) == 0;
	}
	for (int i = 0; i < NN_MAX_PARAMS && one.dw[i]; i++)
		same = same && memcmp(one.dw[i], all.dw[i], one.bytes[i]) == 0;
	pass_fini(&all);
	pass_fini(&one);
	return same;
}

static void check(const struct nn_device *device)
{
	static const uint32_t lengths[ROWS] = { 3, STEPS, 1, 66, 33 }, one[] = { 40 };
	bool cells = true, heads = true, many,
	     last = rows_alone(device, NN_OP_last, NULL, lengths, ROWS);

	for (int cell = 0; cell < NN_N_CELLS; cell++)
		for (int reverse = 0; reverse < 2; reverse++) {
			struct nn_recurrent a = { cell, UNITS, true, reverse, 0 };

			cells = cells && rows_alone(device, NN_OP_recurrent, &a, lengths, ROWS) &&
				rows_alone(device, NN_OP_recurrent, &a, one, 1);
		}
	/* ten minutes of valgrind, and few rows are read and written by the same code but for a store */
	many = getenv("NN_WRAP") ||
	       (many_rows(device,
			  &(struct nn_recurrent){ NN_CELL_LSTM, MANY_UNITS, true, false, 0 }) &&
		many_rows(device,
			  &(struct nn_recurrent){ NN_CELL_GRU, MANY_UNITS, true, true, 0 }));
	for (size_t n = 1; n <= 4; n *= 2)
		for (int causal = 0; causal < 2; causal++) {
			struct nn_attention a = { .heads = n, .causal = causal };

			heads = heads && rows_alone(device, NN_OP_attention, &a, lengths, ROWS) &&
				rows_alone(device, NN_OP_attention, &a, one, 1);
		}
	ok(cells, "recurrent: a row is as long as it says, in both directions, %s, %s",
	   device->kind, nn_dtype_name(device->dtype));
	ok(many, "recurrent: many rows have the bytes of rows one after the other, %s, %s%s",
	   device->kind, nn_dtype_name(device->dtype),
	   getenv("NN_WRAP") ? " # SKIP under valgrind" : "");
	ok(heads, "attention: no position behind a row's is attended to, or attends, %s, %s",
	   device->kind, nn_dtype_name(device->dtype));
	ok(last, "last: the last step of a row is that of its length, %s, %s", device->kind,
	   nn_dtype_name(device->dtype));
}

/*
 * The kernels of nn-cuda.so in their host form (tests/device/cuda-host.c), where make
 * check-cuda-host or check-long has built it.
 */
static void check_cuda(void)
{
	const char *build = getenv("NN_BUILD"), *module = getenv("NN_TEST_MODULE");
	const struct nn_device *device;
	struct nn_error err;
	char path[4096];

	if (!module || strcmp(module, "cuda") != 0)
		return;
	snprintf(path, sizeof path, "%s/tests/device/cuda/.libs", build ? build : ".");
	setenv("NN_MODULE_PATH", path, 1);
	device = nn_device_open("cuda:9", NN_F32, &err);
	if (device)
		check(device);
	else
		ok(false, "%s", err.text);
}

int main(void)
{
	static const enum nn_dtype dtypes[] = { NN_F32, NN_F64 };
	const struct nn_device *kinds[NN_MAX_KINDS];

	for (int d = 0; d < 2; d++) {
		size_t n = nn_device_kinds(dtypes[d], kinds);

		for (size_t i = 0; i < n; i++)
			check(kinds[i]);
	}
	check_cuda();
	return tap_done();
}
