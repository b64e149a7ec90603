/*
 * The pace of one rank of several: threads share a part of a step, and ranks that share cores take
 * turns on them.
 */
#include <math.h>

#include "plan/plan.h"
#include "plan/rank-rate.h"

int nn_rank_rate_threads(const struct nn_rank_rate *p, int ranks)
{
	if (p->fixed || ranks == 1)
		return p->threads;
	return p->cores > ranks ? p->cores / ranks : 1;
}

/* A part that threads share and one that they do not, through the two that are known. */
double nn_rank_rate_step(const struct nn_rank_rate *p, int threads)
{
	if (threads == p->threads)
		return p->alone_s;
	if (threads == 1 || p->cores == 1)
		return p->single_s;
	if (threads >= p->cores)
		return p->full_s;
	return p->single_s - (p->single_s - p->full_s) / (1 - 1.0 / p->cores) * (1 - 1.0 / threads);
}

double nn_rank_rate_largest(const struct nn_plan *plan, int ranks)
{
	double leaves = (double)plan->task->recipe->leaves;

	return ceil(leaves / ranks) / leaves;
}

/*
 * Computing goes by the largest share, and cores are shared where there are fewer of them. Ranks do
 * not compute faster than as many threads of one process: memory is shared by both. sharing: how
 * many of the ranks are on these cores.
 */
double nn_rank_rate_share(const struct nn_plan *plan, const struct nn_rank_rate *p, int ranks,
			  int sharing)
{
	int threads = nn_rank_rate_threads(p, sharing),
	    all = threads < p->cores ? sharing * threads : p->cores;
	double share = nn_rank_rate_largest(plan, ranks),
	       busy = fmax((double)sharing * (threads < p->cores ? threads : p->cores) / p->cores,
			   1);
	double by_rank = nn_rank_rate_step(p, threads) * share * busy,
	       together = nn_rank_rate_step(p, all < p->cores ? all : p->cores) * share * sharing;

	if (isnan(by_rank))
		return NAN;
	return fmax(by_rank, together);
}
