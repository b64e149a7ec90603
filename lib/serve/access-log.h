/*
 * --access-log=FILE: a JSON object a line for each answer, whole lines from any thread.
 *
 * A line is one write to a file that is appended to; nobody waits for anybody. A full disk or a
 * pipe that nobody empties loses lines, which is told once.
 */
#ifndef NN_SERVE_ACCESS_LOG_H
#define NN_SERVE_ACCESS_LOG_H

#include <stddef.h>

#include "base/error.h"

struct nn_access_log;

struct nn_access {
	const char *method, *path; /* bytes as they came */
	unsigned status;
	size_t bytes_in, bytes_out; /* of bodies */
	double seconds;    /* from the first byte of the request to the end of the answer */
	const char *model; /* NULL or "": none */
	size_t rows;
};

/* Created where it is not there, readable by owner and group. warn may be called from any thread.
 */
int nn_access_log_open(struct nn_access_log **log, const char *path,
		       void (*warn)(void *arg, const char *text), void *arg, struct nn_error *err);
void nn_access_log_close(struct nn_access_log *log); /* NULL allowed */
void nn_access_log_write(struct nn_access_log *log, const struct nn_access *access);
/*
 * The file was renamed: go on in a new one of the old name. -1: the old one is written to as
 * before.
 */
int nn_access_log_reopen(struct nn_access_log *log, struct nn_error *err);

#endif
