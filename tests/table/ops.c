/*
 * A walk of the op table: forward against plain loops, gradients against differences, the same
 * bytes however it is computed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "bench/op/reference.h"
#include "op/notation.h"
#include "table/isa.h"
#include "table/random.h"
#include "table/trial.h"

/* More places and all thread counts in the long run. */
#ifdef LONG
#define PLACES 100
#define RANDOM 150
#define THREADS(t) ((t) <= 4)
#else
#define PLACES 12
#define RANDOM 12
#define THREADS(t) ((t) == 1 || (t) == 3)
#endif

/* ---- forward ---- */

static bool close_to(double got, double want, double tolerance)
{
	return fabs(got - want) <= tolerance * (1 + fabs(want));
}

/*
 * Kernel and plain loop differ in the order of sums alone: 1e-12 and 2e-5 leave room for some
 * thousands of terms.
 */
static int forward_is_right(const struct data *d, const struct nn_device *device, bool training)
{
	struct how how = { .device = device, .threads = 1, .training = training };
	struct nn_site site = { .attrs = d->site->attrs,
				.in = d->site->in,
				.n_in = d->site->n_in,
				.out = d->out,
				.training = training };
	double *y = doubles(d->n_y), *w[NN_MAX_PARAMS],
	       tolerance = device->dtype == NN_F64 ? 1e-12 : 2e-5;
	struct result r;
	int ok = 1;
	for (int p = 0; p < d->n_params; p++) {
		w[p] = doubles(d->n_w[p]);
		memcpy(w[p], d->w[p], d->n_w[p] * sizeof(double));
	}
	nn_references[d->site->op](&(struct nn_reference){ &site, d->site->rows, SAMPLE, SEED,
							   (const double *const *)d->x, w,
							   d->span->group, d->span->n_groups, y });
	result_make(&r, d, &how);
	for (size_t i = 0; i < d->n_y && ok; i++)
		if (!close_to(real_at(&r, r.y, i), y[i], tolerance)) {
			printf("# %s %s %zu: %.17g, not %.17g\n", device->kind,
			       nn_dtype_name(device->dtype), i, real_at(&r, r.y, i), y[i]);
			ok = 0;
		}
	for (int p = 0; p < d->n_params; p++) { /* buffers */
		double *after = canonical(&r, r.w[p], p);
		for (size_t i = 0; i < d->n_w[p]; i++)
			ok &= close_to(after[i], w[p][i], tolerance);
		nn_free(after);
		nn_free(w[p]);
	}
	ok &= r.guarded;
	result_free(&r);
	nn_free(y);
	return ok;
}

/* ---- gradients ---- */

/* sum of dy * y, with one number changed. */
static double objective(struct data *d, const struct nn_device *device, double *number,
			double value)
{
	struct how how = { .device = device, .threads = 1, .training = true, .forward = true };
	double before = *number;
	long double sum = 0;
	struct result r;
	*number = value;
	result_make(&r, d, &how);
	for (size_t i = 0; i < d->n_y; i++)
		sum += d->dy[i] * real_at(&r, r.y, i);
	*number = before;
	result_free(&r);
	return (double)sum;
}

/*
 * Central differences are good to about 1e-9 here, save where a relu or a maximum bends within the
 * step: then sides differ.
 */
static int gradient_at(struct data *d, const struct nn_device *device, double middle,
		       double *number, double got)
{
	const double h = 1e-6;
	double up = objective(d, device, number, *number + h),
	       down = objective(d, device, number, *number - h), want = (up - down) / (2 * h);
	bool bends = fabs((up - middle) - (middle - down)) / h > 1e-4 * (1 + fabs(want));
	if (bends || close_to(got, want, 2e-6))
		return 1;
	printf("# gradient %.12g, not %.12g\n", got, want);
	return 0;
}

/* The row of a table that is never trained. */
static bool is_padding(const struct nn_op_param *param, size_t element)
{
	return param->role == NN_ROW_TABLE && element / param->shape.dim[1] == param->padding;
}

/* Those of the slowest instructions; what they are held against has the bytes of all. */
static int gradients_are_right(struct data *d)
{
	struct how how = { .device = device_of("generic", NN_F64), .threads = 1, .training = true };
	const struct nn_device *device = NULL;
	struct result r;
	double middle;
	int ok = 1;
	for (size_t isa = sizeof isas / sizeof isas[0] - 1; !device;) /* of the CPU's */
		device = device_of(isas[--isa], NN_F64);
	middle = objective(d, device, d->dy, d->dy[0]);
	result_make(&r, d, &how);
	for (int j = 0; j < d->site->n_in && !(nn_ops[d->site->op]->flags & NN_OP_NUMBERS_ROWS);
	     j++)
		for (size_t i = 0, n = d->n_x[j] < PLACES ? d->n_x[j] : PLACES; i < n; i++) {
			size_t at = i * d->n_x[j] / n;
			ok &= gradient_at(d, device, middle, &d->x[j][at],
					  real_at(&r, r.dx[j], at));
		}
	for (int p = 0; p < d->n_params; p++) {
		double *dw = r.dw[p] ? canonical(&r, r.dw[p], p) : NULL;
		for (size_t i = 0, n = d->n_w[p] < PLACES ? d->n_w[p] : PLACES; dw && i < n; i++) {
			size_t at = i * d->n_w[p] / n;
			ok &= is_padding(&d->params[p], at)
				      ? dw[at] == 0
				      : gradient_at(d, device, middle, &d->w[p][at], dw[at]);
		}
		nn_free(dw);
	}
	result_free(&r);
	return ok;
}

/* ---- bytes ---- */

static int same(const struct data *d, size_t size, const struct result *a, const struct result *b,
		bool dx)
{
	int ok = a->guarded && b->guarded && memcmp(a->y, b->y, d->n_y * size) == 0;
	for (int j = 0; dx && j < d->site->n_in; j++)
		ok &= !a->dx[j] || memcmp(a->dx[j], b->dx[j], d->n_x[j] * size) == 0;
	for (int p = 0; p < d->n_params; p++) {
		ok &= memcmp(a->w[p], b->w[p], a->n_dw[p] * size) == 0;
		if (a->dw[p])
			ok &= memcmp(a->dw[p], b->dw[p], a->n_dw[p] * size) == 0;
	}
	return ok;
}

static int compare(const struct data *d, const struct result *want, struct how how)
{
	struct result r;
	int ok;
	result_make(&r, d, &how);
	ok = same(d, nn_dtype_size(how.device->dtype), want, &r, !how.no_dx);
	if (!ok)
		printf("# differs: %s %s, %d threads, cut %d, %s\n", how.device->kind,
		       nn_dtype_name(how.device->dtype), how.threads, how.cut,
		       how.training ? "training" : "prediction");
	result_free(&r);
	return ok;
}

/*
 * On cuda the pool does nothing: a second count of threads is tried where it changes how lists are
 * summed.
 */
static bool threads_count(const struct data *d, size_t isa, int threads)
{
	return THREADS(threads) && (threads > 1 || strcmp(isas[isa], "cuda") != 0 ||
				    nn_ops[d->site->op]->flags & NN_OP_NUMBERS_ROWS);
}

static int bytes_are_the_same(const struct data *d, enum nn_dtype dtype)
{
	struct how how = { .device = device_of("generic", dtype), .threads = 1, .training = true };
	struct result want, predicted;
	int ok = 1;
	result_make(&want, d, &how);
	how.training = false;
	result_make(&predicted, d, &how);
	for (size_t isa = 0; isa < sizeof isas / sizeof isas[0]; isa++) {
		how.device = device_of(isas[isa], dtype);
		if (!how.device)
			continue;
		for (int t = 1; t <= 4; t++) {
			if (!threads_count(d, isa, t))
				continue;
			how.threads = t;
			how.training = true;
			for (enum cut cut = WHOLE; cut <= BY_PIECE; cut++) {
				how.cut = cut;
				ok &= compare(d, &want, how);
			}
			how.training = false;
			how.cut = BY_ROW;
			ok &= compare(d, &predicted, how);
		}
		how.cut = WHOLE;
		how.shared = true;
		ok &= compare(d, &predicted, how);
		how.training = true;
		ok &= compare(d, &want, how);
		how.shared = false;
		how.no_dx = true;
		ok &= compare(d, &want, how);
		how.no_dx = false;
	}
	result_free(&want);
	result_free(&predicted);
	return ok;
}

/* dx_add: old + gradient, rounded once in the type. */
static int adding_is_right(const struct data *d, const struct nn_device *device)
{
	struct how how = { .device = device, .threads = 2, .training = true };
	size_t size = nn_dtype_size(device->dtype);
	struct result plain, added;
	int ok = 1;
	result_make(&plain, d, &how);
	how.add = true;
	result_make(&added, d, &how);
	for (int j = 0; j < d->site->n_in; j++) {
		double *sum = doubles(d->n_x[j]);
		void *want = doubles(d->n_x[j]);
		for (size_t i = 0; i < d->n_x[j]; i++)
			sum[i] = device->dtype == NN_F64
					 ? d->old[j][i] + real_at(&plain, plain.dx[j], i)
					 : (float)d->old[j][i] +
						   (float)real_at(&plain, plain.dx[j], i);
		for (size_t i = 0; i < d->n_x[j]; i++)
			nn_real_put(device->dtype, want, i, sum[i]);
		/* windows that overlap add to what is there one after the other */
		for (size_t i = 0; i < d->n_x[j]; i++)
			ok &= memcmp((char *)want + i * size, (char *)added.dx[j] + i * size,
				     size) == 0 ||
			      close_to(real_at(&added, added.dx[j], i), sum[i],
				       device->dtype == NN_F64 ? 1e-14 : 1e-6);
		nn_free(sum);
		nn_free(want);
	}
	result_free(&plain);
	result_free(&added);
	return ok;
}

/* Whole numbers: of the largest of a window there are several, and the first one counts. */
static void tie(struct data *d)
{
	for (size_t i = 0; i < d->n_x[0]; i++)
		d->x[0][i] = floor(d->x[0][i]);
}

static void walk(const struct nn_op_site *site)
{
	struct data d;
	int forward = 1, predicted = 1, added = 1;
	data_init(&d, site);
	for (size_t isa = 0; isa < sizeof isas / sizeof isas[0]; isa++)
		for (int f64 = 0; f64 < 2; f64++) {
			const struct nn_device *device =
				device_of(isas[isa], f64 ? NN_F64 : NN_F32);
			if (!device)
				continue;
			forward &= forward_is_right(&d, device, true);
			if (!(nn_ops[site->op]->flags & NN_OP_TRAIN_ONLY))
				predicted &= forward_is_right(&d, device, false);
			added &= nn_ops[site->op]->flags & NN_OP_NUMBERS_ROWS
					 ? 1
					 : adding_is_right(&d, device);
		}
	claim(site->name, "forward equals the plain loop", forward);
	claim(site->name, "so does prediction", predicted);
	claim(site->name, "gradients equal central differences", gradients_are_right(&d));
	claim(site->name, "gradients are added to what is there", added);
	if (site->op == NN_OP_maxpool2d)
		tie(&d);
	claim(site->name,
	      "f32: same bytes on every instruction set, thread count and cut, memory shared or "
	      "not",
	      bytes_are_the_same(&d, NN_F32));
	claim(site->name,
	      "f64: same bytes on every instruction set, thread count and cut, memory shared or "
	      "not",
	      bytes_are_the_same(&d, NN_F64));
	data_fini(&d);
}

/* At a size of common networks as nn-bench checks it: some rows, some gradients. */
static void look(const struct nn_op_site *site)
{
	const struct nn_device *kinds[NN_MAX_KINDS] = { NULL };
	struct nn_op_how how = { .training = true, .want_dx = true };
	double difference, allowed;
	struct nn_text shape = { 0 };
	struct nn_op_trial *t = NULL;
	struct nn_error err;
	int ok;
	nn_device_kinds(NN_F32, kinds);
	how.device = kinds[0];
	ok = nn_op_trial_new(&t, site, &how, &err) == 0;
	for (int backward = 0; backward < 2 && ok; backward++)
		ok = nn_op_trial_check(t, backward, &difference, &allowed, &err) == 0 &&
		     difference <= allowed;
	nn_text_addf(&shape, "%s:", nn_ops[site->op]->name);
	nn_op_write(site->op, site->attrs, site->in, site->rows, &shape);
	claim(shape.data, "f32: nn-bench finds it right", ok);
	nn_text_free(&shape);
	nn_op_trial_free(t);
}

int main(int argc, char **argv)
{
	bool tried[NN_N_OPS] = { false }, timed[NN_N_OPS] = { false };
	int all = 1;
	for (size_t i = 0; i < nn_op_n_sites; i++) {
		const struct nn_op_site *site = &nn_op_sites[i];
		(site->name ? tried : timed)[site->op] = true;
		if (argc >= 2 && !strstr(site->name ? site->name : "timed", argv[1]))
			continue;
		if (site->name)
			walk(site);
		else
			look(site);
	}
	for (uint64_t i = 1; i <= RANDOM; i++) {
		struct random_site r;
		random_site_make(&r, i);
		if (argc < 2 || strstr(r.name, argv[1]))
			walk(&r.site);
	}
	for (int op = 0; op < NN_N_OPS; op++)
		all &= tried[op] && timed[op];
	claim("table", "every op has sites that are tried and timed", all);
	printf("1..%d\n", n_tests);
	return failed;
}
