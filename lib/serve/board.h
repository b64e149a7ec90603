/*
 * Counts of all processes that serve as one (--workers), in memory that they share: each writes its
 * own, whoever is asked sums them. They outlive a worker, whose successor goes on with them, and
 * the versions of models, so that they never go back.
 *
 * Others read while one writes: a number is whole, the numbers of a moment may be one answer apart.
 */
#ifndef NN_SERVE_BOARD_H
#define NN_SERVE_BOARD_H

#include "serve/batch/batch.h"
#include "serve/models/models.h"

/* Requests of a model that were answered with a status. */
struct nn_tally {
	char model[NN_MODEL_NAME]; /* "": none was found */
	unsigned status;
	uint64_t n, last; /* last: milliseconds since 1970 */
};

/* Statuses that are none of HTTP: versions that were read again, categories that were not known. */
enum { NN_TALLY_RELOADED = 1, NN_TALLY_BAD, NN_TALLY_UNSEEN };

struct nn_board_space;
struct nn_board {
	struct nn_board_space *space; /* shared */
	unsigned workers, mine;       /* mine: the number of this process */
	double began;                 /* nn_now_s */
};

/* Before the first fork. */
int nn_board_open(struct nn_board *board, unsigned workers, struct nn_error *err);
void nn_board_close(struct nn_board *board);

/* This process begins: what one before it in its place had waiting is gone. */
void nn_board_begin(const struct nn_board *board);
/* This process's lane of a version counts on the board; it has counted nothing yet. */
void nn_board_take(const struct nn_board *board, struct nn_lane *lane, const char *model,
		   uint64_t version, bool null);
/* What all lanes of a model's versions counted, those that are closed too; the null ones are left
 * out. */
void nn_board_count(const struct nn_board *board, struct nn_batcher *batcher, const char *model,
		    struct nn_lane_counts *counts);
/* The same of lane i alone, null ones among them; false: there are no more. */
struct nn_board_lane {
	const char *model; /* until nn_board_close */
	uint64_t version;
	bool null;
	struct nn_lane_counts counts;
};
bool nn_board_lane(const struct nn_board *board, struct nn_batcher *batcher, size_t i,
		   struct nn_board_lane *lane);
/*
 * n more of a model and a status, at a time (milliseconds since 1970; 0: not one to be remembered).
 * What finds no room is not counted.
 */
void nn_board_tally(const struct nn_board *board, const char *model, unsigned status, uint64_t n,
		    uint64_t now);
/* Tally i of all workers; false: there are no more. */
bool nn_board_tallied(const struct nn_board *board, size_t i, struct nn_tally *tally);
/* That of a model and a status; all 0 where there is none. */
struct nn_tally nn_board_find(const struct nn_board *board, const char *model, unsigned status);

#endif
