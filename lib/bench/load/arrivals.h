/*
 * When requests are to be sent, in seconds from the start: at random (a Poisson process), evenly,
 * or as a file has recorded it. The same times for the same seed.
 */
#ifndef NN_BENCH_LOAD_ARRIVALS_H
#define NN_BENCH_LOAD_ARRIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

extern const char *const nn_load_arrival_names[]; /* "poisson", "constant"; NULL at the end */
/* Does a value of --arrivals name a file? */
bool nn_load_arrivals_file(const char *value);

/* A recorded trace: times in order, the first 0. */
struct nn_load_trace {
	double *times;
	size_t n;
};
/*
 * Times in seconds, one a line and in order; empty lines and what follows # do not count. Those of
 * a log may begin anywhere. Errors name the line.
 */
int nn_load_trace_read(struct nn_load_trace *trace, const char *path, struct nn_error *err);
void nn_load_trace_free(struct nn_load_trace *trace);
/* Requests a second, from the first to the last; NAN of fewer than two, or all at once. */
double nn_load_trace_rate(const struct nn_load_trace *trace);

struct nn_load_arrivals {
	bool poisson;
	const struct nn_load_trace *trace; /* NULL: by rate */
	double rate;  /* requests a second; of a trace 0: as recorded, else it is played faster or
			 slower */
	double limit; /* seconds after which none comes */
	uint64_t seed;
	/* ---- inside ---- */
	uint64_t i;
	double at;
};
/* The next one, or INFINITY after the last. */
double nn_load_arrivals_next(struct nn_load_arrivals *arrivals);

#endif
