/* What starting a program costs, measured by starting it. */
#ifndef NN_BENCH_START_H
#define NN_BENCH_START_H

#include "base/error.h"

struct nn_start {
	/* until the new program stands in memory: posix_spawn returns when exec is done */
	double exec_s;
	/* from there to the first byte it writes: the dynamic loader, its libraries, its main */
	double ready_s;
	double whole_s; /* until it has ended */
};

/*
 * The least of `runs` runs (what disturbs a start makes it longer) of a program with its standard
 * output read and the rest of it on /dev/null. argv[0] is the program's path. -1 where it cannot be
 * started or fails.
 */
int nn_start_measure(const char *const *argv, int runs, struct nn_start *start,
		     struct nn_error *err);

/* The path of a program beside the running one, in path[size]; NULL: there is none. */
const char *nn_start_beside(const char *name, char *path, size_t size);

#endif
