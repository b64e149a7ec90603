/*
 * Ranks that are threads of one process: what they have of a graph goes through pointers that all
 * see.
 */
#ifndef GRAPH_RANKS_H
#define GRAPH_RANKS_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"

#define MOST_RANKS 3

static pthread_barrier_t barrier;
static const void *parts[MOST_RANKS];
static void *const *sends[MOST_RANKS];

/* arg: the rank's struct nn_column_shard. */
static void gather(void *arg, const void *part, void *whole, size_t lines, size_t n, size_t size)
{
	const struct nn_column_shard *columns = arg;
	size_t ranks = (size_t)columns->ranks;

	parts[columns->rank] = part;
	pthread_barrier_wait(&barrier);
	for (size_t r = 0; r < ranks; r++) {
		size_t from = n * r / ranks, width = n * (r + 1) / ranks - from;

		for (size_t i = 0; i < lines; i++)
			memcpy((char *)whole + (i * n + from) * size,
			       (const char *)parts[r] + i * width * size, width * size);
	}
	pthread_barrier_wait(&barrier);
}

static void exchange(void *arg, void *const *send, const size_t *send_bytes, void *const *receive,
		     const size_t *receive_bytes)
{
	const struct nn_column_shard *columns = arg;

	(void)send_bytes;
	sends[columns->rank] = send;
	pthread_barrier_wait(&barrier);
	for (int r = 0; r < columns->ranks; r++)
		if (r != columns->rank)
			memcpy(receive[r], sends[r][columns->rank], receive_bytes[r]);
	pthread_barrier_wait(&barrier);
}

/* run(arg + r * size) on a thread for each of `ranks` ranks. */
static void run_as_ranks(void *(*run)(void *rank), void *arg, size_t size, int ranks)
{
	pthread_t threads[MOST_RANKS];

	pthread_barrier_init(&barrier, NULL, (unsigned)ranks);
	for (int r = 0; r < ranks; r++)
		if (pthread_create(&threads[r], NULL, run, (char *)arg + (size_t)r * size) != 0)
			exit(1);
	for (int r = 0; r < ranks; r++)
		pthread_join(threads[r], NULL);
	pthread_barrier_destroy(&barrier);
}

#endif
