/*
 * Keys of clients: a line each, `KEY RIGHT[,RIGHT]`, rights predict and admin; sent as
 * `Authorization: Bearer KEY`.
 *
 * Keys are kept and compared as their SHA-256, all of them each time, so that the time taken says
 * nothing of a key.
 */
#ifndef NN_SERVE_KEYS_H
#define NN_SERVE_KEYS_H

#include "base/error.h"

struct nn_keys;

enum nn_right {
	NN_RIGHT_PREDICT = 1, /* metadata, statistics, inference */
	NN_RIGHT_ADMIN = 2    /* load, unload; does not imply the other */
};

/* NN_EFAIL: users other than its owner and group can read it, or "FILE:LINE: ...". */
int nn_keys_open(struct nn_keys **keys, const char *path, struct nn_error *err);
void nn_keys_close(struct nn_keys *keys); /* NULL allowed */
/*
 * 0, or the status of the answer: 401 without a key that is known, 403 with one that has not the
 * right. authorization: the header's value, NULL: there is none. Any thread.
 */
unsigned nn_keys_allow(const struct nn_keys *keys, const char *authorization, enum nn_right right);

#endif
