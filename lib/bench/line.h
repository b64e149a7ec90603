/* A line to another thread: bytes go there, an answer comes back; through memory, a pipe, or TCP on
 * this host. */
#ifndef NN_BENCH_LINE_H
#define NN_BENCH_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

struct nn_line_way {
	const char *name;                               /* "tcp" */
	int (*open)(int ends[4], struct nn_error *err); /* ours to write and read, the other's to
							   read and write; NULL: a word of memory */
};
extern const struct nn_line_way nn_line_ways[]; /* "memory", "pipe", "tcp"; ends with name NULL */

struct nn_line;
int nn_line_open(struct nn_line **line, const struct nn_line_way *way, size_t most,
		 struct nn_error *err);
void nn_line_close(struct nn_line *line); /* NULL allowed */
/* Let the next calls move so many bytes, at most `most`. */
void nn_line_set(struct nn_line *line, size_t bytes);
/* Move them and wait for the answer of one byte; a nn_measure_call's function. After a failure it
 * does nothing. */
void nn_line_call(void *line);
/* Did all calls arrive as they were sent? */
bool nn_line_good(const struct nn_line *line);

#endif
