/* Memory planned before any of it is taken. */
#include <string.h>

#include "base/memory.h"
#include "train/checkpoint.h"
#include "train/plan/fit-ranks.h"
#include "train/ranks.h"

#define LATER_BYTES ((size_t)1 << 20) /* code that has not run yet, stacks, lists of the plan */
#define EVALUATED_ROWS 256            /* of a call of the evaluator */
#define AT(item) offsetof(struct nn_fit, item)

const struct nn_fit_name nn_fit_items[NN_FIT_ITEMS] = {
	{ "parameters", "as the kernels keep them", AT(parameters) },
	{ "gradients", "and partial sums that wait in the tree of leaves", AT(gradients) },
	{ "optimizer", "its state", AT(optimizer) },
	{ "activations_per_sample", "", AT(activations_per_sample) },
	{ "activations", "of the samples that are at work at once", AT(activations) },
	{ "workspace", "scratch of the kernels", AT(workspace) },
	{ "input", "the data in memory, and the samples of a step", AT(input) },
	{ "other", "the program, parameters for files, evaluation", AT(other) },
	{ "total", "the peak to expect", AT(total) },
	{ "limit", "--memory, or what the machine has for it", AT(limit) },
};

bool nn_train_measures(const struct nn_train *t)
{
	return (t->std->log || t->std->verbose > 0) &&
	       (!t->strategy || t->strategy == &nn_strategy_sync);
}

struct nn_step_options nn_train_step_options(const struct nn_train *t, size_t micro)
{
	const struct nn_train_options *o = t->options;
	const struct nn_comm *comm = t->strategy && t->strategy->whole ? NULL : nn_train_sharers(t);
	int sharing = o->shard_optimizer ? nn_shard_ranks(t) : 0, ranks = 1, as = 0;

	if (t->as.ranks > 0 && !(t->strategy && t->strategy->whole)) {
		comm = NULL;
		ranks = t->as.ranks;
		as = t->as.rank;
	}

	return (struct nn_step_options){
		.device = t->device,
		.pool = t->pool,
		.program = t->program,
		.dataset = t->dataset,
		.rows = t->n_rows ? t->n_rows : o->batch,
		.batch = o->batch,
		.leaves = o->leaves,
		.micro = micro,
		.losses = t->losses,
		.weights = t->shares,
		.optimizer = { (enum nn_optimizer_kind)o->optimizer, o->momentum, o->weight_decay,
			       o->nesterov, o->clip_norm },
		.rank = comm ? comm->rank : as,
		.ranks = comm ? comm->size : ranks,
		.statistics = t->strategy && t->strategy->whole,
		.part = nn_pipe_part(t->pipe),
		.columns = t->tensor ? &t->tensor->columns : NULL,
		.shard = comm ? comm->rank : as,
		.shards = sharing,
		.seed = t->std->seed,
		.noise = nn_train_measures(t),
		.count = t->n_valid == 0,
		.target = t->schema ? &t->schema->targets[0] : NULL,
	};
}

/* ---- what stands beside the step ---- */

/* The rank that has all parameters for files, and evaluates: where ranks have parts of the network
 * the first. */
static bool is_first(const struct nn_train *t)
{
	if (!nn_train_in_parts(t) || t->comm)
		return !nn_train_in_parts(t) || t->comm->rank == 0;
	return (!t->pipe || t->pipe->stage == 0) && (!t->tensor || t->tensor->columns.rank == 0);
}

/* One that only evaluates, the first of another pipeline or group. */
static bool evaluates(const struct nn_train *t)
{
	return t->comm && !is_first(t) && nn_train_evaluates(t);
}

static size_t all_parameters(const struct nn_train *t)
{
	size_t sum = 0;

	for (int p = 0; p < t->program->n_params; p++)
		sum += nn_shape_count(&t->program->params[p].desc.shape);
	return sum * nn_dtype_size(t->device->dtype);
}

/* Canonical parameters: those of the model and the best so far; of a state that will be written a
 * copy of both, and the slots. */
static size_t copies(const struct nn_train *t, const struct nn_step_options *step,
		     size_t parameters)
{
	size_t slots = nn_optimizer_count(&step->optimizer), live = 1 + (t->options->patience > 0);

	if (nn_train_in_parts(t) && is_first(t))
		parameters = all_parameters(t);
	else if (t->pipe && t->tensor &&
		 t->tensor->columns.rank == 0) /* in which its stage comes together */
		parameters *= (size_t)nn_tensor_ranks(t);
	return parameters * (live + (t->keeps_state ? live + slots : 0)) +
	       (evaluates(t) ? all_parameters(t) : 0);
}

/* The evaluator's graph: parameters of its own, and rows without what backward would need. */
static int evaluator_bytes(const struct nn_train *t, size_t *bytes, struct nn_error *err)
{
	struct nn_graph_options g = { .device = t->device, .pool = t->pool };
	struct nn_graph_memory m;

	*bytes = 0;
	if (!t->n_valid || !(is_first(t) || evaluates(t)))
		return 0;
	g.max_rows = t->n_valid < EVALUATED_ROWS ? t->n_valid : EVALUATED_ROWS;
	if (nn_graph_plan(t->program, &g, &m, err) < 0)
		return -1;
	*bytes = m.parameters + m.activations + m.workspace + m.input + m.derived;
	return 0;
}

/* Targets and losses of a batch. */
static size_t outputs_bytes(const struct nn_train *t, size_t leaves)
{
	size_t bytes = 0, batch = t->options->batch;

	for (int i = 0; i < t->program->n_outputs; i++) {
		size_t values =
			nn_shape_count(&t->program->values[t->program->outputs[i].value].shape);
		struct nn_train_output_size size = { t->device->dtype, values, false };

		if (t->dataset) {
			size.target_size = nn_dataset_target_size(t->dataset, (size_t)i);
			size.classes = nn_dataset_target_classes(t->dataset, (size_t)i);
		}
		bytes += nn_train_output_bytes(&size, batch, leaves);
	}
	return bytes;
}

/* All samples in memory, and the lists of their numbers. */
static size_t data_bytes(const struct nn_train *t, enum nn_dtype dtype)
{
	double rows = t->dataset ? (double)nn_dataset_rows(t->dataset) : 0,
	       all = (double)(t->n_rows + (t->held_out ? 0 : t->n_valid));
	double bytes = rows > 0 ? (double)nn_dataset_bytes(t->dataset, dtype) / rows *
					  (t->rows_unknown ? rows : all)
				: 0;

	if (t->held_out && nn_dataset_rows(t->held_out) > 0)
		bytes += (double)nn_dataset_bytes(t->held_out, dtype) /
			 (double)nn_dataset_rows(t->held_out) * (double)t->n_valid;
	return (size_t)bytes + 8 * (size_t)(2 * t->n_rows + t->n_valid);
}

/* What the process has besides its samples, before the step: of a training it is known once they
 * are there. */
static size_t program_bytes(const struct nn_train *t)
{
	size_t data = data_bytes(t, t->loaded_dtype);

	return LATER_BYTES + nn_fit_mpi_bytes(t) +
	       (t->sample || !t->dataset ? t->start_bytes
		: t->loaded_bytes > data ? t->loaded_bytes - data
					 : 0);
}

/* ---- the plan ---- */

/* The scratch for norms is touched by who asks for norms. */
static bool wants_norms(const struct nn_train *t, enum nn_optimizer_kind kind)
{
	bool logs = t->std->log && (t->strategy != &nn_strategy_local ||
				    (t->as.ranks ? t->as.rank == 0 : nn_train_first(t)));

	return kind == NN_LARS || kind == NN_LAMB || t->options->clip_norm > 0 || logs ||
	       nn_train_measures(t);
}

static int plan_rank(const struct nn_train *t, size_t micro, struct nn_fit *fit,
		     struct nn_error *err)
{
	struct nn_step_options step = nn_train_step_options(t, micro);
	struct nn_step_memory m;
	size_t evaluator, sums[7], size = nn_dtype_size(t->device->dtype);

	if (nn_step_plan(&step, &m, err) < 0 || evaluator_bytes(t, &evaluator, err) < 0)
		return -1;
	fit->micro = micro;
	fit->least = nn_step_least_rows(&step);
	fit->parameters = m.graph.parameters;
	fit->gradients = m.graph.gradients + m.partial;
	fit->optimizer =
		m.optimizer - (wants_norms(t, step.optimizer.kind) ? 0 : m.graph.block * size);
	fit->activations_per_sample = m.graph.activations_per_row;
	fit->activations = m.graph.activations + outputs_bytes(t, t->options->leaves);
	fit->workspace = m.graph.workspace + m.graph.derived;
	fit->input = m.graph.input + data_bytes(t, t->device->dtype);
	fit->other = program_bytes(t) + copies(t, &step, m.graph.parameters) + evaluator;
	if (nn_fit_share(t, &step, wants_norms(t, step.optimizer.kind), fit, err) < 0)
		return -1;
	memcpy(sums,
	       (const size_t[]){ fit->parameters, fit->gradients, fit->optimizer, fit->activations,
				 fit->workspace, fit->input, fit->other },
	       sizeof sums);
	fit->total = 0;
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
		if (!nn_add(fit->total, sums[i], &fit->total))
			return nn_fail(err, NN_ENOMEM, "the plan is larger than memory can be");
	fit->limit = t->options->memory ? t->options->memory : t->limit_bytes;
	return 0;
}

size_t nn_fit_need(const struct nn_train *t, const struct nn_fit *fit)
{
	return t->options->memory ? fit->total : fit->host;
}

size_t nn_fit_peak(const struct nn_train *t)
{
	return t->fit.total > t->highest_bytes ? t->fit.total : t->highest_bytes;
}

/* The plan of a rank beside that of rank 0, which writes, and of the last, which has no fewer
 * leaves than any other. */
static int plan_host(const struct nn_train *t, size_t micro, struct nn_fit *fit,
		     struct nn_error *err)
{
	struct nn_train other = *t;
	struct nn_fit first, last;

	fit->host = fit->total;
	if (t->on_host < 2)
		return 0;
	other.as.ranks = nn_fit_sharers(t);
	other.keeps_state = is_first(t) && (t->state_path || nn_checkpoint_wanted(t));
	other.as.rank = 0;
	if (plan_rank(&other, micro, &first, err) < 0)
		return -1;
	other.keeps_state = false;
	other.as.rank = other.as.ranks - 1;
	if (plan_rank(&other, micro, &last, err) < 0)
		return -1;
	if (!t->comm)
		*fit = first.total > last.total ? first : last;
	nn_fit_host(t, &first, &last, fit);
	return 0;
}

/* Of a plan for ranks that have parts of the network that of the one that takes most. */
static int plan_most(const struct nn_train *t, size_t micro, struct nn_fit *fit,
		     struct nn_error *err)
{
	struct nn_fit other;
	int parts = t->comm ? 1 : nn_fit_parts(t), columns = nn_tensor_ranks(t);
	size_t host = 0;

	for (int i = 0; i < parts; i++) {
		struct nn_fit *to = i == 0 ? fit : &other;

		if (parts > columns)
			t->pipe->stage = i / columns;
		if (parts > 1 && columns > 1)
			t->tensor->columns.rank = i % columns;
		if (plan_rank(t, micro, to, err) < 0 || plan_host(t, micro, to, err) < 0)
			return -1;
		host += to->host;
		if (i > 0 && other.total > fit->total)
			*fit = other;
	}
	fit->host = host;
	return 0;
}

int nn_fit_plan(const struct nn_train *t, size_t micro, struct nn_fit *fit, struct nn_error *err)
{
	if (plan_most(t, micro, fit, err) < 0)
		return -1;
	fit->fits = nn_fit_need(t, fit) <= fit->limit;
	return 0;
}

/* Rows that suit the caches, where --micro-batch does not say: more gain nothing. */
static size_t suiting(const struct nn_train *t, const struct nn_fit *fit, size_t input)
{
	const struct nn_train_options *o = t->options;

	return nn_step_suiting(fit->micro, o->batch, o->leaves, nn_pool_threads(t->pool),
			       fit->activations_per_sample + input / fit->micro);
}

/* Does what rows have no part in exceed the limit already? */
static bool hopeless(const struct nn_fit *fit)
{
	return fit->parameters > fit->limit || fit->optimizer > fit->limit - fit->parameters;
}

/* Fewer rows at once take less, but for sums that wait: more spans leave more of them. So the least
 * is sought, not the last. */
int nn_fit_choose(const struct nn_train *t, struct nn_fit *fit, struct nn_error *err)
{
	const struct nn_train_options *o = t->options;
	size_t micro = t->n_rows && t->n_rows < o->batch ? t->n_rows : o->batch;
	bool flows = t->pipe && t->pipe->schedule != NN_NAIVE;
	struct nn_fit smaller;

	if (flows && !o->micro_batch)
		micro = nn_pipe_micro(t, micro);
	if (o->micro_batch && o->micro_batch < micro)
		micro = o->micro_batch;
	if (nn_fit_plan(t, micro, fit, err) < 0)
		return -1;
	if (!o->micro_batch && !flows) {
		size_t suits = suiting(t, fit, fit->input - data_bytes(t, t->device->dtype));

		if (suits < micro && nn_fit_plan(t, micro = suits, fit, err) < 0)
			return -1;
	}
	while (!fit->fits && micro > fit->least && !hopeless(fit)) {
		micro = micro / 2 < fit->least ? fit->least : micro / 2;
		if (nn_fit_plan(t, micro, &smaller, err) < 0)
			return -1;
		if (nn_fit_need(t, &smaller) < nn_fit_need(t, fit))
			*fit = smaller;
	}
	return 0;
}

/* ---- the largest batch ---- */

/* Does a batch of so many rows fit at once? Its leaves are what that many rows are cut into. */
static int batch_fits(const struct nn_train *t, size_t rows, bool *fits)
{
	struct nn_train_options options = *t->options;
	struct nn_train other = *t;
	struct nn_fit fit;
	struct nn_error err;
	size_t group = nn_program_group(t->program),
	       ranks = t->options->memory ? 1 : (size_t)t->on_host;

	options.batch = rows;
	options.leaves = t->device->leaves(rows, group, SIZE_MAX);
	other.options = &options;
	other.n_rows = rows;
	*fits = false;
	if (nn_fit_plan(&other, rows, &fit, &err) < 0)
		return err.code == NN_ENOMEM ? 0 : -1;
	/* what the samples of a training take does not depend on the batch */
	*fits = nn_fit_need(t, &fit) - ranks * data_bytes(&other, t->device->dtype) +
			ranks * data_bytes(t, t->device->dtype) <=
		fit.limit;
	return 0;
}

#define MOST_ROWS ((size_t)1 << 40)

int nn_fit_largest(const struct nn_train *t, const struct nn_fit *fit, size_t *rows,
		   struct nn_error *err)
{
	size_t group = nn_program_group(t->program), unit = group ? group : 1, low = 1, high, step;
	size_t row = fit->activations_per_sample ? fit->activations_per_sample : 1;
	bool fits;

	*rows = 0;
	if (batch_fits(t, unit, &fits) < 0)
		return nn_fail(err, NN_EFAIL, "the largest batch cannot be planned");
	if (!fits)
		return 0;
	/* near where memory that grows with rows would end, then outwards until the bracket holds
	 */
	high = (fit->limit / row + 1 < MOST_ROWS ? fit->limit / row + 1 : MOST_ROWS) / unit + 2;
	for (step = high / 16 + 1; low < high; step *= 2) {
		size_t at = high > step ? high - step : 0;

		if (at <= low)
			break;
		if (batch_fits(t, at * unit, &fits) < 0)
			return nn_fail(err, NN_EFAIL, "the largest batch cannot be planned");
		if (fits) {
			low = at;
			break;
		}
		high = at;
	}
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (batch_fits(t, middle * unit, &fits) < 0)
			return nn_fail(err, NN_EFAIL, "the largest batch cannot be planned");
		*(fits ? &low : &high) = middle;
	}
	*rows = low * unit;
	return 0;
}
