/*
 * An HTTP/1.1 answer (RFC 9112) as its bytes come, in any pieces: its status, where it ends, and
 * what its Server-Timing header says. Nothing that a server sends makes it take more memory.
 */
#ifndef NN_BENCH_LOAD_ANSWER_H
#define NN_BENCH_LOAD_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

#define NN_LOAD_LINE 8192  /* bytes of a line of the head */
#define NN_LOAD_LINES 1000 /* lines of a head, and of trailers */
#define NN_LOAD_EXCERPT 161

/* What a server did with a request, in the order of Server-Timing. */
enum nn_load_part {
	NN_LOAD_READ,
	NN_LOAD_PARSE,
	NN_LOAD_QUEUE,
	NN_LOAD_COMPUTE,
	NN_LOAD_FORMAT,
	NN_LOAD_PARTS
};
extern const char *const nn_load_part_names[NN_LOAD_PARTS];

enum nn_load_state {
	NN_LOAD_STATUS_LINE,
	NN_LOAD_HEADER,
	NN_LOAD_BODY,
	NN_LOAD_CHUNK_SIZE,
	NN_LOAD_CHUNK,
	NN_LOAD_CHUNK_END,
	NN_LOAD_TRAILER,
	NN_LOAD_UNTIL_CLOSE,
	NN_LOAD_DONE
};

struct nn_load_answer {
	enum nn_load_state state;
	int status;                 /* 200 */
	bool begun;                 /* a byte of it came */
	bool close;                 /* nothing can follow on this connection */
	bool timed;                 /* there was a Server-Timing with a part of ours */
	bool chunked, sized;        /* by its head */
	uint64_t left;              /* bytes of the body, or of a chunk, still to come */
	double part[NN_LOAD_PARTS]; /* seconds */
	int lines;
	size_t length; /* of line */
	/* Where the body is wanted: the first `most` bytes go there, *got counts them. */
	char *body;
	size_t most, got;
	char line[NN_LOAD_LINE];
};

/* body[most] stays the caller's; NULL and 0: the body is left out. */
void nn_load_answer_init(struct nn_load_answer *answer, char *body, size_t most);
/*
 * Take the next n bytes. true: the answer is whole, of bytes[n] *used belong to it; false with
 * err->code NN_OK: more is wanted, all were taken; else it is no HTTP.
 */
bool nn_load_answer_take(struct nn_load_answer *answer, const char *bytes, size_t n, size_t *used,
			 struct nn_error *err);
/* The connection ended: is the answer whole by that? */
bool nn_load_answer_end(struct nn_load_answer *answer);

#endif
