/* What the machine can do at most, measured in the same run as what is held against it. */
#ifndef NN_BENCH_MACHINE_PEAK_H
#define NN_BENCH_MACHINE_PEAK_H

#include "bench/bench.h"
#include "device/device.h"

/*
 * FLOP/s of fused multiply-adds in registers on all threads of pool, in the device's type; NAN
 * where the device cannot say.
 */
double nn_peak_fma(const struct nn_bench *bench, const struct nn_device *device,
		   struct nn_pool *pool, double seconds);

enum nn_peak_memory { NN_PEAK_READ, NN_PEAK_WRITE, NN_PEAK_COPY };
/*
 * B/s that all threads of pool move together in `bytes` of memory (nn_peak_room) in all, each in
 * its own part: bytes read, bytes written, or both of a copy (from one half into the other); NAN
 * where the device cannot say.
 */
double nn_peak_memory(const struct nn_bench *bench, enum nn_peak_memory what, void *memory,
		      size_t bytes, const struct nn_device *device, struct nn_pool *pool,
		      double seconds);
/* Memory for that on all threads of the bench, in pages of its own; free it with nn_free. */
void *nn_peak_room(const struct nn_bench *bench, size_t bytes, struct nn_error *err);

/* A working set that no cache holds. */
size_t nn_peak_far_bytes(void);

/*
 * The same of all of a device with memory of its own, in memory there: NAN where it cannot say; -1:
 * it failed. far: a working set that fits, and no cache holds.
 */
int nn_peak_device_fma(const struct nn_bench *bench, const struct nn_device *device, double seconds,
		       double *rate, struct nn_error *err);
int nn_peak_device_memory(const struct nn_bench *bench, const struct nn_device *device,
			  enum nn_peak_memory what, size_t bytes, double seconds, double *rate,
			  struct nn_error *err);
int nn_peak_device_far(const struct nn_device *device, size_t *bytes, struct nn_error *err);

#endif
