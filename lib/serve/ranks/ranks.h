/*
 * --ranks=N: models larger than one process. The process that the user started is rank 0, which
 * speaks to clients and has the first layers; the others have the layers behind them, each its own
 * parameters alone. A batch goes from rank to rank and its answers come back from the last one:
 * while a rank works on it, those before it work on the next ones.
 *
 * Ranks begin before there are threads. A rank ends when rank 0 does, however that ends. When one
 * is lost, so is a part of every model: requests under way and all that come are refused (503), and
 * the server is not ready any more.
 */
#ifndef NN_SERVE_RANKS_RANKS_H
#define NN_SERVE_RANKS_RANKS_H

#include "file/bytes.h"
#include "predict/session.h"

struct nn_ranks;
struct nn_batcher;

struct nn_ranks_setup {
	unsigned ranks, threads; /* threads of all ranks together that compute */
	const char *device;
	void (*warn)(void *arg, const char *text); /* any thread */
	void (*note)(void *arg, const char *text);
	void *arg;
};

/* In a process without threads. */
int nn_ranks_start(struct nn_ranks **ranks, const struct nn_ranks_setup *setup,
		   struct nn_error *err);
/* All are gone afterwards. NULL allowed. */
void nn_ranks_end(struct nn_ranks *ranks);
/* From now on who is lost is told at once, and nothing waits for company any more. */
int nn_ranks_watch(struct nn_ranks *ranks, struct nn_batcher *batcher, struct nn_error *err);
/* Directories that models are read from, NULL-terminated; the others enter their sandboxes. */
int nn_ranks_sandbox(struct nn_ranks *ranks, const char *const *read, struct nn_error *err);

/* Batches that can be under way at once. */
unsigned nn_ranks_channels(const struct nn_ranks *ranks);
unsigned nn_ranks_count(const struct nn_ranks *ranks);
/* Batches under way now; is that rank there? */
unsigned nn_ranks_under_way(struct nn_ranks *ranks);
bool nn_ranks_has(struct nn_ranks *ranks, unsigned rank);
/* What is said of models then. */
#define NN_RANKS_LOST "a rank that has a part of the model is lost"
/* NULL allowed: false. */
bool nn_ranks_lost(struct nn_ranks *ranks);

/*
 * A model is read by all ranks, and at the same time by the caller: between the two, which always
 * come together, no other is. *part is what to read of it.
 */
void nn_ranks_open(struct nn_ranks *ranks, const char *path, struct nn_model_part *part);
int nn_ranks_opened(struct nn_ranks *ranks, struct nn_error *err);
void nn_ranks_close(struct nn_ranks *ranks, uint64_t number);
/* Which rank has which layers, in one sentence. */
void nn_ranks_tell(struct nn_ranks *ranks, const char *name, const struct nn_model *model);

/*
 * Rows that were put into the session go through all ranks; what is said of its outputs lies in
 * `answer`. NN_ERANK: a rank is lost.
 */
int nn_ranks_run(struct nn_ranks *ranks, struct nn_session *session, const struct nn_model *model,
		 size_t rows, struct nn_block *answer, struct nn_error *err);

#endif
