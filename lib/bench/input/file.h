/* What reading a file of data takes by itself: its bytes, and the same decompressed. */
#ifndef NN_BENCH_INPUT_FILE_H
#define NN_BENCH_INPUT_FILE_H

#include "bench/bench.h"

struct nn_file_times {
	double read_s;       /* for all bytes of the file; NAN: no regular file */
	double decompress_s; /* for all of them, decompressed; NAN: it is not compressed */
};

/* Reads for --time at most, and says what all would take. */
int nn_file_times(struct nn_file_times *times, const struct nn_bench *bench, const char *path,
		  struct nn_error *err);

#endif
