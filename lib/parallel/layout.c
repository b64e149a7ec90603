/* Ranks of one training: which they are, and where they run. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "parallel/layout.h"
#include "predict/score/metrics.h"

bool nn_layout_first(const struct nn_layout *l)
{
	return !l->comm || l->comm->rank == 0;
}

int nn_layout_ranks(const struct nn_layout *l)
{
	return l->comm ? l->comm->size : 1;
}

struct nn_comm *nn_layout_sharers(const struct nn_layout *l)
{
	return l->pipe ? l->pipe->side : l->tensor ? l->tensor->side : l->comm;
}

bool nn_layout_in_parts(const struct nn_layout *l)
{
	return l->pipe || l->tensor;
}

int nn_layout_n_sharers(const struct nn_layout *l)
{
	const struct nn_comm *comm = nn_layout_sharers(l);

	return comm ? comm->size : l->as.ranks > 0 ? l->as.ranks : 1;
}

int nn_tensor_ranks(const struct nn_layout *l)
{
	return l->tensor ? l->tensor->columns.ranks : 1;
}

int nn_layout_parts(const struct nn_layout *l)
{
	return (l->pipe ? l->pipe->stages : 1) * nn_tensor_ranks(l);
}

bool nn_layout_gathers(const struct nn_layout *l)
{
	return nn_layout_sharers(l)->rank == 0 && (!l->tensor || l->tensor->columns.rank == 0);
}

static bool leads(const struct nn_layout *l)
{
	return l->comm->rank % nn_layout_parts(l) == 0;
}

struct nn_comm *nn_layout_evaluators(const struct nn_layout *l, uint64_t n)
{
	if (nn_layout_ranks(l) == 1 || l->strategy->run)
		return NULL;
	if (!nn_layout_in_parts(l))
		return l->comm;
	return leads(l) && nn_layout_sharers(l)->size > 1 && n > NN_METRICS_BLOCK
		       ? nn_layout_sharers(l)
		       : NULL;
}

bool nn_layout_evaluates(const struct nn_layout *l, uint64_t n)
{
	return n > 0 &&
	       (nn_layout_first(l) || !nn_layout_in_parts(l) || nn_layout_evaluators(l, n));
}

/* ---- placement ---- */

/*
 * The host by its name, and the processors this process may use: what ranks on the same cores have
 * in common.
 */
struct host_place {
	uint64_t host, cores;
};

static struct host_place place(void)
{
	char host[256] = "";
	cpu_set_t set;
	struct host_place at = { NN_FNV1A, 0 };

	if (gethostname(host, sizeof host - 1) == 0)
		at.host = nn_fnv1a(at.host, host, strlen(host));
	at.cores = sched_getaffinity(0, sizeof set, &set) == 0 ? nn_fnv1a(at.host, &set, sizeof set)
							       : at.host;
	return at;
}

int nn_layout_find_sharing(struct nn_layout *l, struct nn_error *err)
{
	size_t n = (size_t)nn_layout_ranks(l);
	struct host_place mine = place(), *all;
	int status = -1;

	l->sharing = l->on_host = 1;
	if (n == 1)
		return 0;
	if (!(all = nn_alloc(n, sizeof *all, err)))
		return -1;
	status = nn_comm_all_gather(l->comm, &mine, all, sizeof mine, err);
	l->sharing = l->on_host = 0;
	for (size_t i = 0; i < n; i++) {
		l->sharing += all[i].cores == mine.cores;
		l->on_host += all[i].host == mine.host;
	}
	nn_free(all);
	return status;
}

const char *nn_layout_name(const struct nn_layout *l)
{
	if (l->pipe)
		return "pipeline";
	if (l->tensor)
		return "tensor";
	return l->options->strategy ? l->options->strategy : l->strategy->name;
}
