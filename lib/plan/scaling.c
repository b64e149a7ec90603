/* One rank's time of a step, scaled to several by what the link between them costs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "plan/ranks.h"
#include "comm/link.h"
#include "plan/scaling.h"
#include "parallel/pipeline.h"
#include "parallel/strategy.h"
#include "parallel/tensor.h"
#include "plan/plan.h"

#define LEAST_RANKS 4 /* listed, whatever the cores */
#define ONE_BY_ONE 16 /* beyond so many only twice as many each */
#define PAYS 1.05     /* times the speed of one rank, or more ranks are not worth it */

static void add_row(struct nn_plan *plan, const struct nn_rank_rate *p, int ranks,
		    struct nn_scaling *s)
{
	struct nn_scaling_row *row = &s->rows[s->n++];
	struct nn_link link;

	*row = (struct nn_scaling_row){ ranks, nn_rank_rate_threads(p, ranks), NAN, NAN,
					(uint64_t)ranks <= plan->task->recipe->leaves };
	if (!row->possible)
		return;
	if (ranks == 1) {
		row->step_s = p->alone_s;
	} else {
		nn_link_get(ranks, &link);
		row->step_s = nn_ranks_sync_seconds(plan, p, &link, ranks, ranks);
		if (link.ranks == 0)
			snprintf(s->basis, sizeof s->basis,
				 "communication is an estimate from copies in memory; no ranks "
				 "were measured here");
		else if (!*s->basis)
			snprintf(s->basis, sizeof s->basis,
				 "communication as measured here with %d ranks", link.ranks);
	}
	row->speedup = p->alone_s / row->step_s;
}

static void list(struct nn_plan *plan, const struct nn_rank_rate *p, int asked,
		 struct nn_scaling *s)
{
	int most = p->cores > LEAST_RANKS ? p->cores : LEAST_RANKS, n;

	if (nn_layout_in_parts(plan->layout)) /* whose time is not estimated */
		most = 1;
	else if (asked > 1)
		most = asked;
	else if ((uint64_t)most > plan->task->recipe->leaves)
		most = (int)plan->task->recipe->leaves;
	for (n = 1; n < most && s->n < NN_SCALING_ROWS - 1; n += n < ONE_BY_ONE ? 1 : n)
		if ((uint64_t)n <= plan->task->recipe->leaves)
			add_row(plan, p, n, s);
	add_row(plan, p, most, s);
}

static const struct nn_scaling_row *best_row(const struct nn_scaling *s)
{
	const struct nn_scaling_row *best = s->rows;

	for (size_t i = 1; i < s->n; i++)
		if (s->rows[i].step_s < best->step_s && s->rows[i].speedup >= PAYS)
			best = &s->rows[i];
	return best;
}

static void say_stay(const struct nn_plan *plan, const struct nn_rank_rate *p, struct nn_scaling *s)
{
	const struct nn_scaling_row *other = s->n > 1 && s->rows[1].possible ? &s->rows[1] : NULL;
	char one[NN_DURATION], two[NN_DURATION];

	for (size_t i = 1; i < s->n; i++)
		if (s->rows[i].possible && s->rows[i].ranks == p->asked)
			other = &s->rows[i];
	if (!other) {
		nn_text_addf(&s->why, "stay on one rank: a batch of %llu has one leaf",
			     (unsigned long long)plan->task->recipe->batch);
		return;
	}
	if (isnan(other->step_s)) {
		nn_text_addf(&s->why,
			     "whether %d ranks pay is not known: no steps of this network were "
			     "tried here",
			     other->ranks);
		return;
	}
	nn_text_add(&s->why, "stay on one rank: ");
	if (p->threads == 1)
		nn_text_addf(&s->why, "one thread of one process does");
	else
		nn_text_addf(&s->why, "%d threads of one process do", p->threads);
	nn_text_addf(&s->why, " a step in %s, %d ranks would take %s",
		     nn_duration(one, s->rows[0].step_s), other->ranks,
		     nn_duration(two, other->step_s));
}

/* What was asked for and is not sync: its step and bytes, or what is missing to know them. */
static void say_asked(const struct nn_plan *plan, struct nn_scaling *s)
{
	const struct nn_ranks_estimate *f = &s->asked;
	char text[NN_DURATION];

	if (s->why.length == 0 || !*f->basis)
		return;
	if (isnan(f->step_s))
		nn_text_addf(&s->why, "; %s", f->basis);
	else
		nn_text_addf(&s->why, "; a step in %s", nn_duration(text, f->step_s));
	if (!isnan(f->bytes))
		nn_text_addf(&s->why, "; %.4g bytes of a step through rank 0", f->bytes);
	if (!isnan(f->busiest))
		nn_text_addf(&s->why, ", the busiest stage has %.0f %% of the work, %s is %.1f %%",
			     100 * f->busiest,
			     plan->layout->pipe->schedule == NN_SCHEDULE_NAIVE ? "(P-1)/P"
									       : "(P-1)/(M+P-1)",
			     100 * f->idle);
}

static void say_why(const struct nn_plan *plan, const struct nn_rank_rate *p, struct nn_scaling *s)
{
	const struct nn_scaling_row *best = best_row(s);
	char one[NN_DURATION], many[NN_DURATION];

	if (nn_layout_in_parts(plan->layout))
		nn_text_addf(&s->why,
			     plan->layout->pipe
				     ? "%d stages, a rank each: memory is that of the rank that "
				       "takes most"
				     : "%d ranks share columns: memory is that of the rank that "
				       "takes most",
			     plan->layout->pipe ? plan->layout->pipe->stages
						: nn_tensor_ranks(plan->layout));
	else if (strcmp(nn_layout_name(plan->layout), nn_strategy_sync.name) != 0)
		nn_text_add(&s->why, "as asked for");
	say_asked(plan, s);
	if (nn_layout_in_parts(plan->layout))
		return;
	if (s->why.length > 0)
		nn_text_add(&s->why, "; with sync: ");
	if (isnan(p->alone_s))
		nn_text_add(&s->why, "one process: how long a step takes is not known here, so "
				     "nothing speaks for more ranks");
	else if (best->ranks == 1)
		say_stay(plan, p, s);
	else
		nn_text_addf(&s->why, "%d ranks: %.2f x one rank, a step in %s instead of %s",
			     best->ranks, best->speedup, nn_duration(many, best->step_s),
			     nn_duration(one, s->rows[0].step_s));
}

/* The strategy that was asked for, with as many ranks. */
static void estimate(struct nn_plan *plan, struct nn_rank_rate *p, int ranks, struct nn_scaling *s)
{
	s->asked = (struct nn_ranks_estimate){ .step_s = NAN, .bytes = NAN };
	if (ranks < 2)
		return;
	nn_link_get(ranks, &p->link);
	nn_ranks_estimate(plan, p, ranks, ranks, &s->asked);
}

void nn_scaling_make(struct nn_plan *plan, int ranks, bool fixed, struct nn_scaling *s)
{
	struct nn_rank_rate p = {
		.cores = nn_cpu_count(),
		.threads = nn_pool_threads(plan->task->pool),
		.fixed = fixed,
		.asked = ranks,
		.alone_s = plan->rate.step_s,
		.single_s = NAN,
		.full_s = NAN,
	};

	*s = (struct nn_scaling){ 0 };
	if (plan->task->recipe->leaves > 1 && !isnan(p.alone_s)) {
		p.single_s = p.threads == 1 ? p.alone_s : nn_forecast_step(plan, 1, true);
		p.full_s = p.threads == p.cores ? p.alone_s : nn_forecast_step(plan, p.cores, true);
	}
	s->threads = nn_rank_rate_threads(&p, ranks > 1 ? ranks : 1);
	estimate(plan, &p, ranks, s);
	list(plan, &p, ranks, s);
	say_why(plan, &p, s);
}
