/*
 * What bounds an op: the roofs of this machine, measured in the same run, and how near a figure
 * comes to the one above it.
 */
#ifndef NN_BENCH_MACHINE_ROOF_H
#define NN_BENCH_MACHINE_ROOF_H

#include "bench/bench.h"
#include "device/device.h"

#define NN_ROOF_SIZES 48

struct nn_roofs {
	struct nn_bench *bench;
	const struct nn_device *device;
	double fma; /* FLOP/s; NAN: not known */
	size_t far; /* bytes from which on no cache holds them */
	/*
	 * B/s in working sets of 2^i bytes, the most of reading, writing and copying; 0: not
	 * measured yet
	 */
	double bandwidth[NN_ROOF_SIZES];
};

/* What a pass does at least, in working sets of `span` bytes. */
struct nn_roof_work {
	double flop, bytes;
	size_t span;
};

int nn_roofs_init(struct nn_roofs *roofs, struct nn_bench *bench, const struct nn_device *device,
		  struct nn_error *err);
/* B/s that memory of that many bytes in use gives; measured when it is asked for first. */
int nn_roofs_bandwidth(struct nn_roofs *roofs, size_t span, double *rate, struct nn_error *err);
/* The columns seconds, gflops, gbytes_s and peak_share of what was measured. */
void nn_roofs_put(struct nn_report *report, const struct nn_roof_work *work, double seconds,
		  double share);
/*
 * What share of the roof above it so much work in so many seconds is. A figure above a roof says
 * that the roof was measured too low, on a machine that was disturbed: it is measured again. NAN:
 * the roof is not known, or stays below, which a note then says.
 */
int nn_roofs_share(struct nn_roofs *roofs, const struct nn_roof_work *work, double seconds,
		   double *share, struct nn_error *err);

#endif
