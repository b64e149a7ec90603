/* Loadable modules: nn-NAME.so beside libnn or in pkglibdir, opened when asked for. */
#ifndef NN_BASE_MODULE_H
#define NN_BASE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

#define NN_MODULE_ABI 6

/* Every module exports `const struct nn_module nn_module`. */
struct nn_module {
	int abi;           /* NN_MODULE_ABI */
	const char *name;  /* "archive" */
	const void *table; /* what the room that loads it expects */
};

/*
 * Find and open nn-NAME.so: NN_MODULE_PATH, the directory of libnn, DIR/nntools beside it,
 * pkglibdir. Opened once, never closed. The module's table, or NULL with NN_ENODEV and one line
 * that says what needed it.
 */
const void *nn_module_open(const char *name, struct nn_error *err);

/* Would nn_module_open find a file? It is not opened. */
bool nn_module_installed(const char *name);

/*
 * n functions of the shared library `file`, found as the system finds libraries, put where `to`
 * says; it is never closed. NN_ENODEV: it or one of them is not there, which the line names.
 */
struct nn_module_function {
	const char *name;
	void *to; /* a pointer to that function */
};
int nn_module_library(const char *file, const struct nn_module_function *functions, size_t n,
		      struct nn_error *err);

#endif
