/*
 * Steps that are tried: some to touch the memory, then rounds of them whose means are compared. The
 * system may keep threads that were just made or woken on one core for a tenth of a second, and
 * other work comes and goes: so a fifth of a second is tried, half a second where rounds differ,
 * and of the rounds the lower quartile counts. Of long steps only some micro-batches are made.
 */
#include <math.h>

#include "base/clock.h"
#include "base/median.h"
#include "parallel/pipeline.h"
#include "parallel/step-options.h"
#include "parallel/strategy.h"
#include "parallel/sync-group.h"
#include "plan/alone.h"
#include "plan/layers.h"
#include "plan/trial-steps.h"
#include "step/made.h"

#define ROUND_S 0.004 /* an epoch of small steps, whose order counts */
#define ENOUGH_S 0.2  /* of rounds, where most are alike ... */
#define ALIKE 1.05
#define MOST_S 0.5 /* ... else */
#define ROUNDS 128
#define PART 0.1   /* of the training, which may be too short for that */
#define LONG_S 0.1 /* of a step that takes longer a part is made, which takes about as long */
/* most FLOP of a rank of local:H between two averages; half as many in f64 */
#define MOST_FLOPS 8e9
#define MOST_ROWS ((uint64_t)1 << 20) /* of a plan, whose order is drawn */

struct trial {
	struct nn_worker *worker;
	size_t spans;    /* of a step that are made, 0: all */
	uint64_t number; /* of steps so far */
	struct nn_noise noise;
};

/*
 * Gradients of the first spans alone, and the update. The later half of these is how long each of
 * the others would take: *rest_s.
 */
static int part_of_step(const struct trial *t, double *rest_s, struct nn_error *err)
{
	struct nn_step *step = t->worker->step;
	struct nn_step_tables tables;
	struct nn_step_result result;
	struct nn_batch batch;
	size_t all, n, middle;
	double start = 0;

	if (nn_loader_draw(t->worker->loader, t->number - 1, &batch, err) < 0 ||
	    nn_step_begin(step, &batch, &tables, err) < 0)
		return -1;
	all = nn_step_spans(step);
	n = t->spans < all ? t->spans : all;
	middle = n / 2;
	nn_step_scale(step, &result);
	for (size_t i = 0; i < n; i++) {
		if (i == middle)
			start = nn_now_s();
		if (nn_step_forward(step, i, &result, err) < 0 ||
		    nn_step_backward(step, i, &result, err) < 0)
			return -1;
	}
	if (nn_queue_wait(nn_graph_queue(nn_step_graph(step)), err) < 0)
		return -1;
	*rest_s = (nn_now_s() - start) / (double)(n - middle) * (double)(all - n);
	if (nn_step_update(step, t->number, 0, false, &result, err) < 0)
		return -1;
	return nn_queue_wait(nn_graph_queue(nn_step_graph(step)), err);
}

/* As the loop makes them. */
static int whole_step(struct trial *t, bool *over, struct nn_error *err)
{
	const struct nn_strategy_update update = { .number = t->number };
	const struct nn_worker *w = t->worker;
	struct nn_control control = { .over = *over };
	struct nn_step_result result;
	uint64_t batch = w->loader->options.n < w->loader->options.batch ? w->loader->options.n
									 : w->loader->options.batch;

	if (!nn_layout_in_parts(w->layout) && nn_layout_measures(w->layout, w->task) &&
	    nn_noise_due(&t->noise, t->number, nn_loader_rows(w->loader, t->number - 1), batch))
		nn_step_noise(w->step);
	if (w->layout->strategy->step(t->worker, &update, &control, &result, err) < 0)
		return -1;
	*over = control.over;
	return 0;
}

/*
 * The next step: its seconds, and with them those of what is not made of it. *over: in: this rank
 * has enough; out: all stop. With several ranks that is agreed on as in a training.
 */
static int step(struct trial *t, double *seconds, double *whole_s, bool *over, struct nn_error *err)
{
	double start = nn_now_s(), rest_s = 0;

	t->number++;
	if ((t->spans ? part_of_step(t, &rest_s, err) : whole_step(t, over, err)) < 0)
		return -1;
	*seconds = nn_now_s() - start;
	*whole_s = *seconds + rest_s;
	return 0;
}

/*
 * The first step touches the memory; the second says whether a part of each is enough, which ranks
 * always make whole.
 */
static int begin(struct trial *t, struct nn_error *err)
{
	size_t all = nn_step_most_spans(t->worker->step);
	bool parts = all > 2 && t->worker->layout->comm->size == 1, over = false;
	double seconds, whole_s;

	t->spans = parts ? 2 : 0;
	for (int i = 0; i < 1 + parts; i++)
		if (step(t, &seconds, &whole_s, &over, err) < 0)
			return -1;
	if (parts) {
		t->spans = (size_t)(LONG_S / whole_s * (double)all);
		t->spans = t->spans >= all ? 0 : t->spans < 2 ? 2 : t->spans;
	}
	return 0;
}

/* Seconds of a row, the lower quartile of rounds; *alike: most of them are about as long. */
static double usual(const double *rounds, size_t n, bool *alike)
{
	double sorted[ROUNDS];

	for (size_t i = 0; i < n; i++)
		sorted[i] = rounds[i];
	nn_sort(sorted, n);
	*alike = sorted[n / 2] <= ALIKE * sorted[n / 4];
	return sorted[n / 4];
}

/*
 * Seconds of a row. What one rank has enough of ends in the step after, or in the next in which
 * ranks agree; a round ends where they do.
 */
static int time_rows(struct trial *t, double *row_s, struct nn_error *err)
{
	const struct nn_worker *w = t->worker;
	uint64_t every = w->layout->strategy->alone ? w->layout->terms.every : 1;
	double rounds[ROUNDS], all_s = 0, round_s = 0, rows = 0, seconds, whole_s, planned_s;
	bool several = w->layout->comm->size > 1, enough = false, over = false, alike = true;
	size_t n = 0;

	while (!enough || (several && !over)) {
		over = enough;
		if (step(t, &seconds, &whole_s, &over, err) < 0)
			return -1;
		all_s += seconds;
		round_s += whole_s;
		rows += (double)nn_loader_rows(w->loader, t->number - 1);
		planned_s = whole_s * (double)w->task->planned;
		*row_s = n ? *row_s : round_s / rows;
		if (round_s >= ROUND_S && t->number % every == 0 && n < ROUNDS) {
			rounds[n++] = round_s / rows;
			*row_s = usual(rounds, n, &alike);
			round_s = rows = 0;
		}
		enough = over || all_s > fmin(alike ? ENOUGH_S : MOST_S, PART * planned_s);
	}
	return 0;
}

int nn_trial_steps(struct nn_worker *w, double *step_s, struct nn_error *err)
{
	const struct nn_layout *layout = w->layout;
	const struct nn_strategy *strategy = layout->strategy;
	struct trial t = { .worker = w };
	struct nn_control nothing = { 0 };
	uint64_t moved = nn_comm_moved(layout->comm);
	double flops =
		nn_layers_flops(w->task->program, true) * (double)nn_loader_rows(w->loader, 0) *
		(double)nn_dtype_size(w->task->device->dtype) / (double)nn_dtype_size(NN_F32);

	*step_s = NAN;
	if (strategy->run ||
	    (layout->comm->size > 1 && flops * (strategy->alone ? (double)layout->terms.every : 1) >
					       MOST_FLOPS * layout->comm->size))
		return 0;
	if ((strategy->open && strategy->open(w, err) < 0) || begin(&t, err) < 0 ||
	    time_rows(&t, step_s, err) < 0 || nn_worker_synchronize(w, &nothing, err) < 0)
		return -1;
	*step_s *= (double)w->task->recipe->batch;
	if (strategy->close)
		strategy->close(w);
	nn_sync_reset_slots(w);
	nn_comm_count(layout->comm, moved - nn_comm_moved(layout->comm)); /* none so far */
	w->comm_s = 0;
	if (w->flow)
		w->flow->idle_s = w->flow->total_s = 0;
	return nn_comm_barrier(layout->comm, err); /* slots that all see are loaded after this */
}

static int try_alone(const struct nn_task *task, size_t micro, double *step_s, struct nn_error *err)
{
	const struct nn_layout layout = nn_alone_layout();
	const struct nn_step_options step = nn_layout_step(&layout, task, micro);
	struct nn_alone alone;
	int status = nn_alone_open(&alone, task, &step, NULL, err);

	if (status == 0)
		status = nn_trial_steps(&alone.worker, step_s, err);
	nn_alone_close(&alone);
	return status;
}

int nn_trial_steps_plan(const struct nn_plan *plan, double *step_s, struct nn_error *err)
{
	struct nn_task task = *plan->task;
	int status = -1;

	if (!task.dataset) {
		if (nn_made_samples(&task.dataset, task.program, task.losses, task.recipe->batch,
				    task.device->dtype, task.seed, err) < 0)
			return -1;
		task.schema = nn_dataset_schema(task.dataset);
	}
	task.planned = UINT64_MAX; /* what is tried is no part of it */
	task.n_rows = nn_dataset_rows(task.dataset);
	task.n_rows = task.n_rows < MOST_ROWS ? task.n_rows : MOST_ROWS;
	if (task.n_rows > 0)
		status = try_alone(&task, plan->fit.micro, step_s, err);
	if (!plan->task->dataset)
		nn_dataset_free(task.dataset);
	return status;
}
