/* Places in one block of memory. */
#ifndef NN_GRAPH_ARENA_H
#define NN_GRAPH_ARENA_H

#include "base/error.h"

/* Something that needs memory from time `first` to time `last`, both included. */
struct nn_arena_item {
	size_t bytes;
	int first, last;
	int same; /* shares the memory of this item; -1: has its own. Later: the one that has it */
	size_t offset; /* result */
};
/* Offsets for all, multiples of 64; *bytes is what they take together. */
int nn_arena_place(struct nn_arena_item *items, int n, size_t *bytes, struct nn_error *err);
/* *end grows by `bytes`, rounded up to whole lines; *offset (may be NULL) is where they begin. */
int nn_arena_append(size_t *end, size_t bytes, size_t *offset, struct nn_error *err);

#endif
