/*
 * Files written safely: a temporary beside the target, fsync, rename, fsync of the directory.
 *
 * A temporary is locked (flock) by its writer; opening an output removes those of the same name
 * that no process holds.
 */
#ifndef NN_BASE_OUTPUT_H
#define NN_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

struct nn_output;

/*
 * Open path for writing ("-" or NULL: stdout). A regular file or a new name is written as
 * `.NAME.XXXXXX.tmp` in the same directory (a link is replaced, never its target); an existing
 * file of another kind is opened directly. `binary` ones are refused on a terminal. Temporaries are
 * removed at nn_output_abort and, by nn_output_abort_all, from signal handlers. The name stands in
 * every error text ("stdout" for standard output).
 */
int nn_output_open(struct nn_output **output, const char *path, bool binary, struct nn_error *err);
/*
 * Could path be opened? Asked before work that ends with it; a file of another kind that exists is
 * left alone.
 */
int nn_output_check(const char *path, struct nn_error *err);
/* nn_output_open for a file beside `owner` (NULL: none), with permissions no wider than the
 * owner's. */
int nn_output_open_beside(struct nn_output **output, const char *path, const char *owner,
			  bool binary, struct nn_error *err);
/*
 * One of many files of a folder: it is complete or absent, but durable only after nn_output_sync of
 * the folder; call nn_output_sweep of the folder once to remove old temporaries.
 */
int nn_output_open_part(struct nn_output **output, const char *path, struct nn_error *err);
int nn_output_sync(const char *folder, struct nn_error *err);
/* What is written will be binary after all: refused on a terminal. */
int nn_output_binary(struct nn_output *output, struct nn_error *err);
int nn_output_write(struct nn_output *output, const void *bytes, size_t n, struct nn_error *err);
int nn_output_printf(struct nn_output *output, struct nn_error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int nn_output_flush(struct nn_output *output, struct nn_error *err);
bool nn_output_is_regular(const struct nn_output *output); /* will be renamed into place */
/* Finish: flush, fsync, rename, fsync of the directory; frees in any case. */
int nn_output_commit(struct nn_output *output, struct nn_error *err);
void nn_output_abort(struct nn_output *output); /* NULL allowed; what was there before stays */
/* One or the other, as the status of what was written says; -1: it was not committed. */
int nn_output_close(struct nn_output *output, int status, struct nn_error *err);
void nn_output_abort_all(void); /* async-signal-safe */
/*
 * A file that is not to outlive the process either: nn_output_abort_all removes it as well. The
 * name is the caller's, until it is forgotten; the handle, or -1: there are too many.
 */
int nn_output_remember(char *path);
void nn_output_forget(int handle, char *path); /* -1 allowed; frees path */
/*
 * Remove the temporaries of path that a killed run left, with a path that ends in '/' all in that
 * folder; those of living writers are locked and stay. nn_output_open calls it. Never an error.
 */
void nn_output_sweep(const char *path);
/*
 * Inside: the name of a temporary, `.NAME.XXXXXX.tmp` beside path, cut where it would get too long;
 * letters for the X keep runs apart, and the last two distinguish it from a user's file.
 */
char *nn_output_temporary(const char *path, struct nn_error *err);
void nn_output_letters(char *temporary, unsigned attempt);
/* Inside: lock a temporary that was just made. false: a sweep took it first. */
bool nn_output_hold(int fd, int folder, const char *path);
/* Inside: a file of that name was made or renamed: make the name durable. */
int nn_output_sync_name(const char *path, struct nn_error *err);
/* "-", or another name of standard input unless that is a regular file (/dev/stdin, a FIFO). */
bool nn_is_stdin(const char *path);
/* Is path the same file (device and inode) as other? */
bool nn_same_file(const char *path, const char *other);
/* "-", or another name of descriptor 1 (/dev/stdout, /dev/fd/1). */
bool nn_is_stdout(const char *path);
/* True after a write to stdout failed with EPIPE: the tool ends silently with 141. */
bool nn_output_broken_pipe(void);
void nn_output_set_broken_pipe(void);

#endif
