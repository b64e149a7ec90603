/* The highest rate that holds: by doubling and halving, then between the two. */
#ifndef NN_BENCH_LOAD_SEARCH_H
#define NN_BENCH_LOAD_SEARCH_H

#include <stdbool.h>
#include "base/error.h"

struct nn_load_search {
	double first, least, most; /* rates: the one tried first, and its bounds */
	/* Does this rate hold? *stop ends the search. */
	int (*attempt)(void *arg, double rate, bool *holds, bool *stop, struct nn_error *err);
	void *arg;
};

#define NN_LOAD_NEAR 1.05 /* between the answer and a rate that does not hold, at most */

/* *best is 0 where none does. Rates have three digits. */
int nn_load_search(const struct nn_load_search *search, double *best, struct nn_error *err);

#endif
