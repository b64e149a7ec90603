/* --explain: a training opened as far as a plan needs it, and what can be told of it. */
#include <math.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/terminal.h"
#include "parallel/grid.h"
#include "parallel/strategy.h"
#include "parallel/tensor.h"
#include "plan/explain.h"
#include "plan/fit.h"
#include "train/prepare.h"

#define MOST_RANKS (1 << 20)
#define SAMPLE_BYTES ((size_t)16 << 20) /* of the data that a plan reads */

static int asked_ranks(const struct nn_train *t)
{
	return t->layout.asked < MOST_RANKS ? (int)t->layout.asked : MOST_RANKS;
}

/* Of one process, and of more ranks as sync. */
static void plan_time(struct nn_train *t, struct nn_scaling *scaling)
{
	nn_forecast_rate(&t->plan);
	nn_scaling_make(&t->plan, asked_ranks(t),
			t->setup.list && nn_opt_given(t->setup.list, "threads"), scaling);
}

/*
 * Those of the training are of as many as were asked for, once their memory is planned: what they
 * took when they ran before, else as they scale.
 */
static void plan_time_asked(struct nn_train *t, struct nn_scaling *scaling)
{
	struct nn_scaling_row *last = &scaling->rows[scaling->n - 1];
	struct nn_plan *plan = &t->plan;
	bool listed = last->ranks == asked_ranks(t) && last->ranks > 1 && last->possible &&
		      t->layout.strategy == &nn_strategy_sync && !nn_layout_in_parts(&t->layout);

	if (asked_ranks(t) > 1)
		nn_forecast_rate(plan);
	if (listed && !isnan(plan->rate.step_s)) {
		last->speedup *= last->step_s / plan->rate.step_s;
		last->step_s = plan->rate.step_s;
	} else if (listed && !isnan(last->step_s)) {
		plan->rate.step_s = last->step_s;
		plan->forecast.basis = scaling->basis;
	}
	nn_forecast_make(plan, 0, t->options->folds ? t->options->folds : 1);
}

static int plan_memory(struct nn_train *t, struct nn_error *err)
{
	struct nn_error why;

	t->source.sample = SAMPLE_BYTES;
	t->budget.partly = true;
	if (nn_tensor_open(&t->layout, err) < 0 || nn_pipe_open(&t->layout, err) < 0 ||
	    nn_train_open_model(t, err) < 0)
		return -1;
	if ((t->setup.data_path ? nn_train_prepare(t, err) : nn_train_prepare_text(t, err)) < 0)
		return -1;
	if (t->task.rows_unknown)
		t->task.n_rows = 0;
	if (nn_train_take_defaults(t, err) < 0)
		return -1;
	if (nn_train_fit(t, &why) < 0 && t->plan.fit.limit == 0) {
		*err = why;
		return -1;
	}
	return 0;
}

/*
 * The memory of one of several ranks, with as many threads as it will have, once the times of one
 * process are known. On other hosts each is taken to be alone.
 */
static int plan_ranks(struct nn_train *t, const struct nn_scaling *scaling, struct nn_error *err)
{
	const struct nn_opt_list *list = t->setup.list;
	int ranks = asked_ranks(t), parts = nn_layout_parts(&t->layout);
	bool hosts = nn_opt_given(list, "hosts") || nn_opt_given(list, "hostfile");

	if (ranks < 2)
		return 0;
	t->layout.as.ranks = ranks / parts > 1 ? ranks / parts : 1;
	t->layout.on_host = hosts ? 1 : t->layout.as.ranks * parts;
	t->std->threads = (uint64_t)scaling->threads;
	nn_pool_free(t->task.pool);
	if (nn_pool_new(&t->task.pool, (int)t->std->threads, err) < 0)
		return -1;
	return nn_fit_choose(&t->plan, &t->plan.fit, err);
}

static int explain(struct nn_train *t, const struct nn_scaling *scaling, struct nn_text *text,
		   struct nn_error *err)
{
	const struct nn_command command = nn_train_command(t);
	struct nn_explain e;
	int status = nn_explain_make(&e, &t->plan, &command, err);

	e.scaling = scaling;
	e.columns = isatty(STDOUT_FILENO) ? nn_terminal_columns(STDOUT_FILENO) : 0;
	if (status == 0)
		(t->options->explain ? nn_explain_json : nn_explain_text)(&e, text);
	nn_explain_free(&e);
	return status;
}

int nn_train_explain(const struct nn_train_setup *setup, struct nn_text *text, bool *fits,
		     struct nn_error *err)
{
	struct nn_train *t = nn_train_new(setup, err);
	struct nn_scaling scaling;
	int status;

	if (!t)
		return -1;
	status = plan_memory(t, err);
	if (status == 0) {
		plan_time(t, &scaling);
		status = plan_ranks(t, &scaling, err);
		plan_time_asked(t, &scaling);
		if (status == 0)
			status = explain(t, &scaling, text, err);
		*fits = t->plan.fit.fits;
		nn_text_free(&scaling.why);
	}
	if (status == 0 && text->failed)
		status = nn_fail(err, NN_ENOMEM, "cannot allocate the text of the plan");
	nn_train_free(t);
	return status;
}

int nn_train_memory(const char *model, size_t batch, const struct nn_std_options *std,
		    void (*item)(void *arg, const char *name, size_t value), void *arg,
		    struct nn_error *err)
{
	struct nn_train_options options = { .recipe.batch = batch,
					    .model = model,
					    .recipe.optimizer = NN_OPTIMIZER_USUAL,
					    .recipe.shuffle = "yes",
					    .recipe.schedule = "constant" };
	struct nn_std_options standard = *std;
	struct nn_data_options data = { 0 };
	const struct nn_opt_table none = { NULL, NULL, NULL, NULL };
	const struct nn_opt_list list = { .tables = &none };
	const struct nn_train_setup setup = {
		.list = &list, .train = &options, .data = &data, .std = &standard
	};
	struct nn_train *t = nn_train_new(&setup, err);
	size_t largest;
	int status = -1;

	if (!t)
		return -1;
	if (plan_memory(t, err) == 0 &&
	    nn_fit_largest(&t->plan, &t->plan.fit, &largest, err) == 0) {
		for (size_t i = 0; i < nn_fit_n_items(&t->plan.fit); i++)
			item(arg, nn_fit_items[i].name, nn_fit_item(&t->plan.fit, i));
		item(arg, "largest_batch", largest);
		status = 0;
	}
	nn_train_free(t);
	return status;
}
