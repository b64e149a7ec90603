/* Steps that are tried: some to touch the memory and to wake threads and caches, then some that are
 * timed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/plan/rehearse.h"
#include "train/prepare.h"

#define WARM_S 0.005  /* at least, of steps that are not timed */
#define ENOUGH_S 0.03 /* of steps that are timed */
#define PART 0.05     /* of the training, which may be too short for that */
#define LEAST_STEPS 3 /* so that one that met other work does not decide alone */
#define MOST_STEPS 4096
#define LONG_S 0.1 /* a step that is tried but once */
#define TRIED_FLOPS \
	8e9 /* of a step that is tried for a plan: some tenths of a second; half as many in f64 */
#define LOOP_CLOCKS \
	8 /* times that the loop around a step could ask for the time in what it takes itself */
#define MOST_ROWS ((uint64_t)1 << 20) /* whose order is drawn for the time it takes alone */

/* What is tried, and of which training. */
struct trial {
	struct nn_step *step;
	const uint64_t *rows; /* [n_rows] of the samples */
	uint64_t n_rows;
	uint64_t *batch; /* [n], room for numbers of samples */
	size_t n, spans; /* spans: that stand for a step; 0: all of it */
	uint64_t steps;  /* of the training */
};

/* Rows from all over the data, as a shuffled epoch has them. */
static void draw(const struct trial *t, uint64_t *state)
{
	for (size_t i = 0; i < t->n; i++) {
		*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		t->batch[i] = t->rows[(*state >> 33) % t->n_rows];
	}
}

/* How much of a step was done: 1, or the share of its samples. */
static double gradient(const struct trial *t, struct nn_step_result *result)
{
	struct nn_step_tables tables;
	size_t rows = 0;

	if (t->spans == 0) {
		nn_step_gradient(t->step, t->batch, t->n, 0, result);
		return 1;
	}
	nn_step_begin(t->step, t->batch, t->n, &tables);
	nn_step_scale(t->step, result);
	for (size_t i = 0; i < t->spans && i < nn_step_spans(t->step); i++) {
		nn_step_forward(t->step, i, 0, result);
		nn_step_backward(t->step, i, 0, result);
		rows += nn_step_span_rows(t->step, i);
	}
	return (double)rows / (double)t->n;
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

/* Means, since what other work takes from these steps it will take from later ones; but for the
 * slowest fourth, which some stall met. */
static struct nn_rehearsal mean(struct timed *steps, size_t n)
{
	struct nn_rehearsal found = { 0 };
	size_t most = n > 1 ? n - (n + 3) / 4 : n;

	qsort(steps, n, sizeof *steps, by_time);
	for (size_t i = 0; i < most; i++) {
		found.gradient_s += steps[i].gradient / (double)most;
		found.update_s += steps[i].update / (double)most;
	}
	return found;
}

static struct nn_rehearsal time_steps(const struct trial *t)
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
		share = gradient(t, &result);
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
	return mean(steps, n);
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
static double draw_order(struct nn_train *t)
{
	uint64_t n = t->options->resume && t->n_rows > MOST_ROWS ? MOST_ROWS : t->n_rows;
	double start = nn_now_s();

	nn_shuffle(t->std->seed, 0, t->rows, t->order.rows, n, t->window);
	t->order.epoch = n == t->n_rows;
	return loop_seconds(nn_now_s() - start, n, t->options->batch);
}

double nn_rehearse_flops(const struct nn_train *t)
{
	return TRIED_FLOPS * (double)nn_dtype_size(NN_F32) /
	       (double)nn_dtype_size(t->device->dtype);
}

int nn_rehearse(struct nn_train *t, double flops, struct nn_rehearsal *found, struct nn_error *err)
{
	struct trial trial = { t->step,
			       t->rows,
			       t->n_rows,
			       NULL,
			       t->n_rows < t->options->batch ? t->n_rows : t->options->batch,
			       0,
			       t->planned };
	double tried = nn_rehearse_flops(t) / (flops * (double)trial.n);

	if (!(trial.batch = nn_alloc(trial.n, sizeof *trial.batch, err)))
		return -1;
	if (tried < 1)
		trial.spans = (size_t)ceil(tried * (double)nn_step_most_spans(t->step));
	*found = time_steps(&trial);
	nn_free(trial.batch);
	nn_optimizer_reset(nn_step_optimizer(t->step));
	found->loop_s = draw_order(t);
	return 0;
}

/* Is a part of the batch enough? Whole leaves, as few as have the FLOP to be timed. */
static size_t rows_to_try(const struct nn_train *t, double flops)
{
	size_t rows = t->options->batch, group = nn_program_group(t->program);

	while (flops * (double)rows > nn_rehearse_flops(t) && rows / 2 >= (group ? group : 16))
		rows /= 2;
	return rows;
}

int nn_rehearse_plan(const struct nn_train *plan, double flops, struct nn_rehearsal *found,
		     struct nn_error *err)
{
	struct nn_train t = *plan;
	struct nn_train_options options = *plan->options;
	size_t rows = rows_to_try(plan, flops), group = nn_program_group(t.program);
	struct nn_step_options step_options;
	struct trial trial = { .n = rows, .steps = plan->planned };
	uint64_t *list;
	size_t all;
	int status = -1;

	t.options = &options;
	t.comm = NULL;
	if (t.dataset && nn_dataset_rows(t.dataset) < rows)
		rows = nn_dataset_rows(t.dataset);
	trial.n = rows;
	if (rows == 0 || (!t.dataset && nn_train_blank_data(&t, rows, err) < 0))
		return -1;
	options.batch = t.n_rows = rows;
	options.leaves = rows == plan->options->batch ? plan->options->leaves
						      : t.device->leaves(rows, group, SIZE_MAX);
	step_options = nn_train_step_options(&t, plan->fit.micro < rows ? plan->fit.micro : rows);
	all = nn_dataset_rows(t.dataset) < MOST_ROWS ? nn_dataset_rows(t.dataset) : MOST_ROWS;
	all = all < rows ? rows : all;
	list = nn_alloc(all + rows, sizeof *list, err);
	for (size_t i = 0; list && i < all; i++)
		list[i] = i;
	if (list && nn_step_new(&trial.step, &step_options, err) == 0) {
		double start = nn_now_s(), loop_s;

		nn_shuffle(t.std->seed, 0, list, list, all, t.window);
		loop_s = loop_seconds(nn_now_s() - start, all, plan->options->batch);
		trial.rows = list;
		trial.n_rows = all;
		trial.batch = list + all;
		*found = time_steps(&trial);
		found->gradient_s *= (double)plan->options->batch / (double)rows;
		found->loop_s = loop_s;
		nn_step_free(trial.step);
		status = 0;
	}
	nn_free(list);
	if (!plan->dataset)
		nn_dataset_free(t.dataset);
	return status;
}

/* ---- the machine ---- */

static const char medium[] = "input 512\ndense 512\nrelu\ndense 512\n";

int nn_rehearse_machine(const struct nn_train *plan, struct nn_machine_rate *rate,
			struct nn_error *err)
{
	struct nn_train t = *plan;
	struct nn_train_options options = *plan->options;
	struct nn_loss_spec loss = { .kind = NN_LOSS_CROSS_ENTROPY, .ignore = -1 };
	double share = 1, forward = 2.0 * 2 * 512 * 512;
	struct nn_rehearsal found;
	int status = -1;

	if (nn_machine_rate_get(plan, rate))
		return 0;
	if (nn_net_parse(&t.net, "-m", medium, strlen(medium), false, err) < 0)
		return -1;
	if (nn_net_resolve(t.net, NULL, NULL, err) == 0) {
		t.planned = UINT64_MAX;
		t.comm = NULL; /* one process, which has all of the network */
		t.pipe = NULL;
		t.tensor = NULL;
		t.options = &options;
		t.program = nn_net_program(t.net);
		t.dataset = NULL;
		t.schema = NULL;
		t.start = NULL;
		t.losses = &loss;
		t.shares = &share;
		t.n_outputs = 1;
		t.fit.micro = options.batch = 128;
		options.leaves = t.device->leaves(options.batch, 0, SIZE_MAX);
		options.loss = 0;
		status = nn_rehearse_plan(&t, 0, &found, err);
	}
	nn_net_free(t.net);
	if (status < 0)
		return -1;
	*rate = (struct nn_machine_rate){ 128 * forward * 2.5 / found.gradient_s,
					  found.update_s / (2 * 512 * 512) };
	nn_machine_rate_put(plan, rate);
	return 0;
}
