/* Before ranks reduce together: do they have the same options and program? */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "reduce/rank.h"

/* What all ranks have to have alike; the rest is a rank's own. */
static const char *const names[] = { "op",    "algorithm", "stream",      "bench",
				     "sizes", "precision", "reproducible" };

#define N_NAMES (sizeof names / sizeof *names)

/* What a rank is asked to do. */
struct task {
	uint64_t program;
	char value[N_NAMES][128]; /* as the user would type it, cut */
};

static void describe(const struct nn_opt_list *list, struct task *task)
{
	memset(task, 0, sizeof *task);
	task->program = nn_comm_program();
	for (size_t i = 0; i < N_NAMES; i++)
		nn_opt_text(list, names[i], task->value[i], sizeof task->value[i]);
}

static int compare(const struct task *task, const struct task *first, int rank,
		   struct nn_error *err)
{
	for (size_t i = 0; i < N_NAMES; i++)
		if (strcmp(task->value[i], first->value[i]) != 0)
			return nn_fail(err, NN_EUSAGE, "rank %d has --%s=%s, rank 0 --%s=%s", rank,
				       names[i], task->value[i], names[i], first->value[i]);
	if (task->program != first->program)
		return nn_fail(err, NN_EFAIL, "rank %d is another build of nntools than rank 0",
			       rank);
	return 0;
}

int nn_rank_agree(struct nn_rank *r, struct nn_error *err)
{
	struct task mine, *all;
	int status = 0;

	if (r->comm->size == 1)
		return 0;
	describe(r->job->list, &mine);
	all = nn_alloc((size_t)r->comm->size, sizeof *all, err);
	if (!all || nn_comm_all_gather(r->comm, &mine, all, sizeof mine, err) < 0)
		status = -1;
	for (int i = 1; i < r->comm->size && status == 0; i++)
		status = nn_rank_said_by_first(r, compare(&all[i], &all[0], i, err), err);
	nn_free(all);
	return status;
}
