/* The times of ranks. */
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "parallel/ranks.h"

struct nn_rank_times nn_worker_times(const struct nn_worker *w)
{
	struct nn_rank_times times = { .pid = (long)getpid(),
				       .compute_s = w->compute_s,
				       .comm_s = w->comm_s,
				       .wait_s = w->wait_s,
				       .bytes = nn_layout_ranks(w->layout) > 1 ? nn_memory_share()
									       : 0 };

	if (gethostname(times.host, sizeof times.host - 1) < 0)
		times.host[0] = '\0';
	if (nn_layout_ranks(w->layout) == 1)
		times.wait_s = w->input_s; /* alone it waits for data only */
	return times;
}

int nn_worker_gather_times(struct nn_worker *w, struct nn_error *err)
{
	struct nn_rank_times mine = nn_worker_times(w);

	if (w->layout->strategy->run) { /* only this rank's are known; the others have sent theirs */
		if (w->ranks && w->layout->comm->size > 1) {
			mine.bytes = 0;
			w->ranks[w->layout->comm->rank] = mine;
		}
		return 0;
	}
	if (!w->ranks &&
	    !(w->ranks = nn_alloc((size_t)nn_layout_ranks(w->layout), sizeof *w->ranks, err)))
		return -1;
	if (nn_layout_ranks(w->layout) == 1) {
		w->ranks[0] = mine;
		return 0;
	}
	return nn_comm_all_gather(w->layout->comm, &mine, w->ranks, sizeof mine, err);
}

int nn_worker_share_times(struct nn_worker *w, struct nn_error *err)
{
	struct nn_rank_times mine = nn_worker_times(w);
	size_t n = (size_t)nn_layout_ranks(w->layout);

	mine.bytes = 0; /* not all is taken yet */
	if (n == 1)
		return 0;
	if (!w->ranks && !(w->ranks = nn_alloc(n, sizeof *w->ranks, err)))
		return -1;
	return nn_comm_all_gather(w->layout->comm, &mine, w->ranks, sizeof mine, err);
}

size_t nn_worker_host_bytes(const struct nn_worker *w)
{
	size_t bytes = 0;

	for (int r = 0;
	     w->ranks && nn_layout_ranks(w->layout) > 1 && r < nn_layout_ranks(w->layout); r++)
		bytes += strcmp(w->ranks[r].host, w->ranks[w->layout->comm->rank].host) == 0
				 ? w->ranks[r].bytes
				 : 0;
	return bytes > 0 ? bytes + nn_memory_files() : 0;
}
