/*
 * A block of memory that grows without being copied, for contents whose size a header only claims.
 */
#ifndef NN_FILE_BYTES_H
#define NN_FILE_BYTES_H

#include <stddef.h>
#include "base/error.h"

/*
 * Zero-initialize; pages, so data is aligned to 4096 (2 MiB where they are large) and memory that
 * was never written takes no room.
 */
struct nn_block {
	void *data;
	size_t room;
};

/* The byte at place `at`; of an empty block NULL. */
static inline unsigned char *nn_block_at(const struct nn_block *block, size_t at)
{
	return block->data ? (unsigned char *)block->data + at : NULL;
}

/* At least `bytes` of room; what was there stays, new bytes are 0. NN_ENOMEM with the sizes. */
int nn_block_reserve(struct nn_block *block, size_t bytes, struct nn_error *err);
void nn_block_free(struct nn_block *block);

#endif
