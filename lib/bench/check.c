/*
 * Results beside those of the device cpu in f64: outputs of some rows of a call, the gradient of a
 * batch.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/real.h"
#include "bench/op/trial.h"
#include "bench/trial-inside.h"
#include "device/products.h"

#define CHECKED_ROWS 64 /* outputs of so many rows of a call, spread over it */

/* f64 copies of canonical parameters. */
static void **params_f64(const struct nn_program *program, void *const *params, enum nn_dtype dtype,
			 struct nn_error *err)
{
	void **copy = nn_params_new(program, NN_F64, err);

	for (int p = 0; copy && p < program->n_params; p++)
		for (size_t i = 0; i < nn_shape_count(&program->params[p].desc.shape); i++)
			((double *)copy[p])[i] = nn_real_at(dtype, params[p], i);
	return copy;
}

/* ---- prediction ---- */

/* n that are compared, and others that tell how large outputs are: one row's may be near 0. */
struct rows {
	size_t n, all;
	double **in, **out;
};

static size_t row_of(const struct nn_trial *t, size_t i, size_t n)
{
	return n > 1 ? i * (t->options.batch - 1) / (n - 1) : 0;
}

/* The inputs of the last call's rows, in f64, and of other calls'. */
static int rows_init(const struct nn_trial *t, struct rows *r, struct nn_error *err)
{
	r->n = t->options.batch < CHECKED_ROWS ? t->options.batch : CHECKED_ROWS;
	r->all = t->n_rows < CHECKED_ROWS ? r->n : CHECKED_ROWS;
	r->in = (double **)nn_bench_model_rows(t->subject, false, r->all, NN_F64, err);
	r->out = (double **)nn_bench_model_rows(t->subject, true, r->all, NN_F64, err);
	if (!r->in || !r->out)
		return -1;
	for (size_t k = 0; k < (size_t)t->subject->program->n_inputs; k++) {
		size_t size = nn_session_input_size(t->session, k);

		for (size_t i = 0; i < r->n * size; i++)
			r->in[k][i] = nn_real_at(t->options.device->dtype, t->in[k],
						 row_of(t, i / size, r->n) * size + i % size);
		for (size_t i = r->n * size; i < r->all * size; i++)
			r->in[k][i] = nn_real_at(t->options.device->dtype, t->values[k], i);
	}
	return 0;
}

/* The largest difference of all outputs, relative to the largest value. */
static double difference_of(const struct nn_trial *t, const struct rows *r)
{
	double largest = 0, off = 0;

	for (size_t k = 0; k < (size_t)t->subject->program->n_outputs; k++) {
		size_t size = nn_session_output_size(t->session, k);

		for (size_t i = 0; i < r->n * size; i++) {
			double found = nn_real_at(t->options.device->dtype, t->out[k],
						  row_of(t, i / size, r->n) * size + i % size);

			if (isnan(found) != isnan(r->out[k][i]))
				return INFINITY;
			off = fmax(off, fabs(found - r->out[k][i]));
		}
		for (size_t i = 0; i < r->all * size; i++)
			largest = fmax(largest, fabs(r->out[k][i]));
	}
	return off == 0 ? 0 : off / fmax(largest, 1e-30);
}

static int check_prediction(struct nn_trial *t, const struct nn_device *cpu, void **params,
			    double *difference, struct nn_error *err)
{
	struct nn_model_source source = { .path = t->subject->path, .device = cpu };
	struct rows rows = { 0 };
	struct nn_session *session = NULL;
	struct nn_model *model = NULL;
	int status = -1;

	if (!source.path) {
		source.net = t->subject->net;
		source.params = (const void *const *)params;
	}
	if (nn_model_load(&model, &source, err) == 0 &&
	    (session = nn_session_open(model, NULL, err)) && rows_init(t, &rows, err) == 0) {
		nn_session_predict_f64(session, (const double *const *)rows.in, rows.all, rows.out,
				       NULL);
		*difference = difference_of(t, &rows);
		status = 0;
	}
	nn_free(rows.in);
	nn_free(rows.out);
	nn_session_close(session);
	nn_model_close(model);
	return status;
}

/* ---- training ---- */

/* |a - b| / |b| over all parameters. */
static double gradients_off(const struct nn_trial *t, struct nn_graph *a, struct nn_graph *b,
			    void **a_values, void **b_values)
{
	const struct nn_program *program = t->subject->program;
	double squares = 0, off = 0;

	for (int p = 0; p < program->n_params; p++) {
		if (program->params[p].desc.role == NN_BUFFER)
			continue;
		nn_graph_gradient(a, p, a_values[p]);
		nn_graph_gradient(b, p, b_values[p]);
		for (size_t i = 0; i < nn_shape_count(&program->params[p].desc.shape); i++) {
			double found = nn_real_at(t->options.device->dtype, a_values[p], i),
			       right = ((double *)b_values[p])[i];

			squares += right * right;
			off += (found - right) * (found - right);
		}
	}
	return off == 0 ? 0 : sqrt(off / fmax(squares, 1e-60));
}

/* The gradient of a trial's first rows. */
static int first_rows(const struct nn_trial *t, struct nn_step_result *result, struct nn_error *err)
{
	struct nn_source source = nn_dataset_source(t->dataset);
	struct nn_batch batch = nn_batch_of(&source, t->alone.rows, t->options.batch);

	return nn_step_gradient(t->alone.worker.step, &batch, result, err);
}

/* The gradient of the first rows with the weights as they are now, beside that of another trial. */
static int check_training(struct nn_trial *t, const struct nn_device *cpu, double *difference,
			  struct nn_error *err)
{
	const struct nn_program *program = t->subject->program;
	struct nn_graph *graph = nn_step_graph(t->alone.worker.step);
	struct nn_bench_model model = *t->subject;
	struct nn_trial_options o = t->options;
	void **now = nn_params_new(program, t->options.device->dtype, err);
	struct nn_trial *other = NULL;
	struct nn_step_result found, right;
	int status = -1;

	if (!now)
		return -1;
	nn_graph_save(graph, now);
	o.subject = &model;
	o.device = cpu;
	o.most_bytes = 1; /* as few samples as can be */
	model.dtype = NN_F64;
	model.params = params_f64(program, now, t->options.device->dtype, err);
	*difference = INFINITY;
	if (model.params && nn_trial_new(&other, &o, err) == 0 && first_rows(t, &found, err) == 0 &&
	    first_rows(other, &right, err) == 0)
		status = 0;
	if (status == 0 && found.finite && right.finite && !t->diverged)
		*difference = fmax(fabs(found.loss - right.loss) / fmax(fabs(right.loss), 1e-30),
				   gradients_off(t, graph, nn_step_graph(other->alone.worker.step),
						 now, model.params));
	nn_trial_free(other);
	nn_free(now);
	nn_free(model.params);
	return status;
}

/* ---- both ---- */

/* NAN: there is nothing to compare with. */
static int measure_difference(struct nn_trial *t, double *difference, struct nn_error *err)
{
	const struct nn_device *cpu = nn_device_open("cpu", NN_F64, err);
	void **params;
	int status;

	*difference = NAN;
	if (!cpu)
		return -1;
	if (t->bytes > nn_memory_available() / 3)
		return 0;
	if (t->options.mode == NN_BENCH_TRAIN)
		return check_training(t, cpu, difference, err);
	if (t->calls == 0)
		return 0;
	params = params_f64(t->subject->program, t->subject->params, t->subject->dtype, err);
	status = params ? check_prediction(t, cpu, params, difference, err) : -1;
	nn_free(params);
	return status;
}

/*
 * Sums of products in f32, in any order, are good to some 1e-5; where one rounds across a kink of
 * relu a gradient is off by a row's part. Rows in 8 bits are good to 1/510 of their range each,
 * rounded factors to 2^-11 of themselves, of bf16 to 2^-9, and more of those lie near a kink.
 */
static double tolerance(const struct nn_trial *t)
{
	const enum nn_products products = nn_products_named(t->options.device->name);

	if (t->options.device->dtype == NN_F64)
		return 1e-9;
	if (t->options.int8)
		return 5e-2;
	if (nn_products_rounded(products))
		return (products == NN_PRODUCTS_BF16 ? 4 : 1) *
		       (t->options.mode == NN_BENCH_TRAIN ? 5e-2 : 1e-2);
	return t->options.mode == NN_BENCH_TRAIN ? 2e-2 : 1e-3;
}

static void compare(struct nn_verdict *v, double difference, double allowed)
{
	v->wrong = !(difference <= allowed);
	snprintf(v->check, sizeof v->check, v->wrong ? "%.3g" : "ok", difference);
}

int nn_verdict_add(struct nn_verdict *v, struct nn_trial *t, struct nn_error *err)
{
	double difference;

	if (v->wrong)
		return 0;
	if (measure_difference(t, &difference, err) < 0)
		return -1;
	*v->check = '\0';
	if (!isnan(difference))
		compare(v, difference, tolerance(t));
	return 0;
}

int nn_verdict_add_pair(struct nn_verdict *v, struct nn_trial *const pair[2], struct nn_error *err)
{
	return nn_verdict_add(v, pair[0], err) < 0 ? -1 : nn_verdict_add(v, pair[1], err);
}

int nn_verdict_add_op(struct nn_verdict *v, struct nn_op_trial *t, bool backward,
		      struct nn_error *err)
{
	double difference, allowed;

	if (v->wrong)
		return 0;
	if (nn_op_trial_check(t, backward, &difference, &allowed, err) < 0)
		return -1;
	compare(v, difference, allowed);
	return 0;
}

void nn_verdict_put(const struct nn_verdict *v, struct nn_report *report)
{
	nn_report_check(report, *v->check ? v->check : NULL, v->wrong);
}
