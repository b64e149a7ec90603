/* Data that rank 0 alone can read, pipes, given to all ranks as they come. */
#ifndef NN_TRAIN_FEED_H
#define NN_TRAIN_FEED_H

#include "train/job.h"

struct nn_feed;

/*
 * Where DATA, TARGETS or held-out data are no file but a pipe on rank 0: their bytes become
 * standard input of every rank, or a descriptor, through a thread and a pipe of its own, until
 * nn_feed_close; so do their paths. Collective; *feed NULL: nothing to feed. Before the data are
 * opened.
 */
int nn_feed_open(struct nn_feed **feed, struct nn_train *train, struct nn_error *err);
/* The data were read (status 0), or could not be, and the error names the pipe; as status, or -1
 * where rank 0 could not read. */
int nn_feed_close(struct nn_feed *feed, int status, struct nn_error *err);

#endif
