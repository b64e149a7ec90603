/*
 * Steps that are tried: some to touch the memory and to wake threads and caches, then some that are
 * timed. Of long ones only some micro-batches are, once all and once half of them: the rest is on
 * the line through both.
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

#define WARM_S 0.02     /* of steps that are not timed */
#define ENOUGH_S 0.08   /* of steps that are: longer than other work keeps a thread from its core */
#define PART 0.05       /* of the training, which may be too short for that */
#define LAST_STEPS 4096 /* of more these count */
#define LONG_S 0.15     /* a step that takes longer is tried in part */
/* times that the loop around a step asks for the time, beside once for each step tried here */
#define LOOP_CLOCKS 8
/* of a rank between two averages, who makes whole steps alone; half as many in f64 */
#define MOST_FLOPS 8e9
#define MOST_ROWS ((uint64_t)1 << 20) /* whose order is drawn for the time it takes */

struct trial {
	struct nn_worker *worker;
	uint64_t rows;    /* of a step */
	uint64_t batches; /* full ones of an epoch, which are drawn in turn */
	uint64_t number;  /* of steps so far */
	double loop_s;    /* of a step: what is around it */
};

/* The order of an epoch is drawn twice: the memory is touched by then. */
static void begin(struct trial *t)
{
	struct nn_loader *loader = t->worker->loader;
	uint64_t batch = loader->options.batch, n;
	double start, end;

	t->rows = nn_loader_rows(loader, 0);
	t->batches = loader->options.n / batch + (t->rows < batch);
	nn_loader_shuffle(loader, 0, MOST_ROWS);
	start = nn_now_s();
	n = nn_loader_shuffle(loader, 0, MOST_ROWS);
	end = nn_now_s();
	t->loop_s = (end - start) / (double)n * (double)batch;
	start = end;
	for (int i = 0; i < LOOP_CLOCKS; i++)
		end = nn_now_s();
	t->loop_s += end - start;
}

/* Gradients of the first spans alone, and the update. */
static int part_of_step(const struct nn_worker *w, const struct nn_strategy_update *u, size_t spans,
			struct nn_step_result *result, struct nn_error *err)
{
	struct nn_step_tables tables;
	struct nn_batch batch;

	if (nn_loader_draw(w->loader, u->number - 1, &batch, err) < 0 ||
	    nn_step_begin(w->step, &batch, &tables, err) < 0)
		return -1;
	nn_step_scale(w->step, result);
	for (size_t i = 0; i < spans && i < nn_step_spans(w->step); i++) {
		if (nn_step_forward(w->step, i, result, err) < 0)
			return -1;
		if (nn_step_backward(w->step, i, result, err) < 0)
			return -1;
	}
	return nn_step_update(w->step, u->number, u->lr, false, result, err) < 0
		       ? -1
		       : nn_queue_wait(nn_graph_queue(nn_step_graph(w->step)), err);
}

/*
 * A step of so many spans, 0: of all. *over: in: this rank has enough; out: all stop. With several
 * ranks that is agreed on as in a training.
 */
static int step(struct trial *t, size_t spans, double *seconds, bool *over, struct nn_error *err)
{
	const struct nn_strategy_update update = { .number = t->number++ % t->batches + 1 };
	const struct nn_strategy *strategy = t->worker->layout->strategy;
	struct nn_control control = { .over = *over };
	struct nn_step_result result;
	double start = nn_now_s();

	if ((spans > 0 ? part_of_step(t->worker, &update, spans, &result, err)
		       : strategy->step(t->worker, &update, &control, &result, err)) < 0)
		return -1;
	*over = control.over;
	*seconds = nn_now_s() - start;
	return 0;
}

/*
 * So many seconds of steps of some spans, or a part of the training if that is shorter: the median,
 * which other work of the machine moves little; of steps that are not alike the mean. Of long steps
 * one is enough. What one rank has enough of ends in the step after, or in the next in which ranks
 * agree.
 */
static int time_steps(struct trial *t, size_t spans, double enough_s, double *seconds,
		      struct nn_error *err)
{
	const struct nn_layout *layout = t->worker->layout;
	double steps[LAST_STEPS], all = 0, s;
	size_t done = 0, n;
	bool enough = false, over = false;

	while (!enough || (layout->comm->size > 1 && !over)) {
		over = enough;
		if (step(t, spans, &s, &over, err) < 0)
			return -1;
		all += s;
		steps[done++ % LAST_STEPS] = s;
		enough = over || all > fmin(enough_s, PART * s * (double)t->worker->task->planned);
	}
	n = done < LAST_STEPS ? done : LAST_STEPS;
	*seconds = layout->strategy->alone ? all / (double)done : nn_median(steps, n);
	return 0;
}

/*
 * Where the noise of the gradient is measured from time to time, what that adds to a step on the
 * average. Of several ranks rank 0 says that it is.
 */
static int time_noise(struct trial *t, double step_s, double *seconds, struct nn_error *err)
{
	const struct nn_layout *layout = t->worker->layout;
	bool measures = nn_layout_measures(layout, t->worker->task), over = false;
	struct nn_noise noise = { 0 };
	*seconds = 0;
	if (nn_layout_in_parts(layout) || !layout->strategy->measures ||
	    (layout->comm->size == 1 && !measures))
		return 0;
	for (int i = 0; i < 2; i++) { /* the first touches memory */
		if (measures)
			nn_step_noise(t->worker->step);
		if (step(t, 0, seconds, &over, err) < 0)
			return -1;
	}
	nn_noise_due(&noise, 0, t->rows, t->rows);
	*seconds = fmax(*seconds - step_s, 0) / (double)noise.next;
	return 0;
}

/*
 * Spans that are tried of a long step, two or more; 0: all of it, which ranks always make. What is
 * tried first touches the memory.
 */
static int choose_spans(struct trial *t, size_t all, size_t *some, struct nn_error *err)
{
	double seconds;

	*some = 0;
	if (all <= 2 || t->worker->layout->comm->size > 1)
		return 0;
	if (time_steps(t, 2, WARM_S, &seconds, err) < 0)
		return -1;
	if (seconds * (double)all > 2 * LONG_S)
		*some = seconds < LONG_S ? (size_t)(2 * LONG_S / seconds) : 2;
	return 0;
}

/* Of a part of a step the rest is on the line through that and half of it. */
static int time_step(struct trial *t, double *step_s, struct nn_error *err)
{
	size_t all = nn_step_most_spans(t->worker->step), some;
	double half, noise = 0;

	begin(t);
	if (choose_spans(t, all, &some, err) < 0 || time_steps(t, some, WARM_S, &half, err) < 0 ||
	    time_steps(t, some, ENOUGH_S, step_s, err) < 0)
		return -1;
	if (some == 0 && time_noise(t, *step_s, &noise, err) < 0)
		return -1;
	if (some > 0 && time_steps(t, some / 2, ENOUGH_S, &half, err) < 0)
		return -1;
	if (some > 0)
		*step_s +=
			fmax(*step_s - half, 0) / (double)(some - some / 2) * (double)(all - some);
	*step_s = (*step_s + noise) * (double)t->worker->task->recipe->batch / (double)t->rows +
		  t->loop_s;
	return 0;
}

int nn_trial_steps(struct nn_worker *w, double *step_s, struct nn_error *err)
{
	const struct nn_layout *layout = w->layout;
	const struct nn_strategy *strategy = layout->strategy;
	struct trial t = { .worker = w };
	uint64_t moved = nn_comm_moved(layout->comm);
	double flops =
		nn_layers_flops(w->task->program, true) * (double)nn_loader_rows(w->loader, 0) *
		(double)nn_dtype_size(w->task->device->dtype) / (double)nn_dtype_size(NN_F32);

	*step_s = NAN;
	if (strategy->run ||
	    (layout->comm->size > 1 && flops * (strategy->alone ? (double)layout->terms.every : 1) >
					       MOST_FLOPS * layout->comm->size))
		return 0;
	if ((strategy->open && strategy->open(w, err) < 0) || time_step(&t, step_s, err) < 0 ||
	    nn_worker_synchronize(w, err) < 0)
		return -1;
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
