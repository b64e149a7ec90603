/* The beginning of a data file as a smaller file of the same kind: enough for a plan, however large
 * the data are. */
#ifndef NN_DATA_SAMPLE_H
#define NN_DATA_SAMPLE_H

#include <stdbool.h>
#include "file/input.h"

/* How many rows the whole has for each of the beginning. */
struct nn_sample_share {
	double rows;    /* 1: it is the whole; NaN: nobody can tell (a pipe that goes on) */
	uint64_t total; /* of an array, whose header says so; 0: by the sizes of the files, so about
			 */
};

/*
 * An input named path that gives at most about `most` bytes (before compression) of what path
 * holds: whole lines of a text, whole rows of arrays, as a file of its own in memory. Of a
 * safetensors file all tensors are cut alike. Not more of path is read.
 */
int nn_sample_open(struct nn_input **sample, const char *path, size_t most,
		   struct nn_sample_share *share, struct nn_error *err);

#endif
