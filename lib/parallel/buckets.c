/*
 * Buckets: where the block is cut, messages that leave from within backward, and sums of what came,
 * along the tree of leaves.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "comm/pump.h"
#include "comm/link.h"
#include "parallel/buckets.h"

/*
 * A bucket is closed where a parameter begins, once it is large enough: little at first, since
 * the first gradients are there early and wait for nothing, then what takes LATENCIES times as long
 * as a message without bytes; USUAL where that is not known. What is larger than MOST is cut.
 */
#define FIRST ((size_t)1 << 20)
#define USUAL ((size_t)4 << 20)
#define MOST ((size_t)25 << 20)
#define LATENCIES 32
#define GRAIN 16 /* elements: whole lines of memory */

struct nn_buckets {
	struct nn_worker *worker;
	struct nn_shard *cuts; /* [n] of the block, the last first */
	size_t n;
	size_t *before; /* [n] elements of this rank's pieces of the buckets before */
	size_t others;  /* sums of other ranks, at most */
	char *room;     /* [own elements][others] */
	/* [own sums at most] sums on their way from the device; NULL: they are the host's */
	struct nn_mirror *sums;
	size_t n_sums;
	struct nn_posted *posted; /* [n] messages that are under way */
	struct nn_pump *pump;

	/* the batch under way: the last sum that is final, and the next to be sent */
	size_t sum, next;
	int status;
	struct nn_error err;
};

size_t nn_buckets_n(const struct nn_buckets *b)
{
	return b->n;
}

struct nn_shard nn_buckets_cut(const struct nn_buckets *b, size_t i)
{
	return b->cuts[i];
}

static struct nn_shard both(struct nn_shard a, struct nn_shard b)
{
	size_t from = a.from > b.from ? a.from : b.from,
	       end = a.from + a.n < b.from + b.n ? a.from + a.n : b.from + b.n;

	return (struct nn_shard){ from, end > from ? end - from : 0 };
}

struct nn_shard nn_buckets_piece(const struct nn_sync_group *team, const struct nn_buckets *b,
				 size_t i, int r)
{
	struct nn_shard cut = b->cuts[i];
	size_t n = (size_t)team->comm->size, k = (size_t)r, grains = cut.n / GRAIN,
	       from = k * grains / n * GRAIN;

	if (team->master || team->sharded)
		return both(cut, nn_sync_shard(team, r));
	return (struct nn_shard){ cut.from + from,
				  (k + 1 == n ? cut.n : (k + 1) * grains / n * GRAIN) - from };
}

/* ---- where the block is cut ---- */

static void choose_sizes(const struct nn_sync_group *team, uint64_t given,
			 struct nn_bucket_sizes *s)
{
	struct nn_link link;
	double bytes = USUAL;

	if (given) {
		*s = (struct nn_bucket_sizes){ given, given, given };
		return;
	}
	if (nn_link_known(team->comm->size, &link))
		bytes = LATENCIES * link.message_s / fmax(link.byte_s, 1e-12);
	*s = (struct nn_bucket_sizes){ FIRST, (uint64_t)fmin(fmax(bytes, FIRST), MOST), MOST };
}

int nn_bucket_sizes(const struct nn_sync_group *team, uint64_t given, struct nn_bucket_sizes *sizes,
		    struct nn_error *err)
{
	if (team->comm->rank == 0)
		choose_sizes(team, given, sizes);
	return nn_comm_broadcast(team->comm, 0, sizes, sizeof *sizes, err);
}

static int add_cut(struct nn_buckets *b, size_t from, size_t *end, struct nn_error *err)
{
	struct nn_shard *grown = b->cuts;

	if ((b->n & (b->n - 1)) == 0 &&
	    !(grown = nn_realloc(b->cuts, b->n * sizeof *grown,
				 (b->n ? 2 * b->n : 1) * sizeof *grown, err)))
		return -1;
	b->cuts = grown;
	b->cuts[b->n++] = (struct nn_shard){ from, *end - from };
	*end = from;
	return 0;
}

static int cut_block(struct nn_buckets *b, const struct nn_bucket_sizes *s, struct nn_error *err)
{
	const struct nn_worker *w = b->worker;
	size_t end = w->team->elements, size = w->team->size, most = s->most / size / GRAIN * GRAIN,
	       at, packed;

	for (int p = w->task->program->n_params; p-- > 0;) {
		if (!nn_graph_place(nn_step_graph(w->step), p, &at, &packed))
			continue;
		while (end > at && end - at > most)
			if (add_cut(b, end - most, &end, err) < 0)
				return -1;
		if (end > at && (end - at) * size >= (b->n ? s->rest : s->first) &&
		    add_cut(b, at, &end, err) < 0)
			return -1;
	}
	return end > 0 ? add_cut(b, 0, &end, err) : 0;
}

static int take_sums(struct nn_buckets *b, struct nn_error *err)
{
	const struct nn_sync_group *team = b->worker->team;

	if (!(b->sums = nn_alloc(team->own, sizeof *b->sums, err)))
		return -1;
	for (; b->n_sums < team->own; b->n_sums++)
		if (nn_mirror_of(&b->sums[b->n_sums], team->pins, NULL, team->elements * team->size,
				 err) < 0)
			return -1;
	return 0;
}

int nn_buckets_open(struct nn_buckets **result, struct nn_worker *w,
		    const struct nn_bucket_sizes *sizes, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	struct nn_buckets *b = *result = nn_alloc(1, sizeof *b, err);
	size_t own = 0;

	if (!b)
		return -1;
	b->worker = w;
	if (cut_block(b, sizes, err) < 0)
		return -1;
	b->others = team->others;
	b->before = nn_alloc(b->n, sizeof *b->before, err);
	b->posted = nn_alloc(b->n, sizeof *b->posted, err);
	if (!b->before || !b->posted)
		return -1;
	for (size_t i = 0; i < b->n; i++) {
		b->before[i] = own;
		own += nn_buckets_piece(team, b, i, team->comm->rank).n;
	}
	b->room = nn_alloc(own * b->others, team->size, err);
	if (!b->room || (team->queue && take_sums(b, err) < 0))
		return -1;
	return nn_pump_new(&b->pump, team->comm, err);
}

void nn_buckets_close(struct nn_buckets *b)
{
	if (!b)
		return;
	nn_pump_free(b->pump);
	for (size_t i = 0; b->posted && i < b->n; i++)
		nn_free(b->posted[i].requests);
	for (size_t k = 0; k < b->n_sums; k++)
		nn_mirror_free(&b->sums[k], b->worker->team->pins);
	nn_free(b->sums);
	nn_free(b->posted);
	nn_free(b->before);
	nn_free(b->cuts);
	nn_free(b->room);
	nn_free(b);
}

/* ---- a batch ---- */

static size_t own_sums(const struct nn_sync_group *team)
{
	size_t n = 0;

	for (size_t k = 0; k < team->n_sums; k++)
		n += team->sums[k].rank == team->comm->rank;
	return n;
}

/* A sum of this rank where messages and additions find it: fetched bucket by bucket. */
static char *own_sum(const struct nn_buckets *b, size_t sum)
{
	return b->sums ? b->sums[sum].host : nn_step_sum(b->worker->step, sum);
}

static void fetch_bucket(struct nn_buckets *b, size_t sum, size_t i)
{
	const struct nn_sync_group *team = b->worker->team;

	if (!b->sums)
		return;
	b->sums[sum].there = nn_step_sum(b->worker->step, sum);
	nn_mirror_fetch(&b->sums[sum], team->queue, b->cuts[i].from * team->size,
			b->cuts[i].n * team->size);
	nn_queue_wait(team->queue, NULL);
}

static int send_bucket(struct nn_buckets *b, size_t sum, size_t i, struct nn_error *err)
{
	struct nn_sync_group *team = b->worker->team;
	char *values = own_sum(b, sum);

	fetch_bucket(b, sum, i);
	for (int to = 0; to < team->comm->size; to++) {
		struct nn_shard piece = nn_buckets_piece(team, b, i, to);
		struct nn_message message = { to, values + piece.from * team->size,
					      piece.n * team->size };

		if (to != team->comm->rank &&
		    nn_comm_post(team->comm, &message, &b->posted[i], err) < 0)
			return -1;
	}
	return 0;
}

/* The step's: a sum is final from there on. Whole buckets of it leave. */
static void final(void *arg, size_t sum, size_t from)
{
	struct nn_buckets *b = arg;

	if (sum != b->sum) {
		b->sum = sum;
		b->next = 0;
	}
	for (; b->status == 0 && b->next < b->n && b->cuts[b->next].from >= from; b->next++)
		b->status = send_bucket(b, sum, b->next, &b->err);
}

/* Where the j-th sum of other ranks arrives. */
static char *place_of(const struct nn_sync_group *team, const struct nn_buckets *b, size_t i,
		      size_t j)
{
	return b->room +
	       (b->before[i] * b->others + j * nn_buckets_piece(team, b, i, team->comm->rank).n) *
		       team->size;
}

/* In the order in which others send: sum by sum, bucket by bucket. */
int nn_buckets_begin(struct nn_worker *w, struct nn_buckets *b, struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	size_t j = 0;

	b->sum = b->next = 0;
	b->status = 0;
	for (size_t k = 0; k < team->n_sums; k++) {
		if (team->sums[k].rank == team->comm->rank)
			continue;
		for (size_t i = 0; i < b->n; i++) {
			size_t n = nn_buckets_piece(team, b, i, team->comm->rank).n;
			struct nn_message message = { team->sums[k].rank, place_of(team, b, i, j),
						      n * team->size };

			if (nn_comm_post_receive(team->comm, &message, &b->posted[i], err) < 0)
				return -1;
		}
		j++;
	}
	nn_step_on_final_gradient(w->step, final, b);
	nn_pump_run(b->pump, true);
	return 0;
}

/*
 * A step that met a loss that is not finite has told of nothing: what others wait for leaves all
 * the same, and they drop it.
 */
int nn_buckets_flush(struct nn_worker *w, struct nn_buckets *b, struct nn_error *err)
{
	nn_step_on_final_gradient(w->step, NULL, NULL);
	for (size_t k = b->sum; k < own_sums(w->team); k++)
		final(b, k, 0);
	nn_pump_run(b->pump, false);
	if (b->status < 0 && err)
		*err = b->err;
	return b->status;
}

int nn_buckets_add(struct nn_worker *w, struct nn_buckets *b, size_t i, double *seconds,
		   struct nn_error *err)
{
	struct nn_sync_group *team = w->team;
	struct nn_shard piece = nn_buckets_piece(team, b, i, team->comm->rank);
	char *stack[NN_CUT_NODES], *mine = (char *)nn_graph_gradients(nn_step_graph(w->step)) +
					   piece.from * team->size;
	size_t depth = 0, j = 0;
	double start = nn_now_s();

	if (nn_comm_finish(team->comm, &b->posted[i], err) < 0)
		return -1;
	*seconds += nn_now_s() - start;
	for (size_t k = 0; k < team->n_sums; k++) {
		const struct nn_sync_sum *s = &team->sums[k];
		bool own = s->rank == team->comm->rank;
		char *at = own ? own_sum(b, s->index) + piece.from * team->size
			       : place_of(team, b, i, j++);

		for (size_t node = s->node.node; node & 1; node >>= 1)
			nn_device_host(w->task->device)
				->add(NULL, at, stack[--depth], piece.n, w->task->pool);
		stack[depth++] = at;
	}
	if (stack[0] != mine)
		nn_queue_write(team->queue, mine, stack[0], piece.n * team->size);
	return 0;
}

int nn_buckets_drop(struct nn_sync_group *team, struct nn_buckets *b, struct nn_error *err)
{
	for (size_t i = 0; i < b->n; i++)
		if (nn_comm_finish(team->comm, &b->posted[i], err) < 0)
			return -1;
	return 0;
}
