/*
 * A file without a name for what memory does not have room for, and a thread that writes it and
 * reads it back while its owner computes. Nothing of it is left when the process ends, however it
 * does.
 */
#ifndef NN_GRAPH_OFFLOAD_SPILL_H
#define NN_GRAPH_OFFLOAD_SPILL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct nn_spill;

/*
 * Take `bytes` of the folder's file system at once, so that a full disk is known before work.
 * piece: bytes of host memory beside it, for what lies in memory of another kind.
 */
int nn_spill_open(struct nn_spill **spill, const char *folder, size_t bytes, size_t piece,
		  struct nn_error *err);
void *nn_spill_piece(const struct nn_spill *spill);
/* Waits; NULL is allowed. */
void nn_spill_close(struct nn_spill *spill);

/* Asked for, in order; memory is the thread's until nn_spill_settle. One caller at a time. */
void nn_spill_write(struct nn_spill *spill, size_t at, const void *memory, size_t bytes);
void nn_spill_read(struct nn_spill *spill, size_t at, void *memory, size_t bytes);
/* Until all that was asked for is done. */
void nn_spill_settle(struct nn_spill *spill);
/* After nn_spill_settle: has anything failed? check says what. */
bool nn_spill_failed(const struct nn_spill *spill);
int nn_spill_check(const struct nn_spill *spill, struct nn_error *err);

#endif
