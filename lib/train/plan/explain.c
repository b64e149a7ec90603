/* --explain: a training opened as far as a plan needs it, and what can be told of it. */
#include <string.h>

#include "base/memory.h"
#include "train/plan/explain.h"
#include "train/plan/fit-ranks.h"
#include "train/prepare.h"

#define MOST_RANKS (1 << 20)
#define SAMPLE_BYTES ((size_t)16 << 20) /* of the data that a plan reads */

static int explain_make(struct nn_explain *e, const struct nn_train *t, struct nn_error *err)
{
	*e = (struct nn_explain){ .train = t };
	if (nn_layers_make(&e->layers, t, err) < 0 ||
	    nn_fit_largest(t, &t->fit, &e->largest_batch, err) < 0)
		return -1;
	if (!t->fit.fits)
		e->n_suggestions = nn_suggest(t, e->suggestions);
	return 0;
}

static void explain_free(struct nn_explain *e)
{
	for (size_t i = 0; i < e->n_suggestions; i++)
		nn_text_free(&e->suggestions[i].command);
	nn_layers_free(&e->layers);
}

/* Of one process, and of more ranks as sync. */
static void plan_time(struct nn_train *t, struct nn_scaling *scaling)
{
	nn_forecast_rate(t);
	nn_scaling_make(t, t->setup.ranks < MOST_RANKS ? (int)t->setup.ranks : MOST_RANKS, scaling);
}

/* Those of the training are of as many as were asked for, once their memory is planned: when they
 * ran before, what they took. */
static void plan_time_asked(struct nn_train *t, struct nn_scaling *scaling)
{
	struct nn_scaling_row *last = &scaling->rows[scaling->n - 1];

	if (*scaling->asked.basis)
		nn_forecast_take(t, &scaling->asked);
	if (last->ranks == (int)t->setup.ranks && last->ranks > 1 && last->possible &&
	    strcmp(nn_strategy_asked(t), nn_strategy_sync.name) == 0) {
		last->speedup *= last->step_s / t->rate.step_s;
		last->step_s = t->rate.step_s;
	}
	nn_forecast_make(t);
}

static int plan_memory(struct nn_train *t, struct nn_error *err)
{
	struct nn_error why;

	if (nn_tensor_open(t, err) < 0 || nn_pipe_open(t, err) < 0 ||
	    nn_train_open_model(t, err) < 0)
		return -1;
	if ((t->setup.data_path ? nn_train_prepare(t, err) : nn_train_prepare_text(t, err)) < 0)
		return -1;
	if (t->rows_unknown)
		t->n_rows = 0;
	if (nn_train_take_defaults(t, err) < 0)
		return -1;
	if (nn_train_fit(t, &why) < 0 && t->fit.limit == 0) {
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
	int ranks = t->setup.ranks < MOST_RANKS ? (int)t->setup.ranks : MOST_RANKS,
	    parts = nn_fit_parts(t);
	bool hosts = nn_opt_given(list, "hosts") || nn_opt_given(list, "hostfile");

	if (ranks < 2)
		return 0;
	t->as.ranks = ranks / parts > 1 ? ranks / parts : 1;
	t->on_host = hosts ? 1 : t->as.ranks * parts;
	t->std->threads = (uint64_t)scaling->threads;
	nn_pool_free(t->pool);
	if (nn_pool_new(&t->pool, (int)t->std->threads, err) < 0)
		return -1;
	return nn_fit_choose(t, &t->fit, err);
}

int nn_train_explain(const struct nn_train_setup *setup, struct nn_text *text, bool *fits,
		     struct nn_error *err)
{
	struct nn_train *t = nn_alloc(1, sizeof *t, err);
	struct nn_scaling scaling;
	struct nn_explain e = { 0 };
	int status;

	if (!t)
		return -1;
	t->setup = *setup;
	t->comm = setup->comm;
	t->options = setup->train;
	t->std = setup->std;
	t->strategy = nn_strategy_parse(setup->train->strategy ? setup->train->strategy : "sync",
					&t->terms, NULL);
	t->sample = SAMPLE_BYTES;
	status = plan_memory(t, err);
	if (status == 0) {
		plan_time(t, &scaling);
		status = plan_ranks(t, &scaling, err);
		plan_time_asked(t, &scaling);
		if (status == 0)
			status = explain_make(&e, t, err);
		e.scaling = &scaling;
		if (status == 0 && setup->train->explain)
			nn_explain_json(&e, text);
		else if (status == 0)
			nn_explain_text(&e, text);
		*fits = t->fit.fits;
		explain_free(&e);
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
	struct nn_train_options options = { .batch = batch,
					    .model = model,
					    .optimizer = NN_ADAM,
					    .shuffle = "yes",
					    .schedule = "constant" };
	struct nn_std_options standard = *std;
	struct nn_data_options data = { 0 };
	const struct nn_opt_table none = { NULL, NULL, NULL, NULL };
	const struct nn_opt_list list = { .tables = &none };
	struct nn_train *t = nn_alloc(1, sizeof *t, err);
	size_t largest;
	int status = -1;

	if (!t)
		return -1;
	t->setup = (struct nn_train_setup){
		.list = &list, .train = &options, .data = &data, .std = &standard
	};
	t->options = &options;
	t->std = &standard;
	t->sample = SAMPLE_BYTES;
	if (plan_memory(t, err) == 0 && nn_fit_largest(t, &t->fit, &largest, err) == 0) {
		for (size_t i = 0; i < NN_FIT_ITEMS; i++)
			item(arg, nn_fit_items[i].name, nn_fit_item(&t->fit, i));
		item(arg, "largest_batch", largest);
		status = 0;
	}
	nn_train_free(t);
	return status;
}
