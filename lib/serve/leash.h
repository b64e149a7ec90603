/*
 * What the process that the user started and one of its workers say to each other (--workers), over
 * a socket of whole messages. Workers take no signals: who ends all processes of a group or of a
 * service at once shall not have asked twice.
 */
#ifndef NN_SERVE_LEASH_H
#define NN_SERVE_LEASH_H

#include <pthread.h>

#include "base/error.h"
#include "serve/models/models.h"

enum nn_letter_kind {
	NN_LETTER_SIGNAL, /* to a worker: number */
	NN_LETTER_READY,  /* from it: it serves */
	NN_LETTER_FAILED, /* from it: it could not begin; number: a code, text */
	NN_LETTER_ASK,    /* from it: load or unload text in all */
	NN_LETTER_DO,     /* to all: that */
	NN_LETTER_DONE,   /* from all: number 0, or a code and text */
	NN_LETTER_REPLY,  /* to who asked: the same */
};

struct nn_letter {
	enum nn_letter_kind kind;
	int number;
	bool load; /* ASK, DO: else unload */
	char text[512];
};

/* A worker's end. */
struct nn_leash {
	int fd;
	const struct nn_board *board;
	const struct nn_http *bound; /* whose sockets it accepts from */
	/* Models that were unloaded before this worker began: [n_unloaded] names. */
	const char (*unloaded)[NN_MODEL_NAME];
	size_t n_unloaded;
	pthread_mutex_t asking; /* one question at a time */
	pthread_mutex_t lock;
	pthread_cond_t replied;
	bool waits;
	struct nn_letter reply;
};

/* Never waits; false: the other end is gone, or has not listened for long. */
bool nn_letter_send(int fd, const struct nn_letter *letter);
/* 1: here it is; 0: none is there; -1: the other end is gone. */
int nn_letter_read(int fd, struct nn_letter *letter);

void nn_leash_init(struct nn_leash *leash, int fd);
/* A letter is there: do what it says. A signal's number, 0: nothing that concerns the caller. */
int nn_leash_take(struct nn_leash *leash, struct nn_models *models);
/* Load or unload a model in all workers; any thread but the one that takes letters. */
int nn_leash_ask(struct nn_leash *leash, const char *name, bool load, struct nn_error *err);
int nn_leash_ready(const struct nn_leash *leash, struct nn_error *err);

#endif
