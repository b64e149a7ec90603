/* Answers that were measured once and are kept between runs, as FFTW keeps its wisdom. */
#ifndef NN_BASE_CACHE_H
#define NN_BASE_CACHE_H

#include <stddef.h>
#include "base/error.h"

/*
 * A file of answers is $XDG_CACHE_HOME/nntools/NAME, else $HOME/.cache/nntools/NAME: lines
 * "MACHINE<tab>KEY<tab>VALUE" of which the last of a machine and key holds. Tools that run at once
 * do not damage each other's answers; from a damaged, too large or missing file fewer answers are
 * read, which costs only time. A file that grows over 256 KiB loses its oldest answers.
 */

#define NN_CACHE_VALUE 512 /* bytes of a value with its NUL */

enum nn_cached {
	NN_CACHE_NONE,
	/* there is one, from another machine or build: to be reported, not used */
	NN_CACHE_OTHER,
	NN_CACHE_FOUND,
};

/*
 * The answer for a key into value[], "" where there is none. Keys may be of any length and hold any
 * bytes.
 */
enum nn_cached nn_cache_get(const char *name, const char *key, char value[NN_CACHE_VALUE]);
/*
 * Keep an answer (one line, shorter than NN_CACHE_VALUE) in place of the one there was. -1: it
 * could not be kept, err (may be NULL) says why.
 */
int nn_cache_put(const char *name, const char *key, const char *value, struct nn_error *err);

#define NN_CACHE_MACHINE 256
/*
 * What an answer holds for: the processor, the instruction set that NN_CPU asks for, version and
 * build. Returns the buffer.
 */
const char *nn_cache_machine(char buffer[NN_CACHE_MACHINE]);

#endif
