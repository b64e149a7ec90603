/*
 * A line to another thread: bytes go there, an answer comes back; through memory, a pipe, or TCP on
 * this host.
 */
#ifndef NN_BENCH_CHANNEL_H
#define NN_BENCH_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

struct nn_channel_algorithm {
	const char *name; /* "tcp" */
	/* ours to write and read, the other's to read and write; NULL: a word of memory */
	int (*open)(int ends[4], struct nn_error *err);
};
extern const struct nn_channel_algorithm
	nn_channel_algorithms[]; /* "memory", "pipe", "tcp"; ends with name NULL */

struct nn_channel;
int nn_channel_open(struct nn_channel **line, const struct nn_channel_algorithm *way, size_t most,
		    struct nn_error *err);
void nn_channel_close(struct nn_channel *line); /* NULL allowed */
/* Let the next calls move so many bytes, at most `most`. */
void nn_channel_set(struct nn_channel *line, size_t bytes);
/*
 * Move them and wait for the answer of one byte; a nn_measure_call's function. After a failure it
 * does nothing.
 */
void nn_channel_call(void *line);
/* Did all calls arrive as they were sent? */
bool nn_channel_good(const struct nn_channel *line);

#endif
