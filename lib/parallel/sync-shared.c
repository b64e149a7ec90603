/*
 * Ranks of one host: parameters and slots are there once, for all, and gradients are read where
 * they were computed. A rank adds up its shard piece by piece, while a piece is in cache, and
 * updates it; nothing is copied, and what travels are cache lines.
 *
 * Small networks live in the caches of a core, where lines that another core has read or written
 * are dear: 784-128-10 with 128 rows took 510 us of computing on each of two ranks in place of 290.
 * There each rank has its own parameters and gradients, and what others need is copied, which reads
 * and writes in order.
 *
 * Ranks of one host share parameters and slots, unless MPI was told to use no shared memory (--mca
 * btl); gradients are read where they were computed. Up to 2 MiB of parameters are copied instead.
 */
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "parallel/sync-group.h"

#define PIECE ((size_t)16384) /* elements at a time: some fit into the cache of a core */
#define ALIGN ((size_t)256)
#define SMALL ((size_t)2 << 20) /* bytes of parameters up to which they are copied */

struct nn_sync_shared {
	struct nn_shared *window;
	bool copies;
	char *weights; /* copies: a block under way */
	char *sum;     /* a block: the gradient, where norms are asked for */
	struct rank_memory {
		char *gradients, *kept;
		struct nn_rank_report *reports;
	} * ranks;
	size_t block_bytes, depth; /* depth: sums of a piece that wait */
	char *scratch;             /* [threads][depth][PIECE] */
};

/* ---- the window ---- */

/* A part of the window; at NULL it is only counted. */
static void *part(char *at, size_t *end, size_t bytes)
{
	void *memory = at ? at + *end : NULL;

	*end += (bytes + ALIGN - 1) / ALIGN * ALIGN;
	return memory;
}

bool nn_sync_shared_copies(size_t bytes)
{
	return bytes <= SMALL;
}

static size_t lay_out(struct nn_sync_group *team, const struct nn_step_options *o,
		      const struct nn_step_sizes *s, char *at)
{
	struct nn_sync_shared *shared = team->shared;
	struct nn_step_place *place = &team->place;
	size_t end = 0;

	shared->copies = nn_sync_shared_copies(s->weights);
	if (shared->copies)
		shared->weights = part(at, &end, s->block);
	else
		place->weights = part(at, &end, s->weights);
	place->optimizer.slots = part(at, &end, s->slots * s->block);
	place->optimizer.direction =
		nn_optimizer_steps_along(o->optimizer.kind) ? part(at, &end, s->block) : NULL;
	place->weight_table = part(at, &end, s->weight_table);
	place->figures = part(at, &end, s->figures);
	place->statistics = s->statistics ? part(at, &end, s->statistics) : NULL;
	place->follows = !shared->copies && team->comm->rank > 0;
	shared->sum = part(at, &end, s->block);
	for (int r = 0; r < team->comm->size; r++) {
		struct rank_memory *rank = &shared->ranks[r];

		rank->reports = part(at, &end, sizeof *rank->reports);
		rank->gradients = part(at, &end, s->block);
		rank->kept = part(at, &end, nn_step_kept(o, r) * s->block);
	}
	if (shared->copies)
		return end;
	place->gradients = shared->ranks[team->comm->rank].gradients;
	place->kept = shared->ranks[team->comm->rank].kept;
	return end;
}

static void shared_close(struct nn_sync_group *team)
{
	struct nn_sync_shared *shared = team->shared;

	if (!shared)
		return;
	nn_shared_close(shared->window);
	nn_free(shared->ranks);
	nn_free(shared->scratch);
	nn_free(shared);
	team->shared = NULL;
}

bool nn_sync_is_shared(const struct nn_worker *w)
{
	return w->team && w->team->shared;
}

void nn_sync_reset_slots(struct nn_worker *w)
{
	struct nn_shard mine =
		nn_sync_is_shared(w) ? w->team->mine : (struct nn_shard){ 0, SIZE_MAX };

	nn_optimizer_reset(nn_step_optimizer(w->step), mine.from, mine.from + mine.n);
}

/* Parameters that all ranks see were loaded by each. */
static int shared_begin(struct nn_worker *w, struct nn_error *err)
{
	(void)err;
	nn_shared_barrier(w->team->shared->window);
	return 0;
}

/* ---- a step ---- */

static void wait_for_all(struct nn_sync_group *team, struct nn_step_result *result)
{
	double start = nn_now_s();

	nn_shared_barrier(team->shared->window);
	result->wait_s += nn_now_s() - start;
}

static int shared_share_weights(struct nn_worker *w, const struct nn_step_tables *tables,
				struct nn_step_result *result, struct nn_error *err)
{
	(void)err;
	if (tables->weighs)
		wait_for_all(w->team, result);
	return 0;
}

static bool is_last(const struct nn_sync_group *team, size_t k)
{
	return k + 1 == team->n_sums || team->sums[k + 1].rank != team->sums[k].rank;
}

/* Where the sum lies that a rank has: the last of its own in its gradients, the others kept. */
static char *where(const struct nn_sync_group *team, size_t k)
{
	const struct nn_sync_sum *s = &team->sums[k];
	const struct rank_memory *rank = &team->shared->ranks[s->rank];

	return is_last(team, k) ? rank->gradients
				: rank->kept + s->index * team->shared->block_bytes;
}

/* This rank's sums to where others read them, but for its own shard. */
static void copy_out(struct nn_worker *w, struct nn_step_result *result)
{
	struct nn_sync_group *team = w->team;
	double start = nn_now_s();
	size_t before = team->mine.from * team->size,
	       after = (team->mine.from + team->mine.n) * team->size;

	for (size_t k = 0; k < team->n_sums; k++)
		if (team->sums[k].rank == team->comm->rank) {
			const char *sum = nn_step_sum(w->step, team->sums[k].index);

			nn_copy_away(where(team, k), sum, before);
			nn_copy_away(where(team, k) + after, sum + after,
				     team->elements * team->size - after);
		}
	result->comm_s += nn_now_s() - start;
}

static int shared_exchange_reports(struct nn_worker *w, const struct nn_step_tables *tables,
				   struct nn_step_result *result, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;

	(void)tables;
	(void)err;
	if (team->shared->copies)
		copy_out(w, result);
	*team->shared->ranks[team->comm->rank].reports = team->reports[team->comm->rank];
	wait_for_all(team, result);
	for (int r = 0; r < team->comm->size; r++)
		team->reports[r] = *team->shared->ranks[r].reports;
	return 0;
}

struct sweep {
	struct nn_worker *worker;
	bool whole;    /* into shared->sum; else update at once */
	double comm_s; /* of the first thread */
};

/* The sum of elements from..from+n-1 along the tree of leaves; scratch: depth pieces. */
static const char *add_up(const struct nn_worker *w, size_t from, size_t n, char *scratch)
{
	const struct nn_sync_group *team = w->team;
	const char *stack[64];
	size_t depth = 0, bytes = n * team->size, at = from * team->size;

	for (size_t k = 0; k < team->n_sums; k++) {
		bool own = team->shared->copies && team->sums[k].rank == team->comm->rank;

		stack[depth++] =
			(own ? (char *)nn_step_sum(w->step, team->sums[k].index) : where(team, k)) +
			at;
		for (size_t node = team->sums[k].node.node; node & 1; node >>= 1) {
			char *left = scratch + (depth - 2) * PIECE * team->size;

			if (stack[depth - 2] != left)
				memcpy(left, stack[depth - 2], bytes);
			w->task->device->add(NULL, left, stack[depth - 1], n, NULL);
			stack[--depth - 1] = left;
		}
	}
	return stack[0];
}

static void sweep_piece(void *arg, size_t i, int thread)
{
	struct sweep *sweep = arg;
	struct nn_worker *w = sweep->worker;
	struct nn_sync_group *team = w->team;
	struct nn_sync_shared *shared = team->shared;
	size_t at = i * PIECE, n = team->mine.n - at < PIECE ? team->mine.n - at : PIECE,
	       from = team->mine.from + at;
	double start = nn_now_s();
	const char *sum = add_up(
		w, from, n, shared->scratch + (size_t)thread * shared->depth * PIECE * team->size);

	if (sweep->whole)
		memcpy(shared->sum + from * team->size, sum, n * team->size);
	if (thread == 0)
		sweep->comm_s += nn_now_s() - start;
	if (!sweep->whole)
		nn_optimizer_apply(nn_step_optimizer(w->step), sum, from, from + n, NULL);
}

static void sweep(struct nn_worker *w, bool whole, struct nn_step_result *result)
{
	struct sweep s = { .worker = w, .whole = whole };

	if (w->team->mine.n > 0)
		nn_pool_run(w->task->pool, (w->team->mine.n + PIECE - 1) / PIECE, sweep_piece, &s);
	result->comm_s += s.comm_s;
}

/* What messages would have sent and received: sums of shards, and shards of `blocks` blocks. */
static void count_bytes(struct nn_sync_group *team, size_t blocks)
{
	size_t own = 0, others = team->elements - team->mine.n, n = (size_t)team->comm->size;

	for (size_t k = 0; k < team->n_sums; k++)
		own += team->sums[k].rank == team->comm->rank;
	nn_comm_count(team->comm, team->size * ((team->n_sums - own) * team->mine.n + own * others +
						blocks * (team->mine.n * (n - 1) + others)));
}

/* This rank's shard of the parameters to the others, and theirs to here. */
static void copy_weights(struct nn_worker *w, struct nn_step_result *result)
{
	struct nn_sync_group *team = w->team;
	char *weights = nn_graph_weights(nn_step_graph(w->step)), *shared = team->shared->weights;
	size_t before = team->mine.from * team->size, n = team->mine.n * team->size,
	       after = before + n;
	double start = nn_now_s(), middle;

	nn_copy_away(shared + before, weights + before, n);
	result->comm_s += nn_now_s() - start;
	wait_for_all(team, result);
	middle = nn_now_s();
	memcpy(weights, shared, before);
	memcpy(weights + after, shared + after, team->elements * team->size - after);
	result->comm_s += nn_now_s() - middle;
}

static int shared_update(struct nn_worker *w, const struct nn_strategy_update *u, bool norm,
			 struct nn_step_result *result, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	struct nn_optimizer *o = nn_step_optimizer(w->step);
	size_t from = team->mine.from, to = from + team->mine.n;
	bool measures = norm || nn_optimizer_wants_norm(o),
	     directed = nn_optimizer_has_direction(o);
	bool whole = measures || directed || nn_step_parts(w->step)->part_rows > 0;
	double start = nn_now_s(), waited = result->wait_s, sent = result->comm_s;

	count_bytes(team, 1 + whole + directed);
	nn_optimizer_begin(o, u->number, u->lr);
	sweep(w, whole, result);
	if (whole)
		wait_for_all(team, result);
	nn_step_noise_of(w->step, team->shared->sum, result);
	if (measures && nn_optimizer_measure_gradient(o, team->shared->sum, err) < 0)
		return -1;
	if (norm)
		result->norm = nn_optimizer_norm(o);
	if (!team->place.follows && nn_optimizer_tables(o, err) < 0)
		return -1;
	if (directed) {
		nn_optimizer_compute_direction(o, team->shared->sum, from, to);
		wait_for_all(team, result);
	}
	if (nn_optimizer_has_trust_ratio(o)) {
		if (nn_optimizer_measure_weights(o, err) < 0)
			return -1;
		wait_for_all(team, result);
	}
	if (whole)
		nn_optimizer_apply(o, team->shared->sum + from * team->size, from, to,
				   w->task->pool);
	if (team->shared->copies)
		copy_weights(w, result);
	else
		wait_for_all(team, result);
	nn_graph_refresh(nn_step_graph(w->step));
	result->compute_s +=
		nn_now_s() - start - (result->wait_s - waited) - (result->comm_s - sent);
	return 0;
}

static const struct nn_sync_transport transport = {
	.open = shared_begin,
	.share_weights = shared_share_weights,
	.exchange_reports = shared_exchange_reports,
	.update = shared_update,
	.close = shared_close,
};

int nn_sync_shared_open(struct nn_worker *w, const struct nn_step_options *o, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	struct nn_sync_shared *shared;
	struct nn_step_sizes s;
	size_t threads = (size_t)nn_pool_threads(w->task->pool);

	if (w->task->device->remote || nn_step_sizes(o, &s, err) < 0)
		return w->task->device->remote ? 0 : -1;
	shared = team->shared = nn_alloc(1, sizeof *shared, err);
	if (!shared)
		return -1;
	shared->block_bytes = s.block;
	for (size_t n = 1; n < 2 * o->leaves; n *= 2)
		shared->depth++;
	shared->ranks = nn_alloc((size_t)team->comm->size, sizeof *shared->ranks, err);
	shared->scratch = nn_alloc(threads * shared->depth, PIECE * team->size, err);
	if (!shared->ranks || !shared->scratch ||
	    nn_shared_open(&shared->window, team->comm, lay_out(team, o, &s, NULL), err) < 0)
		return -1;
	if (shared->window) {
		lay_out(team, o, &s, nn_shared_memory(shared->window));
		team->transport = &transport;
	} else {
		shared_close(team);
		team->place = (struct nn_step_place){ 0 };
	}
	return 0;
}
