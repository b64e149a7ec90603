/*
 * Of the memory of a rank, what ranks of its host have in common: their window, and the pages of
 * files.
 */
#include "base/memory.h"
#include "plan/fit-inside.h"
#include "comm/shared.h"
#include "parallel/strategy.h"
#include "parallel/sync-group.h"

/* What MPI adds to a process: seen with Open MPI 4.1.4. */
#define MPI_BYTES ((size_t)4 << 20)
#define MPI_FILE_BYTES ((size_t)8 << 20)

/*
 * Can ranks of a strategy see memory together: parameters, slots and gradients in a window, or what
 * goes through one?
 */
static bool has_window(const struct nn_plan *plan)
{
	return nn_layout_n_sharers(plan->layout) > 1 && nn_comm_shares_memory() &&
	       plan->layout->on_host >= (plan->layout->comm ? plan->layout->comm->size
							    : nn_layout_n_sharers(plan->layout));
}

size_t nn_fit_mpi_bytes(const struct nn_plan *plan)
{
	return !plan->layout->comm && plan->layout->on_host > 1 ? MPI_BYTES + MPI_FILE_BYTES : 0;
}

/*
 * Touched by this rank: all parameters, the slots of its shard (all of them where it writes
 * states), its own sums, its shard of the others', and the sum where norms are asked for. See
 * near.c.
 */
static void in_window(const struct nn_step_options *o, const struct nn_step_sizes *s, bool states,
		      bool sum, bool norms, struct nn_fit *fit)
{
	bool copies = nn_sync_shared_copies(s->weights);
	struct nn_shard kept = nn_shard_of(s->elements, o->shards ? o->shard : 0,
					   o->shards ? o->shards : 1); /* counted */
	size_t ranks = (size_t)o->ranks, own = 1 + nn_step_kept(o, o->rank),
	       of_others = nn_step_others(o, o->rank);
	size_t slots = s->slots * s->block, others, touched;
	size_t both = (copies ? s->block : s->weights) +
		      (nn_optimizer_steps_along(o->optimizer.kind) ? s->block : 0) +
		      (sum ? s->block : 0);

	if (s->elements == 0) /* tables alone, which lie elsewhere */
		return;
	others = of_others * (s->block / ranks);
	touched = states ? slots : slots / ranks;
	fit->window = both + touched + own * s->block + others;
	fit->window_all = both + slots + (own + of_others) * s->block;
	fit->optimizer = fit->optimizer - s->slots * kept.n * (s->block / s->elements) + touched +
			 (norms ? s->block : 0);
	fit->parameters += copies ? s->block : 0;
	fit->gradients += others + (copies ? own * s->block : 0);
}

/*
 * By messages: room for the sums of others, of the own shard; of master rank 0 has one of all. What
 * comes over TCP before this rank is there to receive it Open MPI keeps: between nothing and all
 * the parameters that others make.
 */
static void in_messages(const struct nn_step_options *o, const struct nn_step_sizes *s, bool master,
			bool tcp, struct nn_fit *fit)
{
	size_t ranks = (size_t)o->ranks,
	       made = master ? (o->rank == 0 ? s->block : 0) : s->block / ranks;

	if (!master || o->rank == 0)
		fit->gradients += nn_step_others(o, o->rank) * (s->block / (master ? 1 : ranks));
	if (tcp)
		fit->other += (s->block - made) / 2;
}

/*
 * Of async the server sees a block for each computing rank, these their own, where they are small.
 */
static void in_rooms(const struct nn_plan *plan, const struct nn_step_sizes *s, struct nn_fit *fit)
{
	size_t computing = (size_t)nn_layout_n_sharers(plan->layout) - 1;
	bool server = plan->layout->as.ranks > 0 ? plan->layout->as.rank == 0
						 : nn_layout_first(plan->layout);

	if (!has_window(plan) || !nn_sync_shared_copies(s->weights))
		return;
	fit->window_all = computing * s->block;
	fit->window = server ? fit->window_all : s->block;
	fit->other += fit->window;
}

int nn_fit_share(const struct nn_plan *plan, const struct nn_step_options *o, bool sum, bool norms,
		 struct nn_fit *fit, struct nn_error *err)
{
	struct nn_step_sizes sizes;
	const struct nn_strategy *strategy = plan->layout->strategy;

	fit->window = fit->window_all = 0;
	fit->files = nn_memory_files() + (nn_fit_mpi_bytes(plan) ? MPI_FILE_BYTES : 0);
	if (nn_layout_n_sharers(plan->layout) < 2)
		return 0;
	if (nn_step_sizes(o, &sizes, err) < 0)
		return -1;
	if (strategy->whole)
		in_rooms(plan, &sizes, fit);
	else if (strategy->alone && has_window(plan))
		fit->other += fit->window = fit->window_all =
			nn_shared_sum_bytes(o->ranks, sizes.block);
	else if (strategy->alone)
		return 0;
	else if (!strategy->messages && !plan->task->device->remote && has_window(plan))
		in_window(o, &sizes, plan->budget->keeps_state, sum, norms, fit);
	else
		in_messages(o, &sizes, strategy->served,
			    !nn_comm_shares_memory() || plan->layout->on_host < o->ranks, fit);
	return 0;
}

static size_t own(const struct nn_fit *fit)
{
	size_t common = fit->window + fit->files;

	return fit->total > common ? fit->total - common : 0;
}

int nn_fit_gather(struct nn_plan *plan, struct nn_error *err)
{
	struct {
		size_t host, device;
	} mine = { own(&plan->fit) +
			   plan->fit.window_all / (size_t)nn_layout_n_sharers(plan->layout),
		   plan->fit.device / (size_t)plan->layout->on_host },
	  *all;
	size_t n = (size_t)nn_layout_ranks(plan->layout);
	int status = -1;

	if (!nn_layout_in_parts(plan->layout) || !plan->layout->comm ||
	    plan->layout->on_host < plan->layout->comm->size)
		return 0;
	if ((all = nn_alloc(n, sizeof *all, err)) &&
	    (status = nn_comm_all_gather(plan->layout->comm, &mine, all, sizeof mine, err)) == 0) {
		plan->fit.host = plan->fit.files;
		plan->fit.device = 0;
		for (size_t i = 0; i < n; i++) {
			plan->fit.host += all[i].host;
			plan->fit.device += all[i].device;
		}
	}
	nn_free(all);
	return status;
}

void nn_fit_host(const struct nn_plan *plan, const struct nn_fit *first, const struct nn_fit *other,
		 struct nn_fit *fit)
{
	size_t ranks = (size_t)plan->layout->on_host /
		       (plan->layout->comm ? 1 : (size_t)nn_layout_parts(plan->layout));
	bool has_first = plan->layout->comm
				 ? nn_layout_first(plan->layout) ||
					   plan->layout->on_host == plan->layout->comm->size
				 : true;

	fit->host =
		own(other) * (ranks - has_first) + (has_first ? own(first) : 0) + fit->window_all;
	fit->device *= ranks;
}
