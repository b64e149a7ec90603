/* An alpha-beta model of each strategy. Ranks that share cores take turns on them. */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "train/plan/fit-ranks.h"
#include "train/plan/foresee.h"
#include "train/plan/link.h"
#include "train/ranks.h"

/* Numbers that every rank has: parameters that are trained, of some lines; buffers too where they travel. */
static double numbers(const struct nn_train *t, int first, int last, bool buffers)
{
	double sum = 0;

	for (int p = 0; p < t->program->n_params; p++) {
		const struct nn_program_param *param = &t->program->params[p];

		if (param->line >= first && param->line <= last && (buffers || param->desc.role != NN_BUFFER) &&
		    param->desc.role != NN_ROW_TABLE)
			sum += (double)nn_shape_count(&param->desc.shape);
	}
	return sum * (double)nn_dtype_size(t->device->dtype);
}

static double all_numbers(const struct nn_train *t, bool buffers)
{
	return numbers(t, 0, INT_MAX, buffers);
}

double nn_foresee_gradients(const struct nn_train *t)
{
	return all_numbers(t, false);
}

static double slots(const struct nn_train *t)
{
	struct nn_step_options o = nn_train_step_options(t, 1);

	return (double)nn_optimizer_count(&o.optimizer);
}

/* Sums of subtrees that rank 0 has, and the others: one each where the leaves divide evenly. */
static void sums(const struct nn_train *t, int ranks, double *own, double *others)
{
	struct nn_step_options o = nn_train_step_options(t, 1);

	o.rank = 0;
	o.ranks = ranks;
	*own = 1 + (double)nn_step_kept(&o, 0);
	*others = (double)nn_step_others(&o, 0);
}

/* Sums of each rank's shard to it, and parameters of its shard to all; of master the shard of rank 0 is all. */
static double summed_bytes(const struct nn_train *t, int ranks, double shard, double bytes)
{
	double own, others;

	sums(t, ranks, &own, &others);
	return others * shard * bytes + own * (1 - shard) * bytes + (ranks - 1) * shard * bytes + (1 - shard) * bytes;
}

/* One message from rank to rank. */
static double message_s(const struct nn_link *link, double bytes)
{
	return link->message_s + bytes * link->byte_s;
}

/* ---- ranks that have all of the network ---- */

double nn_foresee_sync(const struct nn_train *t, const struct nn_pace *p, const struct nn_link *link, int ranks, int sharing)
{
	return nn_pace_share(t, p, ranks, sharing) + nn_link_seconds(link, ranks, nn_foresee_gradients(t));
}

static void sync_step(const struct nn_train *t, const struct nn_pace *p, const struct nn_link *link, int ranks, int sharing,
		      struct nn_foreseen *f)
{
	f->step_s = nn_foresee_sync(t, p, link, ranks, sharing);
	f->bytes = summed_bytes(t, ranks, 1.0 / ranks, nn_foresee_gradients(t));
}

static void master_step(const struct nn_train *t, const struct nn_link *link, int ranks, struct nn_foreseen *f)
{
	double bytes = all_numbers(t, false);

	f->step_s += 2 * (ranks - 1) * message_s(link, bytes);
	f->bytes = summed_bytes(t, ranks, 1, bytes);
}

static void local_step(const struct nn_train *t, const struct nn_link *link, int ranks, struct nn_foreseen *f)
{
	double bytes = all_numbers(t, true) + slots(t) * all_numbers(t, false);
	uint64_t epoch = t->rows_unknown ? t->terms.every : t->steps_per_epoch;
	/* the end of an epoch averages, too, but between steps, and H steps begin anew */
	double averages = (double)(epoch / t->terms.every) / (double)epoch;

	f->step_s += nn_link_seconds(link, ranks, bytes) * averages;
	f->bytes = 4.0 * (ranks - 1) / ranks * bytes * averages;
}

/* Ranks but the first compute whole batches; what it takes to hear of each is the same for all. */
static void async_step(const struct nn_train *t, const struct nn_pace *p, const struct nn_link *link, int ranks, int sharing,
		       struct nn_foreseen *f)
{
	double bytes = all_numbers(t, false), exchange_s = 2 * message_s(link, bytes);
	int threads = nn_pace_threads(p, sharing), computing = sharing > 1 ? sharing - 1 : 1;
	double busy = fmax((double)computing * threads / p->cores, 1), cycle_s = nn_pace_step(p, threads) * busy + exchange_s;

	f->step_s = ranks > 1 ? fmax(cycle_s / (ranks - 1), exchange_s) : cycle_s - exchange_s;
	f->bytes = ranks > 1 ? 2 * bytes : 0;
}

/* ---- ranks that have stages ---- */

static size_t micro_batches(const struct nn_train *t, size_t rows)
{
	size_t micro = t->fit.micro && t->fit.micro < rows ? t->fit.micro : rows;

	return (rows + micro - 1) / micro;
}

/* The lines of the model between two nodes. */
static void lines(const struct nn_pipe *p, int stage, int *first, int *last)
{
	*first = INT_MAX;
	*last = -1;
	for (int i = p->bounds[stage]; i < p->bounds[stage + 1]; i++)
		if (p->nodes[i].line >= 0) {
			*first = p->nodes[i].line < *first ? p->nodes[i].line : *first;
			*last = p->nodes[i].line > *last ? p->nodes[i].line : *last;
		}
}

static void pipeline_step(const struct nn_train *t, const struct nn_pace *pace, const struct nn_link *link, int ranks, int sharing,
			  struct nn_foreseen *f)
{
	const struct nn_pipe *p = t->pipe;
	int pipelines = ranks / p->stages > 1 ? ranks / p->stages : 1, threads = nn_pace_threads(pace, sharing), first, last;
	size_t n = micro_batches(t, (t->options->batch + (size_t)pipelines - 1) / (size_t)pipelines);
	double rows = (double)t->options->batch / pipelines, size = (double)nn_dtype_size(t->device->dtype), all = 0, most = 0, crossing_s = 0;
	double work_s = nn_pace_step(pace, threads) / pipelines, busy = fmax((double)sharing * threads / pace->cores, 1), flowing;

	for (int s = 0; s < p->stages; s++) {
		double cost = 0;

		for (int i = p->bounds[s]; i < p->bounds[s + 1]; i++)
			cost += p->costs[i];
		all += cost;
		most = fmax(most, cost);
		if (s > 0)
			crossing_s = fmax(crossing_s, 2 * (double)n * message_s(link, (double)p->nodes[p->bounds[s]].elements * size * rows / (double)n));
	}
	f->busiest = most / all;
	f->idle = nn_pipeline_idle(p->schedule, p->stages, n);
	/* all stages once, the busiest for each further micro-batch; where stages share cores those are what is short */
	flowing = p->schedule == NN_NAIVE ? 1 : (1 + (double)(n - 1) * f->busiest) / (double)n;
	lines(p, 0, &first, &last);
	f->step_s = work_s * fmax(flowing, busy / p->stages) + crossing_s;
	f->bytes = 2 * rows * size * (double)p->nodes[p->bounds[1]].elements;
	if (pipelines > 1) {
		f->step_s += nn_link_seconds(link, pipelines, all_numbers(t, false) / p->stages);
		f->bytes += summed_bytes(t, pipelines, 1.0 / pipelines, numbers(t, first, last, false));
	}
}

/* ---- whatever they are ---- */

void nn_foresee_link(const struct nn_train *t, int ranks, struct nn_link *link)
{
	nn_link_get(ranks, (t->strategy && t->strategy != &nn_strategy_sync) || nn_train_in_parts(t), link);
}

void nn_foresee(const struct nn_train *t, const struct nn_pace *p, int ranks, int sharing, struct nn_foreseen *f)
{
	const struct nn_strategy *strategy = t->strategy ? t->strategy : &nn_strategy_sync;

	*f = (struct nn_foreseen){ .step_s = NAN, .bytes = NAN, .busiest = NAN, .idle = NAN };
	if (t->tensor) {
		snprintf(f->basis, sizeof f->basis, "what exchanging columns takes is not known before this training has run here");
		return;
	}
	f->step_s = t->pipe ? 0 : nn_pace_share(t, p, ranks, sharing);
	if (t->pipe)
		pipeline_step(t, p, &p->link, ranks, sharing, f);
	else if (strategy == &nn_strategy_async)
		async_step(t, p, &p->link, ranks, sharing, f);
	else if (strategy == &nn_strategy_local)
		local_step(t, &p->link, ranks, f);
	else if (strategy == &nn_strategy_master)
		master_step(t, &p->link, ranks, f);
	else
		sync_step(t, p, &p->link, ranks, sharing, f);
	if (isnan(f->step_s))
		snprintf(f->basis, sizeof f->basis, "how long a step of one rank takes is not known here");
	else
		snprintf(f->basis, sizeof f->basis, "a step of one rank; what ranks cost %s",
			 p->link.ranks == 0 ? "is an estimate" : "was measured here");
}
