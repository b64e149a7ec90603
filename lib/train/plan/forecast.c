/* The time of a training from rates that were measured on this machine, and those of a training
 * that has run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "train/plan/foresee.h"
#include "train/plan/layers.h"
#include "train/plan/rates.h"
#include "train/plan/rehearse.h"
#include "train/ranks.h"

#define LEAST_STEPS \
	100 /* of a training before which some are tried: they cost it at most some percent */
#define FEW_STEPS \
	20 /* the same where the prediction is shown, and steps are not much longer than those of \
	      a plan */
#define QUICK \
	0.0625 /* of the FLOP of a plan: steps that are tried as soon as the machine would be, \
		  however few they are */
#define LEAST_S 0.02 /* of fewer steps than these whose time is kept all the same */
#define TRIED_BYTES ((size_t)1 << 30) /* more is not taken to try a plan */

/* ---- a rate for the steps ---- */

static size_t taken_by_step(const struct nn_train *t)
{
	return t->fit.parameters + t->fit.gradients + t->fit.optimizer + t->fit.activations +
	       t->fit.workspace;
}

/* What is computed element by element waits for memory, as an update does. */
#define UPDATES 0.3 /* of a parameter, for each FLOP of it */
#define MOVED 28    /* bytes of a parameter that an update reads and writes: of Adam in f32 */
#define FILLS 0.4   /* of a parameter, for each value of the input */

/* FLOP of a row: of products, and all others. */
static double products(const struct nn_train *t, double *others)
{
	struct nn_layers layers;
	double sum = 0;

	*others = 0;
	if (nn_layers_make(&layers, t, NULL) == 0)
		for (int i = 0; i < layers.n; i++)
			*(layers.layer[i].product ? &sum : others) +=
				(double)layers.layer[i].train_flops;
	nn_layers_free(&layers);
	return sum;
}

static double train_flops(const struct nn_train *t)
{
	double others, sum = products(t, &others);

	return sum + others;
}

/* By what is computed. measure: the machine's rate may be measured where it is not kept. */
static bool estimate(struct nn_train *t, bool measure, struct nn_rate *rate)
{
	struct nn_machine_rate machine;
	struct nn_error err;
	double parameters = (double)t->fit.parameters / (double)nn_dtype_size(t->device->dtype),
	       others, flops = products(t, &others);

	if (!nn_machine_rate_get(t, &machine) &&
	    (!measure || nn_rehearse_machine(t, &machine, &err) < 0))
		return false;
	*rate = (struct nn_rate){ .step_s = (flops / machine.flops_s +
					     others * UPDATES * machine.update_s) *
						    (double)t->options->batch +
					    parameters * machine.update_s,
				  .extra_s = NAN,
				  .once_s = NAN };
	return true;
}

/* Steps are tried, of the training itself or for a plan. */
static bool try_steps(struct nn_train *t, struct nn_rate *rate)
{
	struct nn_rehearsal found;
	struct nn_error err;

	if (!t->step && (taken_by_step(t) > TRIED_BYTES || !t->fit.fits))
		return false;
	if ((t->step ? nn_rehearse(t, train_flops(t), &found, &err)
		     : nn_rehearse_plan(t, train_flops(t), &found, &err)) < 0)
		return false;
	*rate = (struct nn_rate){ .step_s = found.gradient_s + found.update_s + found.loop_s,
				  .extra_s = NAN,
				  .once_s = NAN };
	nn_rate_put(t, rate);
	return true;
}

static bool is_shown(const struct nn_train *t)
{
	return t->std->log || t->std->verbose > 0;
}

/* Are some steps little beside those of the training, or of a plan? */
static bool may_try(const struct nn_train *t)
{
	if (t->sample || t->planned >= LEAST_STEPS)
		return true;
	return is_shown(t) && train_flops(t) * (double)t->options->batch <=
				      nn_rehearse_flops(t) * (t->planned >= FEW_STEPS ? 3 : QUICK);
}

/* Of ranks that have parts of a network none has memory for all of it. */
static bool tries(const struct nn_train *t)
{
	return may_try(t) && !nn_train_in_parts(t);
}

void nn_forecast_machine(struct nn_train *t)
{
	struct nn_machine_rate machine;
	struct nn_error err;

	if (nn_train_first(t) && is_shown(t) && !tries(t))
		nn_rehearse_machine(t, &machine, &err);
	nn_memory_trim();
}

/*
 * States are hashed and written beside the steps. Where these use all cores they are longer for it.
 * Bytes are hashed and copied; a file takes calls of the system besides.
 */
#define STATE_BYTES_S 8e8
#define STATE_S 2e-4

static double with_states(const struct nn_train *t, double step_s)
{
	double bytes = (double)t->fit.parameters + (double)t->fit.optimizer,
	       every = (double)t->steps_per_epoch * step_s;

	if (!t->keeps_state || nn_pool_threads(t->pool) < nn_cpu_count() ||
	    (uint64_t)t->steps_per_epoch > t->planned)
		return step_s;
	return step_s *
	       (1 + (STATE_S + bytes / STATE_BYTES_S) / fmax(every, nn_file_seconds(bytes)));
}

/* A training of several ranks. */
static void foresee(struct nn_train *t)
{
	struct nn_foreseen found;

	nn_foresee(t, &t->pace, nn_train_ranks(t), t->sharing, &found);
	nn_forecast_take(t, &found);
}

void nn_forecast_take(struct nn_train *t, const struct nn_foreseen *found)
{
	struct nn_rate kept;

	t->forecast.bytes = found->bytes;
	t->rate = (struct nn_rate){ .step_s = found->step_s, .extra_s = NAN, .once_s = NAN };
	snprintf(t->forecast.basis, sizeof t->forecast.basis, "%s", found->basis);
	if (!nn_rate_get(t, &kept) || !kept.ran)
		return;
	t->rate = kept;
	snprintf(t->forecast.basis, sizeof t->forecast.basis, "this training ran here before");
}

void nn_forecast_rate(struct nn_train *t)
{
	struct nn_rate *rate = &t->rate;
	const char *basis = NULL;

	*rate = (struct nn_rate){ NAN, NAN, NAN, false };
	t->forecast.bytes = NAN;
	if (nn_train_ranks(t) > 1) {
		if (nn_train_first(t))
			foresee(t);
		return;
	}
	if (nn_train_in_parts(t)) /* of a plan: their times come with those of ranks */
		return;
	if (nn_rate_get(t, rate))
		basis = rate->ran ? "this training ran here before"
				  : "some steps of it were tried here";
	else if (may_try(t) && try_steps(t, rate))
		basis = "some steps of it were tried here";
	else if (estimate(t, t->sample > 0, rate))
		basis = "an estimate by FLOP, from dense layers measured here";
	if (basis && !rate->ran)
		rate->step_s = with_states(t, rate->step_s);
	snprintf(t->forecast.basis, sizeof t->forecast.basis, "%s", basis ? basis : "");
}

/* ---- one process ---- */

/* The training as one process with so many threads would open it. False: it does not fit. Free its
 * pool. */
static bool open_alone(struct nn_train *alone, struct nn_std_options *std, const struct nn_train *t,
		       int threads)
{
	*alone = *t;
	*std = *t->std;
	std->threads = (uint64_t)threads;
	alone->std = std;
	alone->comm = NULL;
	alone->pipe = NULL;
	alone->tensor = NULL;
	alone->as.ranks = 0;
	alone->on_host = 1;
	alone->strategy = &nn_strategy_sync;
	alone->team = NULL;
	alone->step = NULL;
	alone->pool = NULL;
	if (alone->limit_bytes == 0) /* not planned yet */
		alone->limit_bytes = nn_memory_available();
	return nn_pool_new(&alone->pool, threads, NULL) == 0 &&
	       nn_fit_choose(alone, &alone->fit, NULL) == 0 && alone->fit.fits;
}

#define SMALL \
	((size_t)16 << 20) /* of ranks that have parts of a network rank 0 may take so much more \
			      to try all of it */

double nn_forecast_step(const struct nn_train *t, int threads, bool tries)
{
	struct nn_train alone;
	struct nn_std_options std;
	struct nn_rate rate = { .step_s = NAN };
	bool all = open_alone(&alone, &std, t, threads);

	if (nn_train_in_parts(t) && t->comm)
		tries &= taken_by_step(&alone) <= SMALL;
	if (all && !nn_rate_get(&alone, &rate) && !(tries && try_steps(&alone, &rate)) &&
	    !estimate(&alone, tries, &rate))
		rate.step_s = NAN;
	nn_pool_free(alone.pool);
	return rate.step_s;
}

/* What of a step of one process other ranks share otherwise: its update, and of its gradient what
 * are no products. */
void nn_forecast_parts(struct nn_train *t, bool measure, struct nn_pace *p)
{
	double parameters = 0, others, flops = products(t, &others), values = 0, size;
	struct nn_optimizer_options o = { .kind = (enum nn_optimizer_kind)t->options->optimizer,
					  .momentum = t->options->momentum };
	struct nn_machine_rate machine;
	struct nn_error err;

	p->update_s = p->byte_s = 0;
	p->products = 1;
	if (!nn_machine_rate_get(t, &machine) &&
	    (!measure || nn_rehearse_machine(t, &machine, &err) < 0))
		return;
	for (int i = 0; i < t->program->n_params; i++)
		if (t->program->params[i].desc.role != NN_BUFFER &&
		    t->program->params[i].desc.role != NN_ROW_TABLE)
			parameters += (double)nn_shape_count(&t->program->params[i].desc.shape);
	for (int i = 0; i < t->program->n_inputs; i++)
		values += (double)nn_shape_count(&t->program->values[t->program->inputs[i]].shape);
	flops /= machine.flops_s;
	others = (others * UPDATES + values * FILLS) * machine.update_s;
	p->products = flops / (flops + others);
	p->byte_s = machine.update_s / MOVED;
	size = (double)(nn_optimizer_count(&o) + 2) * (double)nn_dtype_size(t->device->dtype);
	p->update_s = fmin(parameters * machine.update_s * nn_pace_memory(parameters * size),
			   p->alone_s / 2);
}

void nn_forecast_ranks(struct nn_train *t)
{
	struct nn_pace *p = &t->pace;

	if (!nn_train_first(t))
		return;
	*p = (struct nn_pace){ .cores = nn_cpu_count(),
			       .threads = (int)t->std->threads,
			       .fixed = true };
	p->alone_s = nn_forecast_step(t, p->threads, may_try(t));
	p->single_s = p->threads == 1 ? p->alone_s : NAN;
	p->full_s = p->threads == p->cores ? p->alone_s : nn_forecast_step(t, p->cores, false);
	if (nn_train_in_parts(t) || t->strategy != &nn_strategy_sync)
		nn_forecast_parts(t, is_shown(t), p);
	nn_foresee_link(t, nn_train_ranks(t), &p->link);
	nn_memory_trim();
}

/* ---- the whole ---- */

#define TOUCH_BYTES_S 4e9 /* memory touched for the first time */

#define EPOCH_S 5e-5 /* its line in the log, and the like */

/* Held-out rows cost about the forward third of a step; of a state there is a copy. */
static double guess_extra(const struct nn_train *t, double row_s)
{
	double state = t->keeps_state ? (double)t->fit.parameters + (double)t->fit.optimizer : 0;

	return EPOCH_S + (double)t->n_valid * row_s / 3 + state / TOUCH_BYTES_S;
}

/* The model and the last state are waited for; a state is parameters and slots. */
static double guess_once(const struct nn_train *t)
{
	double parameters = (double)t->fit.parameters,
	       state = parameters + (double)t->fit.optimizer;

	return nn_file_seconds(parameters) + (t->keeps_state ? nn_file_seconds(state) : 0) +
	       (double)taken_by_step(t) / TOUCH_BYTES_S;
}

void nn_forecast_make(struct nn_train *t)
{
	struct nn_forecast *f = &t->forecast;
	double row_s = t->rate.step_s / (double)t->options->batch, rows = (double)t->n_rows, epochs,
	       steps;
	double extra = isnan(t->rate.extra_s) ? guess_extra(t, row_s) : t->rate.extra_s;
	double once = isnan(t->rate.once_s) ? guess_once(t) : t->rate.once_s;

	f->step_s = t->rate.step_s;
	f->epoch_s = f->total_s = NAN;
	if (t->rows_unknown || rows <= 0)
		return;
	f->epoch_s = rows * row_s + extra;
	if (t->planned == UINT64_MAX && t->options->time_limit == 0)
		return;
	steps = t->planned > t->counters.step ? (double)(t->planned - t->counters.step) : 0;
	epochs = steps / (double)t->steps_per_epoch;
	f->total_s = epochs * rows * row_s + ceil(epochs) * extra + once;
	if (t->sample && t->options->folds)
		f->total_s *= (double)t->options->folds;
	if (t->options->time_limit > 0 && !(f->total_s < t->options->time_limit + once))
		f->total_s = t->options->time_limit + once;
}

/* ---- a training that has run ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* What steps of sync cost beside computing. */
static void learn_link(struct nn_train *t)
{
	const struct nn_times *m = &t->times;
	int ranks = nn_train_ranks(t);
	struct nn_cut_run mine = nn_cut_share((size_t)t->options->leaves, t->comm->rank, ranks);
	size_t n = m->timed < NN_TIMED_STEPS ? m->timed : NN_TIMED_STEPS;
	double beside[NN_TIMED_STEPS], longest;

	if (n < 8 || mine.from == mine.to)
		return;
	/* the ranks with the largest share are waited for: that is no communication */
	longest = nn_pace_largest(t, ranks) * (double)t->options->leaves /
		  (double)(mine.to - mine.from);
	for (size_t i = 0; i < n; i++)
		beside[i] = m->step[i] - longest * m->compute[i];
	qsort(beside, n, sizeof *beside, by_value);
	if (beside[n / 4] > 0) /* of steps that other work of the machine met less */
		nn_link_put(ranks, nn_foresee_gradients(t), beside[n / 4]);
}

/* Half of what was known: one run that met a busy machine or disk does not decide alone. */
static double blend(double known, double found)
{
	return isfinite(known) && isfinite(found) ? (known + found) / 2 : found;
}

void nn_forecast_learn(struct nn_train *t, double seconds)
{
	struct nn_times *m = &t->times;
	double first = m->steps > 1 ? m->first_s : 0;
	struct nn_rate rate = { .ran = true }, known;

	if (m->saves > 0)
		nn_file_seconds_put(m->saved_bytes / m->saves, m->saves_s / m->saves);
	if (!nn_train_first(t))
		return;
	if (nn_train_ranks(t) > 1 && !nn_train_in_parts(t) && t->strategy == &nn_strategy_sync)
		learn_link(t);
	if (m->steps < 2 || (m->steps < LEAST_STEPS && m->steps_s < LEAST_S) || m->rows <= 0)
		return;
	rate.step_s = m->steps_s / m->rows * (double)t->options->batch;
	rate.extra_s = m->epochs > 0 ? m->after_s / m->epochs : NAN;
	rate.once_s = seconds - m->steps_s - first - m->after_s +
		      (first > rate.step_s ? first - rate.step_s : 0);
	if (nn_rate_get(t, &known) && known.ran)
		rate = (struct nn_rate){ blend(known.step_s, rate.step_s),
					 blend(known.extra_s, rate.extra_s),
					 blend(known.once_s, rate.once_s), true };
	nn_rate_put(t, &rate);
}
