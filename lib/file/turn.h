/* Arrays in files whose bytes or dimensions have the other order, into rows, in little memory. */
#ifndef NN_FILE_TURN_H
#define NN_FILE_TURN_H

#include "file/npy.h"

/* Which column value e of a row is, where columns follow each other. */
size_t nn_turn_column(const struct nn_shape *shape, size_t e);
/* The values that lie in `from` at `at`, as rows in this machine's order, to where `to` is. */
bool nn_turn_file(int from, uint64_t at, const struct nn_npy_header *header, int to);

#endif
