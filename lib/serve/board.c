/* Counts in memory that all workers share: a table of lanes, one of tallies, neither shrinks. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "serve/board.h"

/* Pages that nothing is written to take no memory. */
enum { LANES = 4096, TALLIES = 4096 };

struct lane {
	char model[NN_MODEL_NAME];
	uint64_t version;
	bool null;
};

struct tally {
	char model[NN_MODEL_NAME];
	unsigned status;
	atomic_uint_fast64_t n, last;
};

/* Entries are written before they are counted in, and never change their names. */
struct nn_board_space {
	pthread_mutex_t lock; /* to add one; of all processes, any of which may be killed */
	atomic_size_t n_lanes, n_tallies;
	struct lane lanes[LANES];
	struct tally tallies[TALLIES];
	struct nn_lane_counts counts[]; /* [LANES][workers] */
};

static size_t size_of(const struct nn_board *board)
{
	return sizeof(struct nn_board_space) +
	       LANES * board->workers * sizeof(struct nn_lane_counts);
}

int nn_board_open(struct nn_board *board, unsigned workers, struct nn_error *err)
{
	pthread_mutexattr_t shared;
	void *space;

	*board = (struct nn_board){ .workers = workers, .began = nn_now_s() };
	space = mmap(NULL, size_of(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (space == MAP_FAILED)
		return nn_fail(err, NN_ENOMEM, "out of memory");
	board->space = space;
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&board->space->lock, &shared);
	pthread_mutexattr_destroy(&shared);
	return 0;
}

void nn_board_close(struct nn_board *board)
{
	if (board->space)
		munmap(board->space, size_of(board));
	board->space = NULL;
}

static void lock(struct nn_board_space *space)
{
	if (pthread_mutex_lock(&space->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&space->lock);
}

/* ---- lanes ---- */

static size_t find_lane(const struct nn_board_space *space, const char *model, uint64_t version,
			bool null)
{
	size_t n = atomic_load(&space->n_lanes), i = 0;

	while (i < n && (space->lanes[i].version != version || space->lanes[i].null != null ||
			 strcmp(space->lanes[i].model, model) != 0))
		i++;
	return i;
}

void nn_board_take(const struct nn_board *board, struct nn_lane *lane, const char *model,
		   uint64_t version, bool null)
{
	struct nn_board_space *space = board->space;
	size_t at;

	lock(space);
	at = find_lane(space, model, version, null);
	if (at < LANES && at == atomic_load(&space->n_lanes)) {
		strcpy(space->lanes[at].model, model);
		space->lanes[at].version = version;
		space->lanes[at].null = null;
		atomic_store(&space->n_lanes, at + 1);
	}
	pthread_mutex_unlock(&space->lock);
	if (at < LANES)
		nn_lane_share(lane, space->counts + at * board->workers, board->workers,
			      board->mine);
}

void nn_board_begin(const struct nn_board *board)
{
	for (size_t i = 0; i < atomic_load(&board->space->n_lanes); i++)
		board->space->counts[i * board->workers + board->mine].waiting = 0;
}

void nn_board_count(const struct nn_board *board, struct nn_batcher *batcher, const char *model,
		    struct nn_lane_counts *counts)
{
	const struct nn_board_space *space = board->space;

	for (size_t i = 0; i < atomic_load(&space->n_lanes); i++)
		if (!space->lanes[i].null && strcmp(space->lanes[i].model, model) == 0)
			nn_lane_counts_add(batcher, space->counts + i * board->workers,
					   board->workers, counts);
}

bool nn_board_lane(const struct nn_board *board, struct nn_batcher *batcher, size_t i,
		   struct nn_board_lane *lane)
{
	const struct nn_board_space *space = board->space;

	if (i >= atomic_load(&space->n_lanes))
		return false;
	*lane = (struct nn_board_lane){ .model = space->lanes[i].model,
					.version = space->lanes[i].version,
					.null = space->lanes[i].null };
	nn_lane_counts_add(batcher, space->counts + i * board->workers, board->workers,
			   &lane->counts);
	return true;
}

/* ---- tallies ---- */

static struct tally *find_tally(struct nn_board_space *space, const char *model, unsigned status)
{
	size_t n = atomic_load(&space->n_tallies);

	for (size_t i = 0; i < n; i++)
		if (space->tallies[i].status == status &&
		    strcmp(space->tallies[i].model, model) == 0)
			return &space->tallies[i];
	return NULL;
}

static struct tally *add_tally(struct nn_board_space *space, const char *model, unsigned status)
{
	struct tally *t;
	size_t n;

	lock(space);
	t = find_tally(space, model, status);
	n = atomic_load(&space->n_tallies);
	if (!t && n < TALLIES) {
		t = &space->tallies[n];
		snprintf(t->model, sizeof t->model, "%s", model);
		t->status = status;
		atomic_store(&space->n_tallies, n + 1);
	}
	pthread_mutex_unlock(&space->lock);
	return t;
}

void nn_board_tally(const struct nn_board *board, const char *model, unsigned status, uint64_t n,
		    uint64_t now)
{
	struct tally *t = find_tally(board->space, model, status);

	if (!t)
		t = add_tally(board->space, model, status);
	if (!t)
		return;
	atomic_fetch_add(&t->n, n);
	if (now)
		atomic_store(&t->last, now);
}

bool nn_board_tallied(const struct nn_board *board, size_t i, struct nn_tally *tally)
{
	const struct tally *t = &board->space->tallies[i];

	if (i >= atomic_load(&board->space->n_tallies))
		return false;
	*tally = (struct nn_tally){ .status = t->status,
				    .n = atomic_load(&t->n),
				    .last = atomic_load(&t->last) };
	memcpy(tally->model, t->model, sizeof tally->model);
	return true;
}

struct nn_tally nn_board_find(const struct nn_board *board, const char *model, unsigned status)
{
	const struct tally *t = find_tally(board->space, model, status);
	struct nn_tally tally = { 0 };

	if (t)
		nn_board_tallied(board, (size_t)(t - board->space->tallies), &tally);
	return tally;
}
