/* Steps that are tried: one to touch the memory, then some that are timed. */
#include <string.h>

#include "base/clock.h"
#include "base/median.h"
#include "base/memory.h"
#include "train/prepare.h"
#include "train/rehearse.h"

#define ENOUGH_S 0.01                /* of steps that are timed */
#define LEAST_STEPS 3                /* so that one that met other work is not the median */
#define MOST_STEPS 400
#define LONG_S 0.1                   /* a step that is tried but once */
#define TRIED_FLOPS 8e9              /* of a step that is tried for a plan: some tenths of a second; half as many in f64 */

/* Rows from all over the data, as a shuffled epoch has them. */
static void draw(const uint64_t *rows, uint64_t n_rows, uint64_t *batch, size_t n, uint64_t *state)
{
	for (size_t i = 0; i < n; i++) {
		*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		batch[i] = rows[(*state >> 33) % n_rows];
	}
}

/* Medians of what follows the first. batch: room for n numbers of rows. */
static void time_steps(struct nn_step *step, const uint64_t *rows, uint64_t n_rows, uint64_t *batch, size_t n,
		       struct nn_rehearsal *found)
{
	double gradient[MOST_STEPS + 1], update[MOST_STEPS + 1], begin = 0;
	struct nn_step_result result;
	uint64_t state = 1;
	size_t steps = 0, least = LEAST_STEPS;

	while (steps < MOST_STEPS) {
		double start, middle, end;

		draw(rows, n_rows, batch, n, &state);
		start = nn_now_s();
		nn_step_gradient(step, batch, n, 0, &result);
		middle = nn_now_s();
		nn_step_update(step, 1, 0, false, &result, NULL);
		end = nn_now_s();
		if (begin == 0) {
			begin = end;
			least = end - start > LONG_S ? 1 : LEAST_STEPS;
			continue;
		}
		gradient[steps] = middle - start;
		update[steps++] = end - middle;
		if (steps >= least && end - begin > ENOUGH_S)
			break;
	}
	*found = (struct nn_rehearsal){ nn_median(gradient, steps), nn_median(update, steps) };
}

int nn_rehearse(struct nn_train *t, struct nn_rehearsal *found, struct nn_error *err)
{
	size_t n = t->n_rows < t->options->batch ? t->n_rows : t->options->batch;
	uint64_t *batch = nn_alloc(n, sizeof *batch, err);

	if (!batch)
		return -1;
	time_steps(t->step, t->rows, t->n_rows, batch, n, found);
	nn_free(batch);
	nn_optimizer_reset(nn_step_optimizer(t->step));
	return 0;
}

/* Is a part of the batch enough? Whole leaves, as few as have the FLOP to be timed. */
static size_t rows_to_try(const struct nn_train *t, double flops)
{
	size_t rows = t->options->batch, group = nn_program_group(t->program);
	double most = TRIED_FLOPS * (double)nn_dtype_size(NN_F32) / (double)nn_dtype_size(t->device->dtype);

	while (flops * (double)rows > most && rows / 2 >= (group ? group : 16))
		rows /= 2;
	return rows;
}

int nn_rehearse_plan(const struct nn_train *plan, double flops, struct nn_rehearsal *found, struct nn_error *err)
{
	struct nn_train t = *plan;
	struct nn_train_options options = *plan->options;
	size_t rows = rows_to_try(plan, flops), group = nn_program_group(t.program);
	struct nn_step_options step_options;
	struct nn_step *step;
	uint64_t *list;
	size_t all;
	int status = -1;

	t.options = &options;
	t.comm = NULL;
	if (t.dataset && nn_dataset_rows(t.dataset) < rows)
		rows = nn_dataset_rows(t.dataset);
	if (rows == 0 || (!t.dataset && nn_train_blank_data(&t, rows, err) < 0))
		return -1;
	options.batch = t.n_rows = rows;
	options.leaves = rows == plan->options->batch ? plan->options->leaves : t.device->leaves(rows, group, SIZE_MAX);
	step_options = nn_train_step_options(&t, plan->fit.micro < rows ? plan->fit.micro : rows);
	all = nn_dataset_rows(t.dataset);
	list = nn_alloc(all + rows, sizeof *list, err);
	for (size_t i = 0; list && i < all; i++)
		list[i] = i;
	if (list && nn_step_new(&step, &step_options, err) == 0) {
		time_steps(step, list, all, list + all, rows, found);
		found->gradient_s *= (double)plan->options->batch / (double)rows;
		nn_step_free(step);
		status = 0;
	}
	nn_free(list);
	if (!plan->dataset)
		nn_dataset_free(t.dataset);
	return status;
}

/* ---- the machine ---- */

static const char medium[] = "input 512\ndense 512\nrelu\ndense 512\n";

int nn_rehearse_machine(const struct nn_train *plan, struct nn_machine_rate *rate, struct nn_error *err)
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
	*rate = (struct nn_machine_rate){ 128 * forward * 2.5 / found.gradient_s, found.update_s / (2 * 512 * 512) };
	nn_machine_rate_put(plan, rate);
	return 0;
}
