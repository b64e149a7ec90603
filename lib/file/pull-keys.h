/* Within pull*.c: keys of the objects that are open, each once. */
#ifndef NN_FILE_PULL_KEYS_H
#define NN_FILE_PULL_KEYS_H

#include "file/pull.h"

void nn_pull_keys_begin(struct nn_pull_keys *keys);
bool nn_pull_keys_open(struct nn_pull_keys *keys); /* false: too many keys and objects are open */
void nn_pull_keys_close(struct nn_pull_keys *keys);
size_t nn_pull_keys_most(const struct nn_pull_keys *keys);

enum nn_pull_once { NN_PULL_ONCE, NN_PULL_TWICE, NN_PULL_FULL };
enum nn_pull_once nn_pull_keys_add(struct nn_pull_keys *keys, const char *text, size_t n,
				   unsigned depth);

#endif
