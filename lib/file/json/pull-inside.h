/* What the parts of the pull parser have of each other. */
#ifndef NN_FILE_PULL_INSIDE_H
#define NN_FILE_PULL_INSIDE_H

#include "file/json/pull.h"

/* The string whose first quote stands at p->at: text, length, p->at behind it; -1. */
int nn_pull_string(struct nn_pull *p);
/* Values of the array that is open were read, up to `end`. */
void nn_pull_pass(struct nn_pull *p, const char *end);

/* Keys of the objects that are open, each once. */
void nn_pull_keys_begin(struct nn_pull_keys *keys);
bool nn_pull_keys_open(struct nn_pull_keys *keys); /* false: too many keys and objects are open */
void nn_pull_keys_close(struct nn_pull_keys *keys);
size_t nn_pull_keys_most(const struct nn_pull_keys *keys);

enum nn_pull_once { NN_PULL_ONCE, NN_PULL_TWICE, NN_PULL_FULL };
enum nn_pull_once nn_pull_keys_add(struct nn_pull_keys *keys, const char *text, size_t n,
				   unsigned depth);

#endif
