/*
 * Gradients beside central differences of the loss: f64, a few rows, a sample of each parameter's
 * elements.
 */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/random.h"
#include "model/model.h"
#include "train/job.h"
#include "train/selfcheck/selfcheck.h"

#define ROWS 8
#define ELEMENTS 6     /* of a parameter: the one with the largest gradient, the others drawn */
#define BUDGET_S 3.0   /* of processor time for all of them: a slow network has fewer looked at */
#define TOLERANCE 1e-4 /* relative; a rounded loss leaves 1e-14 / h of it, a smooth one h^2 */
#define STREAM_CHECK 0x53454c46 /* "SELF": draws nothing that a training draws */

struct differences {
	struct nn_selfcheck *check;
	struct nn_train *train;
	struct nn_step *step;
	struct nn_loader loader;
	size_t rows, elements;
	void **params, **gradients;
	double loss;
};

/* The loss of the rows for the parameters as they are; the same dropout each time. */
static bool evaluate(struct differences *d, double *loss, struct nn_error *err)
{
	struct nn_step_result result;
	struct nn_batch batch;

	if (nn_graph_load(nn_step_graph(d->step), (const void *const *)d->params, err) < 0 ||
	    nn_loader_draw(&d->loader, 0, &batch, err) < 0 ||
	    nn_step_gradient(d->step, &batch, &result, err) < 0)
		return false;
	if (!result.finite) {
		nn_fail(err, NN_EDIVERGED,
			"the loss is not finite, so its gradient cannot be checked");
		return false;
	}
	*loss = result.loss;
	return true;
}

/*
 * The relative error of one element: the least over some steps h, since a kink of relu or max may
 * lie within one of them. A difference that rounding explains is not an error: the floor below.
 */
static bool element_error(struct differences *d, int p, size_t i, double *error,
			  struct nn_error *err)
{
	double *w = (double *)d->params[p] + i, was = *w,
	       exact = ((const double *)d->gradients[p])[i], up, down;

	*error = INFINITY;
	for (double h = 1e-4; h > 5e-7 && *error > TOLERANCE; h /= 10) {
		double step = h * fmax(1, fabs(was)), high = was + step, low = was - step, numeric,
		       floor, e;

		*w = high;
		if (!evaluate(d, &up, err))
			return false;
		*w = low;
		if (!evaluate(d, &down, err))
			return false;
		*w = was;
		numeric = (up - down) / (high - low);
		floor = 1e-10 * fmax(1, fabs(d->loss)) / step;
		e = fabs(numeric - exact) / (fmax(fabs(numeric), fabs(exact)) + floor);
		*error = e < *error ? e : *error;
	}
	return true;
}

static size_t draw(uint32_t p, uint32_t k, size_t n)
{
	uint32_t x[4];

	nn_philox(p, k, STREAM_CHECK, 0, x);
	return (size_t)((unsigned __int128)((uint64_t)x[1] << 32 | x[0]) * n >> 64);
}

static size_t largest(const double *values, size_t n)
{
	size_t at = 0;

	for (size_t i = 1; i < n; i++)
		if (fabs(values[i]) > fabs(values[at]))
			at = i;
	return at;
}

static int check_param(struct differences *d, int p, struct nn_error *err)
{
	const struct nn_program_param *param = &d->train->task.program->params[p];
	size_t n = nn_shape_count(&param->desc.shape), checked = n < d->elements ? n : d->elements;
	double worst = 0, error;

	for (size_t k = 0; k < checked; k++) {
		size_t i = checked == n ? k
			   : k == 0     ? largest(d->gradients[p], n)
					: draw((uint32_t)p, (uint32_t)k, n);

		if (*d->check->stop)
			return 0;
		if (!element_error(d, p, i, &error, err))
			return -1;
		worst = error > worst ? error : worst;
	}
	return nn_selfcheck_row(d->check, "gradient", param->name, worst <= TOLERANCE, err,
				"%zu of %zu elements with central differences in f64, %zu rows: "
				"relative error %.1e, %.0e allowed",
				checked, n, d->rows, worst, TOLERANCE);
}

/* Away from the values that a training begins with: zeros put everything on the kinks. */
static void shake(struct differences *d)
{
	for (int p = 0; p < d->train->task.program->n_params; p++) {
		const struct nn_op_param *desc = &d->train->task.program->params[p].desc;
		size_t n = nn_shape_count(&desc->shape);

		for (size_t i = 0; desc->role != NN_BUFFER && i < n; i++)
			((double *)d->params[p])[i] +=
				((double)draw((uint32_t)p, (uint32_t)(i + 1000), 1 << 20) /
					 (1 << 20) -
				 0.5) /
				50;
	}
}

static int check_params(struct differences *d, struct nn_error *err)
{
	const struct nn_program *program = d->train->task.program;
	struct nn_graph *graph = nn_step_graph(d->step);
	double seconds, checked;
	clock_t start;
	int n = 0, every, seen = 0;

	if (!evaluate(d, &d->loss, err))
		return -1;
	start = clock();
	if (!evaluate(d, &d->loss, err)) /* warm: how long one takes */
		return -1;
	seconds = (double)(clock() - start + 1) / CLOCKS_PER_SEC;
	for (int p = 0; p < program->n_params; p++)
		if (nn_graph_trains(graph, p)) {
			nn_graph_gradient(graph, p, d->gradients[p]);
			n++;
		}
	checked = BUDGET_S / (2 * seconds * (n ? n : 1));
	d->elements = checked > ELEMENTS ? ELEMENTS : checked < 1 ? 1 : (size_t)checked;
	every = checked >= 1 ? 1 : checked * n < 1 ? n : (int)(1 / checked) + 1;
	for (int p = 0; p < program->n_params && !*d->check->stop; p++)
		if (nn_graph_trains(graph, p) && seen++ % every == 0 && check_param(d, p, err) < 0)
			return -1;
	if (every > 1)
		nn_tell_note(&d->train->told,
			     "--selfcheck: one of %d parameters had its gradient checked, the "
			     "others would take too long",
			     every);
	return 0;
}

int nn_selfcheck_gradients(struct nn_selfcheck *check, struct nn_train *t, struct nn_error *err)
{
	struct differences d = { .check = check, .train = t };
	struct nn_loader_options drawn = { .source = nn_dataset_source(t->task.dataset),
					   .augment = t->task.augment,
					   .rows = t->task.rows,
					   .n = t->task.n_rows,
					   .seed = t->std->seed,
					   .window = t->task.window };
	size_t group = nn_program_group(t->task.program);
	int status = -1;

	d.rows = group > ROWS ? group : ROWS;
	d.rows = d.rows < t->task.n_rows ? d.rows : t->task.n_rows;
	drawn.batch = d.rows;
	d.params = nn_params_new(t->task.program, NN_F64, err);
	d.gradients = nn_params_new(t->task.program, NN_F64, err);
	if (d.params && d.gradients && nn_loader_init(&d.loader, &drawn, err) == 0 &&
	    nn_selfcheck_step(&d.step, t, d.rows, d.rows, d.rows, err) == 0 &&
	    nn_selfcheck_start(t, d.step, d.params, err) == 0) {
		shake(&d);
		status = check_params(&d, err);
	}
	nn_loader_fini(&d.loader);
	nn_step_free(d.step);
	nn_free(d.params);
	nn_free(d.gradients);
	return status;
}
