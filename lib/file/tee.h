/*
 * The bytes of a descriptor for several readers, each from the first one on: kept is what the
 * slowest has yet to take. One thread at a time.
 */
#ifndef NN_FILE_TEE_H
#define NN_FILE_TEE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/error.h"

struct nn_tee;

/* The descriptor is borrowed; nothing may have been read of it. */
int nn_tee_new(struct nn_tee **tee, int fd, size_t readers, struct nn_error *err);
void nn_tee_free(struct nn_tee *tee);
/* Bytes are kept for all readers from the start; the next one that has no number yet. */
size_t nn_tee_join(struct nn_tee *tee);
/* As read(2) for that reader: what others have read comes first. */
ssize_t nn_tee_read(struct nn_tee *tee, size_t reader, void *bytes, size_t room);
/* It reads no more: nothing is kept for it. Others do. */
void nn_tee_leave(struct nn_tee *tee, size_t reader);
/* Would a read of that reader give something that others have read? */
bool nn_tee_holds(const struct nn_tee *tee, size_t reader);

#endif
