/* What is remembered of a file and of the bytes that went by: enough to tell later whether data are
 * the same. */
#ifndef NN_FILE_WATCH_H
#define NN_FILE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include "base/error.h"
#include "base/sha256.h"

struct nn_watch;

struct nn_watch *nn_watch_new(struct nn_error *err); /* nn_free takes it */
/* far: so much follows that none of these bytes are among the last MiB. */
void nn_watch_add(struct nn_watch *watch, const unsigned char *bytes, size_t n, bool far);
#define NN_WATCH_EDGE ((size_t)1 << 20) /* the MiB at each end that a digest covers */
/* Length, first MiB, last MiB. */
void nn_watch_digest(const struct nn_watch *watch, struct nn_sha256 *hash);

/* The file's identity, to see later whether it was changed. */
struct nn_stamp {
	bool regular;
	uint64_t device, inode, size;
	int64_t seconds, nanoseconds;
};
void nn_stamp_take(struct nn_stamp *stamp, const struct stat *st);
/*
 * Is path (still) the file of the stamp, unchanged? True too when it is gone or was no regular
 * file.
 */
bool nn_stamp_holds(const struct nn_stamp *stamp, const char *path);

#endif
