/*
 * Steps that are tried: some to touch the memory and to wake threads and caches, then some that are
 * timed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "parallel/step-options.h"
#include "parallel/strategy.h"
#include "plan/plan.h"
#include "plan/trial-steps.h"
#include "step/made.h"

#define WARM_S 0.005  /* at least, of steps that are not timed */
#define ENOUGH_S 0.03 /* of steps that are timed */
#define PART 0.05     /* of the training, which may be too short for that */
#define LEAST_STEPS 3 /* so that one that met other work does not decide alone */
#define MOST_STEPS 4096
#define LONG_S 0.1 /* a step that is tried but once */
/* of a step that is tried for a plan: some tenths of a second; half as many in f64 */
#define TRIED_FLOPS 8e9
/* times that the loop around a step could ask for the time in what it takes itself */
#define LOOP_CLOCKS 8
#define MOST_ROWS ((uint64_t)1 << 20) /* whose order is drawn for the time it takes alone */

/* What is tried, and of which training. */
struct trial {
	struct nn_step *step;
	const uint64_t *rows; /* [n_rows] of the samples */
	uint64_t n_rows;
	struct nn_loader loader; /* of the rows in `batch` */
	uint64_t *batch;         /* [n], room for numbers of samples */
	size_t n, spans;         /* spans: that stand for a step; 0: all of it */
	uint64_t steps;          /* of the training */
};

/* Room for rows of a dataset. */
static int trial_init(struct trial *t, const struct nn_dataset *dataset, struct nn_error *err)
{
	struct nn_loader_options drawn = { .source = nn_dataset_source(dataset),
					   .n = t->n,
					   .batch = t->n };

	if (!(drawn.rows = t->batch = nn_alloc(t->n, sizeof *t->batch, err)))
		return -1;
	return nn_loader_init(&t->loader, &drawn, err);
}

static void trial_fini(struct trial *t)
{
	nn_loader_fini(&t->loader);
	nn_free(t->batch);
}

/* Rows from all over the data, as a shuffled epoch has them. */
static void draw(const struct trial *t, uint64_t *state)
{
	for (size_t i = 0; i < t->n; i++)
		t->batch[i] = t->rows[(nn_lcg(state) >> 33) % t->n_rows];
}

/* How much of a step was done: 1, or the share of its samples. */
static int gradient(struct trial *t, struct nn_step_result *result, double *share,
		    struct nn_error *err)
{
	struct nn_step_tables tables;
	struct nn_batch batch;
	size_t rows = 0;

	*share = 1;
	if (nn_loader_draw(&t->loader, 0, &batch, err) < 0)
		return -1;
	if (t->spans == 0)
		return nn_step_gradient(t->step, &batch, result, err);
	if (nn_step_begin(t->step, &batch, &tables, err) < 0)
		return -1;
	nn_step_scale(t->step, result);
	for (size_t i = 0; i < t->spans && i < nn_step_spans(t->step); i++) {
		if (nn_step_forward(t->step, i, result, err) < 0)
			return -1;
		nn_step_backward(t->step, i, result);
		rows += nn_step_span_rows(t->step, i);
	}
	*share = (double)rows / (double)t->n;
	return 0;
}

struct timed {
	double gradient, update;
};

static int by_time(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;
	double s = x->gradient + x->update, t = y->gradient + y->update;

	return (s > t) - (s < t);
}

/*
 * Means, since what other work takes from these steps it will take from later ones; but for the
 * slowest fourth, which some stall met.
 */
static struct nn_trial_step_times mean(struct timed *steps, size_t n)
{
	struct nn_trial_step_times found = { 0 };
	size_t most = n > 1 ? n - (n + 3) / 4 : n;

	qsort(steps, n, sizeof *steps, by_time);
	for (size_t i = 0; i < most; i++) {
		found.gradient_s += steps[i].gradient / (double)most;
		found.update_s += steps[i].update / (double)most;
	}
	return found;
}

static int time_steps(struct trial *t, struct nn_trial_step_times *found, struct nn_error *err)
{
	struct timed steps[MOST_STEPS];
	struct nn_step_result result;
	double begin = nn_now_s();
	uint64_t state = 1;
	size_t n = 0, least = LEAST_STEPS;
	bool warm = false;

	while (n < MOST_STEPS) {
		double start, middle, end, share, enough;

		draw(t, &state);
		start = nn_now_s();
		if (gradient(t, &result, &share, err) < 0)
			return -1;
		middle = nn_now_s();
		nn_step_update(t->step, 1, 0, false, &result, NULL);
		end = nn_now_s();
		enough = PART * (double)t->steps * ((middle - start) / share + end - middle);
		if (!warm) {
			warm = end - begin > fmin(WARM_S, enough);
			least = end - start > LONG_S ? 1 : LEAST_STEPS;
			begin = warm ? end : begin;
			continue;
		}
		steps[n++] = (struct timed){ (middle - start) / share, end - middle };
		if (n >= least && end - begin > fmin(ENOUGH_S, enough))
			break;
	}
	*found = mean(steps, n);
	return 0;
}

/* The loop around steps of `batch` samples, where the order of so many rows took so long. */
static double loop_seconds(double order_s, uint64_t rows, uint64_t batch)
{
	double start = nn_now_s(), end = start;

	for (int i = 0; i < LOOP_CLOCKS; i++)
		end = nn_now_s();
	return end - start + order_s / (double)rows * (double)batch;
}

/* The order of the first epoch, which stays: a resumed training has another. */
static double draw_order(const struct nn_task *t, const struct nn_training_step *own)
{
	double start = nn_now_s();
	uint64_t n = nn_loader_shuffle(own->loader, 0, own->resumes ? MOST_ROWS : UINT64_MAX);

	return loop_seconds(nn_now_s() - start, n, t->recipe->batch);
}

double nn_trial_step_flops(const struct nn_plan *plan)
{
	return TRIED_FLOPS * (double)nn_dtype_size(NN_F32) /
	       (double)nn_dtype_size(plan->task->device->dtype);
}

int nn_trial_steps(const struct nn_plan *plan, const struct nn_training_step *own, double flops,
		   struct nn_trial_step_times *found, struct nn_error *err)
{
	const struct nn_task *t = plan->task;
	struct trial trial = { .step = own->step,
			       .rows = t->rows,
			       .n_rows = t->n_rows,
			       .n = t->n_rows < t->recipe->batch ? t->n_rows : t->recipe->batch,
			       .steps = t->planned };
	double tried = nn_trial_step_flops(plan) / (flops * (double)trial.n);

	int status = trial_init(&trial, t->dataset, err);

	if (tried < 1)
		trial.spans = (size_t)ceil(tried * (double)nn_step_most_spans(own->step));
	if (status == 0)
		status = time_steps(&trial, found, err);
	trial_fini(&trial);
	if (status < 0)
		return -1;
	nn_optimizer_reset(nn_step_optimizer(own->step));
	found->loop_s = draw_order(t, own);
	return 0;
}

/* Is a part of the batch enough? Whole leaves, as few as have the FLOP to be timed. */
static size_t rows_to_try(const struct nn_plan *plan, double flops)
{
	size_t rows = plan->task->recipe->batch, group = nn_program_group(plan->task->program);

	while (flops * (double)rows > nn_trial_step_flops(plan) && rows / 2 >= (group ? group : 16))
		rows /= 2;
	return rows;
}

/* Made-up samples for a task without any. */
static int make_rows(struct nn_task *t, size_t rows, struct nn_error *err)
{
	const struct nn_program *program = t->program;
	struct nn_made_target *targets = nn_alloc((size_t)t->n_outputs, sizeof *targets, err);
	int status;

	for (int i = 0; targets && i < t->n_outputs; i++) {
		const struct nn_shape *shape = &program->values[program->outputs[i].value].shape;
		bool classes = t->losses[i].kind == NN_LOSS_CROSS_ENTROPY;

		targets[i].size = classes ? nn_shape_positions(shape) : nn_shape_count(shape);
		targets[i].classes = classes ? nn_shape_columns(shape) : 0;
	}
	status = targets ? nn_made_samples(&t->dataset, program, targets, rows, t->device->dtype,
					   t->seed, err)
			 : -1;
	nn_free(targets);
	if (status == 0)
		t->schema = nn_dataset_schema(t->dataset);
	return status;
}

/* Time steps of `rows` samples at once; the loop around them is that of the planned batch. */
static int time_rows(const struct nn_plan *plan, const struct nn_task *t, size_t rows,
		     struct nn_trial_step_times *found, struct nn_error *err)
{
	const struct nn_layout alone = { .options = plan->layout->options,
					 .strategy = &nn_strategy_sync };
	size_t micro = plan->fit.micro < rows ? plan->fit.micro : rows,
	       all = nn_dataset_rows(t->dataset);
	struct nn_step_options options = nn_layout_step(&alone, t, micro);
	struct trial trial = { .n = rows, .steps = plan->task->planned };
	double start, loop_s;
	uint64_t *list;
	int status = -1;

	all = all < MOST_ROWS ? all : MOST_ROWS;
	all = all < rows ? rows : all;
	list = nn_alloc(all, sizeof *list, err);
	for (size_t i = 0; list && i < all; i++)
		list[i] = i;
	if (list && trial_init(&trial, t->dataset, err) == 0 &&
	    nn_step_new(&trial.step, &options, err) == 0) {
		start = nn_now_s();
		nn_shuffle(t->seed, 0, list, list, all, t->window);
		loop_s = loop_seconds(nn_now_s() - start, all, plan->task->recipe->batch);
		trial.rows = list;
		trial.n_rows = all;
		status = time_steps(&trial, found, err);
		found->gradient_s *= (double)plan->task->recipe->batch / (double)rows;
		found->loop_s = loop_s;
		nn_step_free(trial.step);
	}
	trial_fini(&trial);
	nn_free(list);
	return status;
}

int nn_trial_steps_plan(const struct nn_plan *plan, double flops, struct nn_trial_step_times *found,
			struct nn_error *err)
{
	struct nn_recipe recipe = *plan->task->recipe;
	struct nn_task t = *plan->task;
	size_t rows = rows_to_try(plan, flops), group = nn_program_group(t.program);
	int status;

	if (t.dataset && nn_dataset_rows(t.dataset) < rows)
		rows = nn_dataset_rows(t.dataset);
	if (rows == 0 || (!t.dataset && make_rows(&t, rows, err) < 0))
		return -1;
	t.recipe = &recipe;
	if (rows != recipe.batch)
		recipe.leaves = t.device->leaves(rows, group, SIZE_MAX);
	recipe.batch = t.n_rows = rows;
	status = time_rows(plan, &t, rows, found, err);
	if (!plan->task->dataset)
		nn_dataset_free(t.dataset);
	return status;
}
