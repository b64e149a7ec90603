/* One process's time of a step, scaled to ranks by what the link between them costs. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "comm/link.h"
#include "parallel/pipeline.h"
#include "parallel/strategy.h"
#include "parallel/tensor.h"
#include "plan/forecast.h"
#include "plan/ranks.h"
#include "plan/scaling.h"

#define LEAST_RANKS 4 /* listed, whatever the cores */
#define ONE_BY_ONE 16 /* up to this every number of ranks is listed, then powers of two */
#define PAYS 1.05     /* times the speed of one rank, or more ranks are not worth it */

/* What the times of one process rest on. */
struct rank_rate {
	int cores, threads; /* threads: of one rank */
	bool fixed;         /* --threads was given: each rank has as many */
	double alone_s,
		full_s; /* a step with as many threads, with one on each core; NaN: not known */
};

static int least(int a, int b)
{
	return a < b ? a : b;
}

static int threads_of(const struct rank_rate *r, int ranks)
{
	if (r->fixed || ranks == 1)
		return r->threads;
	return r->cores > ranks ? r->cores / ranks : 1;
}

/*
 * Fewer threads than were tried divide the work evenly; of more there is a part that threads share
 * and one that they do not, through the two that are known. Ranks share the memory's bandwidth as
 * threads do, but wait for one another once a step: half way to an even division, too. Threads that
 * do not pay hold no ranks up.
 */
static double step_of(const struct rank_rate *r, int threads)
{
	double tried = least(r->threads, r->cores), shared, together;

	if (threads <= tried)
		return r->alone_s * tried / threads;
	shared = (r->alone_s - r->full_s) / (1 / tried - 1.0 / r->cores);
	together = r->full_s + shared * (1.0 / threads - 1.0 / r->cores);
	return (fmin(together, r->alone_s) + r->alone_s * tried / threads) / 2;
}

static void add_row(const struct nn_plan *plan, const struct rank_rate *r, int ranks,
		    struct nn_scaling *s)
{
	struct nn_scaling_row *row = &s->rows[s->n++];
	struct nn_link link;

	*row = (struct nn_scaling_row){ ranks, NAN, NAN,
					(uint64_t)ranks <= plan->task->recipe->leaves };
	if (!row->possible)
		return;
	row->step_s = r->alone_s;
	if (ranks > 1) {
		int threads =
			ranks < r->cores ? least(ranks * threads_of(r, ranks), r->cores) : r->cores;

		nn_link_get(ranks, &link);
		row->step_s = step_of(r, threads) * nn_ranks_largest(plan, ranks) * ranks +
			      nn_link_seconds(&link, ranks, nn_ranks_gradient_bytes(plan));
		if (link.ranks == 0)
			snprintf(s->basis, sizeof s->basis,
				 "communication is an estimate from copies in memory; no ranks "
				 "were measured here");
		else if (!*s->basis)
			snprintf(s->basis, sizeof s->basis,
				 "communication as measured here with %d ranks", link.ranks);
	}
	row->speedup = r->alone_s / row->step_s;
}

static void list(const struct nn_plan *plan, const struct rank_rate *r, int asked,
		 struct nn_scaling *s)
{
	int most = r->cores > LEAST_RANKS ? r->cores : LEAST_RANKS;

	if (nn_layout_in_parts(plan->layout)) /* whose time is not estimated */
		most = 1;
	else if (asked > 1)
		most = asked;
	else if ((uint64_t)most > plan->task->recipe->leaves)
		most = (int)plan->task->recipe->leaves;
	for (int n = 1; n < most && s->n < NN_SCALING_ROWS - 1; n += n < ONE_BY_ONE ? 1 : n)
		if ((uint64_t)n <= plan->task->recipe->leaves)
			add_row(plan, r, n, s);
	add_row(plan, r, most, s);
}

/* ---- the sentence ---- */

static const struct nn_scaling_row *best_row(const struct nn_scaling *s)
{
	const struct nn_scaling_row *best = s->rows;

	for (size_t i = 1; i < s->n; i++)
		if (s->rows[i].step_s < best->step_s && s->rows[i].speedup >= PAYS)
			best = &s->rows[i];
	return best;
}

static void say_stay(const struct nn_plan *plan, const struct rank_rate *r, int asked,
		     struct nn_scaling *s)
{
	const struct nn_scaling_row *last = &s->rows[s->n - 1],
				    *other = last->ranks == asked && last->possible ? last
										    : &s->rows[1];
	char one[NN_DURATION], two[NN_DURATION], threads[40] = "one thread of one process does";

	if (r->threads > 1)
		snprintf(threads, sizeof threads, "%d threads of one process do", r->threads);
	if (s->n < 2 || !other->possible)
		nn_text_addf(&s->why, "stay on one rank: a batch of %llu has one leaf",
			     (unsigned long long)plan->task->recipe->batch);
	else if (isnan(other->step_s))
		nn_text_addf(&s->why,
			     "whether %d ranks pay is not known: no steps of this network were "
			     "tried here",
			     other->ranks);
	else
		nn_text_addf(&s->why, "stay on one rank: %s a step in %s, %d ranks would take %s",
			     threads, nn_duration(one, s->rows[0].step_s), other->ranks,
			     nn_duration(two, other->step_s));
}

/* What was asked for and is not sync alone: its bytes, and what is missing to know its time. */
static void say_asked(const struct nn_plan *plan, int ranks, struct nn_scaling *s)
{
	const struct nn_pipe *pipe = plan->layout->pipe;
	double bytes = nn_ranks_bytes(plan, ranks);

	if (pipe || plan->layout->tensor)
		nn_text_addf(&s->why, "%d %s: memory is that of the rank that takes most",
			     pipe ? pipe->stages : nn_tensor_ranks(plan->layout),
			     pipe ? "stages, a rank each" : "ranks share columns");
	else if (plan->layout->strategy != &nn_strategy_sync)
		nn_text_add(&s->why, "as asked for");
	if (s->why.length == 0 || ranks < 2)
		return;
	nn_text_addf(&s->why, "; %s", nn_ranks_unknown(plan));
	if (!isnan(bytes))
		nn_text_addf(&s->why, "; %.4g bytes of a step through rank 0", bytes);
}

static void say_why(const struct nn_plan *plan, const struct rank_rate *r, int asked,
		    struct nn_scaling *s)
{
	const struct nn_scaling_row *best = best_row(s);
	char one[NN_DURATION], many[NN_DURATION];

	say_asked(plan, asked, s);
	if (nn_layout_in_parts(plan->layout))
		return;
	if (s->why.length > 0)
		nn_text_add(&s->why, "; with sync: ");
	if (isnan(r->alone_s))
		nn_text_add(&s->why, "one process: how long a step takes is not known here, so "
				     "nothing speaks for more ranks");
	else if (best->ranks == 1)
		say_stay(plan, r, asked, s);
	else
		nn_text_addf(&s->why, "%d ranks: %.2f x one rank, a step in %s instead of %s",
			     best->ranks, best->speedup, nn_duration(many, best->step_s),
			     nn_duration(one, s->rows[0].step_s));
}

void nn_scaling_make(const struct nn_plan *plan, int ranks, bool fixed, struct nn_scaling *s)
{
	struct rank_rate r = {
		.cores = nn_cpu_count(),
		.threads = nn_pool_threads(plan->task->pool),
		.fixed = fixed,
		.alone_s = nn_layout_in_parts(plan->layout) ? NAN : plan->rate.step_s,
		.full_s = NAN,
	};

	*s = (struct nn_scaling){ 0 };
	if (plan->task->recipe->leaves > 1 && !isnan(r.alone_s) && r.threads < r.cores)
		r.full_s = nn_forecast_step(plan, r.cores);
	s->threads = threads_of(&r, ranks > 1 ? ranks : 1);
	list(plan, &r, ranks, s);
	say_why(plan, &r, ranks, s);
}
