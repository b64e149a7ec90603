/* An alpha-beta model of each strategy. Ranks that share cores take turns on them. */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "train/plan/fit-ranks.h"
#include "train/plan/foresee.h"
#include "train/plan/link.h"
#include "train/ranks.h"

/* Numbers that every rank has: parameters that are trained, of some lines; buffers too where they
 * travel. */
static double numbers(const struct nn_train *t, int first, int last, bool buffers)
{
	double sum = 0;

	for (int p = 0; p < t->program->n_params; p++) {
		const struct nn_program_param *param = &t->program->params[p];

		if (param->line >= first && param->line <= last &&
		    (buffers || param->desc.role != NN_BUFFER) && param->desc.role != NN_ROW_TABLE)
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

/* Sums of each rank's shard to it, and parameters of its shard to all; of master the shard of rank
 * 0 is all. */
static double summed_bytes(const struct nn_train *t, int ranks, double shard, double bytes)
{
	double own, others;

	sums(t, ranks, &own, &others);
	return others * shard * bytes + own * (1 - shard) * bytes + (ranks - 1) * shard * bytes +
	       (1 - shard) * bytes;
}

/* One message from rank to rank. */
static double message_s(const struct nn_link *link, double bytes)
{
	return link->message_s + bytes * link->byte_s;
}

/* ---- ranks that have all of the network ---- */

/* So many copies of an array, which others read. */
static double copies_s(const struct nn_pace *p, double bytes, double copies)
{
	return 2 * copies * bytes * p->byte_s * nn_pace_memory(bytes);
}

/* Of several ranks on its cores each takes so many times as long. */
static double busy(const struct nn_pace *p, int sharing)
{
	return fmax((double)sharing * nn_pace_threads(p, sharing) / p->cores, 1);
}

/* What the update takes more where one rank makes all of it, and not its share. */
static double whole_update(const struct nn_train *t, const struct nn_pace *p, int ranks)
{
	return p->update_s * (1 - nn_pace_largest(t, ranks));
}

double nn_foresee_sync(const struct nn_train *t, const struct nn_pace *p,
		       const struct nn_link *link, int ranks, int sharing)
{
	return nn_pace_share(t, p, ranks, sharing) +
	       nn_link_seconds(link, ranks, nn_foresee_gradients(t));
}

static void sync_step(const struct nn_train *t, const struct nn_pace *p, const struct nn_link *link,
		      int ranks, int sharing, struct nn_foreseen *f)
{
	f->step_s = nn_foresee_sync(t, p, link, ranks, sharing);
	f->bytes = summed_bytes(t, ranks, 1.0 / ranks, nn_foresee_gradients(t));
}

static void master_step(const struct nn_train *t, const struct nn_pace *p,
			const struct nn_link *link, int ranks, struct nn_foreseen *f)
{
	double bytes = all_numbers(t, false), own, others;

	sums(t, ranks, &own, &others);
	f->step_s += whole_update(t, p, ranks) +
		     (others + ranks - 1) * fmax(message_s(link, bytes), copies_s(p, bytes, 2));
	f->bytes = summed_bytes(t, ranks, 1, bytes);
}

static void local_step(const struct nn_train *t, const struct nn_pace *p,
		       const struct nn_link *link, int ranks, int sharing, struct nn_foreseen *f)
{
	double bytes = all_numbers(t, true) + slots(t) * all_numbers(t, false);
	uint64_t epoch = t->rows_unknown ? t->terms.every : t->steps_per_epoch;
	/* the end of an epoch averages, too, but between steps, and H steps begin anew */
	double averages = (double)(epoch / t->terms.every) / (double)epoch;

	f->bytes = 4.0 * (ranks - 1) / ranks * bytes;
	f->step_s += whole_update(t, p, ranks) * busy(p, sharing) +
		     fmax(nn_link_seconds(link, ranks, bytes), copies_s(p, f->bytes, 2)) * averages;
	f->bytes *= averages;
}

/*
 * Ranks but the first compute whole batches, the first makes each update, and parameters and
 * gradient cost both sides a copy. The longest of: a rank's turn divided by how many compute, the
 * server's, and what all take of the cores.
 */
static void async_step(const struct nn_train *t, const struct nn_pace *p,
		       const struct nn_link *link, int ranks, int sharing, struct nn_foreseen *f)
{
	double bytes = all_numbers(t, false), pass_s = link->message_s + copies_s(p, bytes, 2);
	int threads = nn_pace_threads(p, sharing);
	double alone_s = nn_pace_step(p, threads), gradient_s = alone_s - p->update_s,
	       server_s = p->update_s + pass_s;
	double turn_s = gradient_s + pass_s + server_s,
	       taken_s = (gradient_s + pass_s) * fmin(threads, p->cores) + server_s;

	f->bytes = ranks > 1 ? 2 * bytes : 0;
	f->step_s = ranks > 1 ? fmax(turn_s / (ranks - 1), server_s) : alone_s;
	if (sharing > 1)
		f->step_s = fmax(f->step_s, taken_s / p->cores * sharing / ranks);
}

/* ---- ranks that have stages ---- */

#define MERGED ((double)(12 << 20)) /* bytes */
#define EXPOSED \
	0.25 /* of messages between stages, but the first there and back: meanwhile a stage works \
		on */

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

/*
 * A micro-batch's gradients wait for their neighbour's: each but the first is added to what is
 * there, and copied to where it waits. That is nothing while all of it lies in the caches of a
 * core, and what memory can do where it lies in none.
 */
static double merge_s(const struct nn_pace *p, double bytes)
{
	return 5 * bytes * p->byte_s * fmin(fmax(3 * bytes / MERGED, 0.2), 6);
}

/* Seconds of a stage for one of n micro-batches. measured: nodes of it were timed, else it has its
 * share of a step of so many seconds. */
static double stage_seconds(const struct nn_train *t, const struct nn_pace *p, int stage,
			    double share, size_t n, double step_s, bool measured)
{
	double cost = 0, all = all_numbers(t, false), own;
	int first, last;

	lines(t->pipe, stage, &first, &last);
	own = last < 0 ? 0 : numbers(t, first, last, false);
	for (int i = t->pipe->bounds[stage]; i < t->pipe->bounds[stage + 1]; i++)
		cost += t->pipe->costs[i];
	if (!measured)
		return step_s * share / (double)n;
	return cost +
	       (merge_s(p, own) * (double)(n - 1) + (all > 0 ? p->update_s * own / all : 0)) /
		       (double)n;
}

static void pipeline_step(const struct nn_train *t, const struct nn_pace *pace,
			  const struct nn_link *link, int ranks, int sharing, struct nn_foreseen *f)
{
	const struct nn_pipe *p = t->pipe;
	int pipelines = ranks / p->stages > 1 ? ranks / p->stages : 1,
	    threads = nn_pace_threads(pace, sharing), first, last;
	size_t n =
		micro_batches(t, (t->options->batch + (size_t)pipelines - 1) / (size_t)pipelines);
	double rows = (double)t->options->batch / pipelines,
	       size = (double)nn_dtype_size(t->device->dtype), all = 0, most = 0, crossing_s = 0;
	double sum_s = 0, longest_s = 0, step_s = nn_pace_step(pace, threads) / pipelines;
	bool measured = p->threads == threads;

	for (int i = 0; i < p->n_nodes; i++)
		all += p->costs[i];
	for (int s = 0; s < p->stages; s++) {
		double cost = 0, stage_s;

		for (int i = p->bounds[s]; i < p->bounds[s + 1]; i++)
			cost += p->costs[i];
		stage_s = stage_seconds(t, pace, s, cost / all, n, step_s, measured);
		most = fmax(most, cost);
		sum_s += stage_s;
		longest_s = fmax(longest_s, stage_s);
		if (s > 0)
			crossing_s = fmax(
				crossing_s,
				2 * (1 + EXPOSED * (double)(n - 1)) *
					message_s(link, (double)p->nodes[p->bounds[s]].elements *
								size * rows / (double)n));
	}
	f->busiest = most / all;
	f->idle = nn_pipeline_idle(p->schedule, p->stages, n);
	/* all stages once, the busiest for each further micro-batch; where stages share cores those
	 * are what is short */
	f->step_s =
		p->schedule == NN_NAIVE ? sum_s * (double)n : sum_s + longest_s * (double)(n - 1);
	f->step_s =
		fmax(f->step_s, sum_s * (double)n * busy(pace, sharing) / p->stages) + crossing_s;
	lines(p, 0, &first, &last);
	f->bytes = 2 * rows * size * (double)p->nodes[p->bounds[1]].elements;
	if (pipelines > 1) {
		f->step_s += nn_link_seconds(link, pipelines, all_numbers(t, false) / p->stages);
		f->bytes +=
			summed_bytes(t, pipelines, 1.0 / pipelines, numbers(t, first, last, false));
	}
}

/* ---- ranks that have columns ---- */

#define BARRIER_S 5e-6 /* until all of a group are there */
#define COPIES \
	12 /* that a byte costs which is exchanged: strided, waiting for the others, and what is \
	      not done in registers then */

/*
 * Of the gradient what products take of it is shared, as far as whole vectors of channels go; the
 * update is. Where machines were measured 784-128-10 took 0.2 ns for each byte that was exchanged,
 * LeNet 0.4, a net of 2048 wide layers 0.7.
 */
static void tensor_step(const struct nn_train *t, const struct nn_pace *p,
			const struct nn_link *link, int ranks, int sharing, struct nn_foreseen *f)
{
	int columns = nn_tensor_ranks(t), groups = ranks / columns > 1 ? ranks / columns : 1;
	struct nn_graph_options o = {
		.device = t->device,
		.max_rows = t->fit.micro,
		.max_leaves = t->options->leaves,
		.training = true,
		.columns = &t->tensor->columns,
	};
	double rows = (double)t->options->batch * nn_pace_largest(t, groups),
	       step_s = nn_pace_step(p, nn_pace_threads(p, sharing));
	double calls = ceil(rows / (double)t->fit.micro), bytes = all_numbers(t, false) / columns,
	       gradient_s = step_s - p->update_s;
	struct nn_graph_sharing s;

	if (nn_graph_sharing(t->program, &o, &s, NULL) < 0)
		return;
	f->bytes = rows * s.row_bytes + s.step_bytes;
	f->step_s = gradient_s * (1 - p->products * (s.flops > 0 ? s.saved / s.flops : 0)) *
			    nn_pace_largest(t, groups) * busy(p, sharing) +
		    p->update_s / columns + s.exchanges * calls * BARRIER_S +
		    copies_s(p, f->bytes, COPIES);
	if (groups > 1) {
		f->step_s += nn_link_seconds(link, groups, bytes);
		f->bytes += summed_bytes(t, groups, 1.0 / groups, bytes);
	}
}

/* ---- whatever they are ---- */

void nn_foresee_link(const struct nn_train *t, int ranks, struct nn_link *link)
{
	bool messages = t->strategy && t->strategy != &nn_strategy_sync &&
			t->strategy != &nn_strategy_local;

	nn_link_get(ranks, messages || nn_train_in_parts(t), link);
}

void nn_foresee(const struct nn_train *t, const struct nn_pace *p, int ranks, int sharing,
		struct nn_foreseen *f)
{
	const struct nn_strategy *strategy = t->strategy ? t->strategy : &nn_strategy_sync;

	*f = (struct nn_foreseen){ .step_s = NAN, .bytes = NAN, .busiest = NAN, .idle = NAN };
	if (t->tensor && t->pipe) {
		snprintf(f->basis, sizeof f->basis,
			 "what columns of stages take is not known before this training has run "
			 "here");
		return;
	}
	f->step_s = nn_train_in_parts(t) ? NAN : nn_pace_share(t, p, ranks, sharing);
	if (t->tensor)
		tensor_step(t, p, &p->link, ranks, sharing, f);
	else if (t->pipe)
		pipeline_step(t, p, &p->link, ranks, sharing, f);
	else if (strategy == &nn_strategy_async)
		async_step(t, p, &p->link, ranks, sharing, f);
	else if (strategy == &nn_strategy_local)
		local_step(t, p, &p->link, ranks, sharing, f);
	else if (strategy == &nn_strategy_master)
		master_step(t, p, &p->link, ranks, f);
	else
		sync_step(t, p, &p->link, ranks, sharing, f);
	if (isnan(f->step_s))
		snprintf(f->basis, sizeof f->basis,
			 "how long a step of one rank takes is not known here");
	else
		snprintf(f->basis, sizeof f->basis, "a step of one rank; what ranks cost %s",
			 p->link.ranks == 0 ? "is an estimate" : "was measured here");
}
