/*
 * --spool: stdin kept as a file.
 *
 * Samples are kept in memory, so without --spool stdin is read once and no file is needed. FILE
 * may take half of the free space beside it; where it exists, --resume reads it in place of stdin.
 * SIZE spools to an unlinked file in TMPDIR. More than either allows is status 1.
 */
#ifndef NN_TRAIN_SPOOL_H
#define NN_TRAIN_SPOOL_H

#include "train/job.h"

/* The file that --spool names, or NULL. */
const char *nn_spool_file(const struct nn_train_options *options);
/*
 * Where DATA or TARGETS is stdin and --spool asks for it: read all of it into that file, which is
 * read from then on; with --resume a file that is there is read instead. Before the data are
 * opened, after the lock is held.
 */
int nn_spool(struct nn_train *train, struct nn_error *err);

/*
 * For who reads the data twice: stdin, where it is one of them, becomes a file without a name, read
 * from its beginning.
 */
int nn_spool_stdin(const struct nn_train_setup *setup, struct nn_error *err);

#endif
