/*
 * Data that rank 0 alone can read, pipes, given to all ranks as they come.
 *
 * A pipe as DATA, TARGETS or held-out data reaches all ranks as it comes: a thread of each fills a
 * pipe that takes the place of standard input, or of a descriptor, so loaders know nothing of
 * ranks and nothing is spooled.
 */
#ifndef NN_PARALLEL_FEED_H
#define NN_PARALLEL_FEED_H

#include "comm/comm.h"

struct nn_feed;

/* Where the paths stand that the loader will open; a path NULL: there is none. */
struct nn_feed_paths {
	const char **data, **targets, **held_out;
	const char *spooled; /* one of them, which --spool has kept of a pipe; NULL: none */
};

/*
 * For DATA, TARGETS or held-out data that are a pipe on rank 0: their bytes become standard
 * input of every rank, or a descriptor, through a thread and a pipe of its own, until
 * nn_feed_close; so do their paths. Collective; *feed NULL: nothing to feed. Before the data are
 * opened.
 */
int nn_feed_open(struct nn_feed **feed, struct nn_comm *comm, const struct nn_feed_paths *paths,
		 struct nn_error *err);
/*
 * The data were read (status 0), or could not be, and the error names the pipe; as status, or -1
 * where rank 0 could not read.
 */
int nn_feed_close(struct nn_feed *feed, int status, struct nn_error *err);

#endif
