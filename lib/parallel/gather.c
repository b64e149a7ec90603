/* Pieces of a block on their way between ranks, bucket by bucket. */
#include "base/clock.h"
#include "base/memory.h"
#include "parallel/gather.h"

int nn_gather_open(struct nn_gather *g, struct nn_sync_group *team,
		   const struct nn_buckets *buckets, struct nn_error *err)
{
	*g = (struct nn_gather){ .team = team, .buckets = buckets };
	g->coming = nn_alloc(nn_buckets_n(buckets), sizeof *g->coming, err);
	return g->coming ? 0 : -1;
}

void nn_gather_close(struct nn_gather *g)
{
	for (size_t i = 0; g->coming && i < nn_buckets_n(g->buckets); i++)
		nn_free(g->coming[i].requests);
	nn_free(g->coming);
	nn_free(g->sent.requests);
}

int nn_gather_begin(struct nn_gather *g, char *block, struct nn_error *err)
{
	struct nn_sync_group *team = g->team;

	g->left = nn_buckets_n(g->buckets);
	for (size_t i = g->left; i-- > 0;)
		for (int r = 0; r < team->comm->size; r++) {
			struct nn_shard theirs = nn_buckets_piece(team, g->buckets, i, r);
			struct nn_message message = { r, block + theirs.from * team->size,
						      theirs.n * team->size };

			if (r != team->comm->rank &&
			    nn_comm_post_receive(team->comm, &message, &g->coming[i], err) < 0)
				return -1;
		}
	return 0;
}

int nn_gather_send(struct nn_gather *g, char *block, size_t bucket, struct nn_error *err)
{
	struct nn_sync_group *team = g->team;
	struct nn_shard mine = nn_buckets_piece(team, g->buckets, bucket, team->comm->rank);

	for (int r = 0; r < team->comm->size; r++) {
		struct nn_message message = { r, block + mine.from * team->size,
					      mine.n * team->size };

		if (r != team->comm->rank && nn_comm_post(team->comm, &message, &g->sent, err) < 0)
			return -1;
	}
	return 0;
}

int nn_gather_until(struct nn_gather *g, size_t end, struct nn_error *err)
{
	struct nn_sync_group *team = g->team;

	while (g->left > 0 && nn_buckets_cut(g->buckets, g->left - 1).from < end)
		if (nn_comm_finish(team->comm, &g->coming[--g->left], err) < 0)
			return -1;
	return 0;
}

int nn_gather_end(struct nn_gather *g, double *seconds, struct nn_error *err)
{
	double start = nn_now_s();

	if (nn_gather_until(g, SIZE_MAX, err) < 0 ||
	    nn_comm_finish(g->team->comm, &g->sent, err) < 0)
		return -1;
	*seconds += nn_now_s() - start;
	return 0;
}
