/*
 * Counts of several processes that serve as one (--workers), in memory that they share: each writes
 * its own, whoever is asked sums them. They outlive a worker, whose successor goes on with them,
 * and a model that is read again, so that they never go back.
 *
 * Others read while one writes: a number is whole, the numbers of a moment may be one answer apart.
 */
#ifndef NN_SERVE_BOARD_H
#define NN_SERVE_BOARD_H

#include "serve/batch/batch.h"

/* Requests of a model that were answered with a status. */
struct nn_tally {
	char model[64]; /* "": none was found */
	unsigned status;
	uint64_t n, last; /* last: milliseconds since 1970 */
};

/* Statuses that are none of HTTP: versions that were read again. */
enum { NN_TALLY_RELOADED = 1, NN_TALLY_BAD = 2 };

struct nn_board_space;
struct nn_board {
	struct nn_board_space *space; /* shared */
	unsigned workers, mine;       /* mine: the number of this process */
	double began;                 /* nn_now_s */
};

/* Before the first fork. */
int nn_board_open(struct nn_board *board, unsigned workers, struct nn_error *err);
void nn_board_close(struct nn_board *board);

/* This worker's lane of a version counts on the board; it has counted nothing yet. */
void nn_board_take(const struct nn_board *board, struct nn_lane *lane, const char *model,
		   uint64_t version, bool null);
/* One more of a model and a status, at a time (milliseconds since 1970; 0: not one to be
 * remembered). What finds no room is not counted. */
void nn_board_tally(const struct nn_board *board, const char *model, unsigned status, uint64_t now);
/* Tally i of all workers; false: there are no more. */
bool nn_board_tallied(const struct nn_board *board, size_t i, struct nn_tally *tally);
/* That of a model and a status; all 0 where there is none. */
struct nn_tally nn_board_find(const struct nn_board *board, const char *model, unsigned status);

#endif
