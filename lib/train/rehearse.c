/* Steps that are tried: one to touch the memory, then some that are timed. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/prepare.h"
#include "train/rehearse.h"

#define ENOUGH_S 0.01                /* of steps that are timed */
#define MOST_STEPS 400
#define TRIED_FLOPS 2e9              /* of a step that is tried for a plan: some ten milliseconds */

/* The fastest of what is left after the first: others may use the machine, nobody makes it faster. */
static void time_steps(struct nn_step *step, const uint64_t *rows, size_t n, int least, struct nn_rehearsal *found)
{
	struct nn_step_result result;
	double start = 0, middle, end, begin = 0, gradient = 1e9, update = 1e9;

	for (int i = 0; i <= MOST_STEPS; i++) {
		start = nn_now_s();
		if (i == 1)
			begin = start;
		nn_step_gradient(step, rows, n, 0, &result);
		middle = nn_now_s();
		nn_step_update(step, 1, 0, false, &result);
		end = nn_now_s();
		if (i > 0 && middle - start + end - middle < gradient + update) {
			gradient = middle - start;
			update = end - middle;
		}
		if (i >= least && end - begin > ENOUGH_S)
			break;
	}
	*found = (struct nn_rehearsal){ gradient, update };
}

void nn_rehearse(struct nn_train *t, struct nn_rehearsal *found)
{
	struct nn_optimizer *optimizer = nn_step_optimizer(t->step);
	size_t n = t->n_rows < t->options->batch ? t->n_rows : t->options->batch;

	time_steps(t->step, t->rows, n, 2, found);
	for (size_t k = 0; k < nn_optimizer_slots(optimizer); k++)
		memset(nn_optimizer_slot(optimizer, k), 0, nn_graph_block(nn_step_graph(t->step)) * nn_dtype_size(t->device->dtype));
}

/* Is a part of the batch enough? Whole leaves, as few as have the FLOP to be timed. */
static size_t rows_to_try(const struct nn_train *t, double flops)
{
	size_t rows = t->options->batch, group = nn_program_group(t->program);

	while (flops * (double)rows > TRIED_FLOPS && rows / 2 >= (group ? group : 16))
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
	int status = -1;

	t.options = &options;
	if (t.dataset && nn_dataset_rows(t.dataset) < rows)
		rows = nn_dataset_rows(t.dataset);
	if (rows == 0 || (!t.dataset && nn_train_blank_data(&t, rows, err) < 0))
		return -1;
	options.batch = t.n_rows = rows;
	options.leaves = rows == plan->options->batch ? plan->options->leaves : t.device->leaves(rows, group, SIZE_MAX);
	step_options = nn_train_step_options(&t, plan->fit.micro < rows ? plan->fit.micro : rows);
	list = nn_alloc(rows, sizeof *list, err);
	for (size_t i = 0; list && i < rows; i++)
		list[i] = i;
	if (list && nn_step_new(&step, &step_options, err) == 0) {
		time_steps(step, list, rows, 2, found);
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
