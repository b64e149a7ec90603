/*
 * What goes between ranks: letters of rank 0 and their answers, a message each; batches on their
 * way from rank to rank, on a stream for each that can be under way (a channel).
 */
#ifndef NN_SERVE_RANKS_WIRE_H
#define NN_SERVE_RANKS_WIRE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predict/session.h"

/* Batches under way at most. */
#define NN_MOST_CHANNELS 64

enum nn_rank_letter_kind {
	NN_RANK_OPEN,  /* text: a path, whose model is called number from now on */
	NN_RANK_CLOSE, /* number, which nobody uses; not answered */
	NN_RANK_ALLOW, /* text: a directory that may be read in the sandbox; not answered */
	NN_RANK_ENTER, /* the sandbox */
};

struct nn_rank_letter {
	enum nn_rank_letter_kind kind;
	int code; /* of an answer: 0, or an error's, with its text */
	uint64_t number;
	char text[PATH_MAX];
};

/* -1: the other end is gone. */
int nn_rank_write(int control, const struct nn_rank_letter *letter);
int nn_rank_read(int control, struct nn_rank_letter *letter);
void nn_rank_set_text(struct nn_rank_letter *letter, const char *text);

/* In front of a batch. */
struct nn_rank_head {
	uint64_t number; /* of the model */
	uint64_t bytes;  /* that follow; 0 where it failed */
	uint32_t rows, max_rows;
	uint32_t lengths; /* uint32_t in front of the bytes: those of the rows; 0: they have none */
	int32_t code;     /* what went wrong on the way, 0: nothing */
	char text[256];
};

/* All of n bytes; -1: the other end is gone. */
int nn_rank_send(int channel, const void *bytes, size_t n, bool more);
int nn_rank_receive(int channel, void *bytes, size_t n);
/* Lengths of rows 0 .. n - 1, of the session's last run and for its next one. */
int nn_rank_send_lengths(int channel, const struct nn_session *session, size_t n);
int nn_rank_receive_lengths(int channel, struct nn_session *session, size_t n);

#endif
