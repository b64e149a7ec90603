/* Ranks of one training: which they are, where they run, and their times. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "train/ranks.h"

bool nn_train_first(const struct nn_train *t)
{
	return !t->comm || t->comm->rank == 0;
}

int nn_train_ranks(const struct nn_train *t)
{
	return t->comm ? t->comm->size : 1;
}

struct nn_comm *nn_train_sharers(const struct nn_train *t)
{
	return t->pipe ? t->pipe->side : t->tensor ? t->tensor->side : t->comm;
}

bool nn_train_in_parts(const struct nn_train *t)
{
	return t->pipe || t->tensor;
}

bool nn_train_gathers(const struct nn_train *t)
{
	return nn_train_sharers(t)->rank == 0 && (!t->tensor || t->tensor->columns.rank == 0);
}

static bool leads(const struct nn_train *t)
{
	return t->comm->rank % ((t->pipe ? t->pipe->stages : 1) * nn_tensor_ranks(t)) == 0;
}

struct nn_comm *nn_train_evaluators(const struct nn_train *t)
{
	if (nn_train_ranks(t) == 1 || t->strategy->run)
		return NULL;
	if (!nn_train_in_parts(t))
		return t->comm;
	return leads(t) && nn_train_sharers(t)->size > 1 && t->n_valid > NN_METRICS_BLOCK
		       ? nn_train_sharers(t)
		       : NULL;
}

bool nn_train_evaluates(const struct nn_train *t)
{
	return t->n_valid > 0 &&
	       (nn_train_first(t) || !nn_train_in_parts(t) || nn_train_evaluators(t));
}

/* ---- times ---- */

struct nn_rank_times nn_train_times(const struct nn_train *t)
{
	struct nn_rank_times times = { .pid = (long)getpid(),
				       .compute_s = t->compute_s,
				       .comm_s = t->comm_s,
				       .wait_s = t->wait_s,
				       .bytes = nn_train_ranks(t) > 1 ? nn_memory_share() : 0 };

	if (gethostname(times.host, sizeof times.host - 1) < 0)
		times.host[0] = '\0';
	if (nn_train_ranks(t) == 1)
		times.wait_s = t->input_s; /* alone it waits for data only */
	return times;
}

int nn_train_gather_times(struct nn_train *t, struct nn_error *err)
{
	struct nn_rank_times mine = nn_train_times(t);

	if (t->strategy->run) { /* this rank is alone here; the others have told theirs */
		if (t->ranks && t->comm->size > 1) {
			mine.bytes = 0;
			t->ranks[t->comm->rank] = mine;
		}
		return 0;
	}
	if (!t->ranks && !(t->ranks = nn_alloc((size_t)nn_train_ranks(t), sizeof *t->ranks, err)))
		return -1;
	if (nn_train_ranks(t) == 1) {
		t->ranks[0] = mine;
		return 0;
	}
	return nn_comm_gather(t->comm, &mine, t->ranks, sizeof mine, err);
}

int nn_train_share_times(struct nn_train *t, struct nn_error *err)
{
	struct nn_rank_times mine = nn_train_times(t);
	size_t n = (size_t)nn_train_ranks(t);

	mine.bytes = 0; /* not all is taken yet */
	if (n == 1)
		return 0;
	if (!t->ranks && !(t->ranks = nn_alloc(n, sizeof *t->ranks, err)))
		return -1;
	return nn_comm_gather(t->comm, &mine, t->ranks, sizeof mine, err);
}

size_t nn_train_host_bytes(const struct nn_train *t)
{
	size_t bytes = 0;

	for (int r = 0; t->ranks && nn_train_ranks(t) > 1 && r < nn_train_ranks(t); r++)
		bytes += strcmp(t->ranks[r].host, t->ranks[t->comm->rank].host) == 0
				 ? t->ranks[r].bytes
				 : 0;
	return bytes;
}

/* ---- placement ---- */

/* The host by its name, and the processors this process may use: what ranks on the same cores have
 * in common. */
struct place {
	uint64_t host, cores;
};

static struct place place(void)
{
	char host[256] = "";
	cpu_set_t set;
	struct place at = { NN_FNV1A, 0 };

	if (gethostname(host, sizeof host - 1) == 0)
		at.host = nn_fnv1a(at.host, host, strlen(host));
	at.cores = sched_getaffinity(0, sizeof set, &set) == 0 ? nn_fnv1a(at.host, &set, sizeof set)
							       : at.host;
	return at;
}

int nn_train_sharing(struct nn_train *t, struct nn_error *err)
{
	size_t n = (size_t)nn_train_ranks(t);
	struct place mine = place(), *all;
	int status = -1;

	t->sharing = t->on_host = 1;
	if (n == 1)
		return 0;
	if (!(all = nn_alloc(n, sizeof *all, err)))
		return -1;
	status = nn_comm_gather(t->comm, &mine, all, sizeof mine, err);
	t->sharing = t->on_host = 0;
	for (size_t i = 0; i < n; i++) {
		t->sharing += all[i].cores == mine.cores;
		t->on_host += all[i].host == mine.host;
	}
	nn_free(all);
	return status;
}
