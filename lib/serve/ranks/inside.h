/* Inside: what rank 0 has of the others. */
#ifndef NN_SERVE_RANKS_INSIDE_H
#define NN_SERVE_RANKS_INSIDE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "predict/part.h"
#include "serve/ranks/ranks.h"
#include "serve/ranks/wire.h"

struct nn_other_rank {
	pid_t pid;
	int control;
	bool asked; /* it owes an answer */
	atomic_bool lost;
};

struct nn_ranks {
	struct nn_ranks_setup setup;
	struct nn_other_rank others[NN_MOST_PARTS]; /* [0] is not used */
	atomic_bool lost;                           /* any of them */
	pthread_mutex_t asking;                     /* letters and their answers */
	uint64_t number;                            /* of the last model */
	sem_t permits;                              /* to compute here */
	/* Batches go to rank 1 and come from the last; a channel is one batch's at a time. */
	int to[NN_MOST_CHANNELS], from[NN_MOST_CHANNELS];
	pthread_mutex_t lock; /* of the free ones */
	pthread_cond_t freed;
	unsigned free[NN_MOST_CHANNELS], n_free, n_channels;
	/* who watches */
	pthread_t watcher;
	bool watching;
	int stop[2]; /* a pipe whose end ends it */
	struct nn_batcher *batcher;
};

#endif
