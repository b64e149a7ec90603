/* Roofs: multiply-adds in registers, and the memory where the operands of an op lie. */
#include <math.h>

#include "base/memory.h"
#include "bench/machine/peak.h"
#include "bench/machine/roof.h"
#include "device/queue.h"

#define ROOF_S 0.04  /* of one figure */
#define AGAIN_S 0.25 /* of one that was too low */
#define AGAIN 6      /* times */
#define LEAST_LOG 15 /* smaller working sets are as fast as 32 KiB */

/* The largest power of two that is not above span: in a smaller set memory is not slower. */
static int size_of(const struct nn_roofs *r, size_t span)
{
	int log = LEAST_LOG;

	span = span < r->far ? span : r->far;
	while (log + 1 < NN_ROOF_SIZES && (size_t)2 << log <= span)
		log++;
	return log;
}

static const enum nn_peak_memory kinds[] = { NN_PEAK_READ, NN_PEAK_WRITE, NN_PEAK_COPY };
#define N_KINDS (sizeof kinds / sizeof *kinds)

static int measure_there(struct nn_roofs *r, int log, double seconds, struct nn_error *err)
{
	double rate;

	for (size_t i = 0; i < N_KINDS; i++) {
		if (nn_peak_device_memory(r->bench, r->device, kinds[i], (size_t)1 << log, seconds,
					  &rate, err) < 0)
			return -1;
		r->bandwidth[log] = fmax(r->bandwidth[log], rate);
	}
	return 0;
}

static int measure_bandwidth(struct nn_roofs *r, int log, double seconds, struct nn_error *err)
{
	void *memory;

	if (r->device->remote)
		return measure_there(r, log, seconds, err);
	memory = nn_peak_room(r->bench, (size_t)1 << log, err);
	for (size_t i = 0; i < N_KINDS && memory; i++)
		r->bandwidth[log] =
			fmax(r->bandwidth[log],
			     nn_peak_memory(r->bench, kinds[i], memory, (size_t)1 << log, r->device,
					    r->bench->pool, seconds));
	nn_free(memory);
	return memory ? 0 : -1;
}

static int measure_fma(struct nn_roofs *r, double seconds, double *rate, struct nn_error *err)
{
	if (r->device->remote)
		return nn_peak_device_fma(r->bench, r->device, seconds, rate, err);
	*rate = nn_peak_fma(r->bench, r->device, r->bench->pool, seconds);
	return 0;
}

int nn_roofs_init(struct nn_roofs *r, struct nn_bench *bench, const struct nn_device *device,
		  struct nn_error *err)
{
	*r = (struct nn_roofs){ .bench = bench, .device = device };
	if (!device->remote)
		r->far = nn_peak_far_bytes();
	else if (nn_peak_device_far(device, &r->far, err) < 0)
		return -1;
	return measure_fma(r, 3 * ROOF_S, &r->fma, err);
}

int nn_roofs_bandwidth(struct nn_roofs *r, size_t span, double *rate, struct nn_error *err)
{
	int log = size_of(r, span);

	*rate = NAN;
	if (r->device->remote ? !r->device->remote->read : !r->device->read)
		return 0;
	if (r->bandwidth[log] == 0 && measure_bandwidth(r, log, ROOF_S, err) < 0)
		return -1;
	*rate = r->bandwidth[log];
	return 0;
}

int nn_roofs_share(struct nn_roofs *r, const struct nn_roof_work *w, double seconds, double *share,
		   struct nn_error *err)
{
	double rate, fma;

	for (int i = 0;; i++) {
		if (nn_roofs_bandwidth(r, w->span, &rate, err) < 0)
			return -1;
		*share = fmax(w->flop / seconds / r->fma, w->bytes / seconds / rate);
		if (!(*share > 1) || i == AGAIN || nn_bench_stopped(r->bench))
			break;
		if (w->flop / seconds > r->fma) {
			if (measure_fma(r, AGAIN_S, &fma, err) < 0)
				return -1;
			r->fma = fmax(r->fma, fma);
		}
		if (w->bytes / seconds > rate &&
		    measure_bandwidth(r, size_of(r, w->span), AGAIN_S, err) < 0)
			return -1;
	}
	if (*share > 1) {
		nn_bench_note(r->bench, "a figure is above the peak, which stayed too low however "
					"often it was measured: the share is left out");
		*share = NAN;
	}
	return 0;
}

void nn_roofs_put(struct nn_report *r, const struct nn_roof_work *w, double seconds, double share)
{
	nn_report_real(r, "seconds", seconds);
	if (w->flop > 0)
		nn_report_real(r, "gflops", w->flop / seconds * 1e-9);
	nn_report_real(r, "gbytes_s", w->bytes / seconds * 1e-9);
	nn_report_real(r, "peak_share", share);
}
