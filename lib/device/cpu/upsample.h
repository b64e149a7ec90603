/* Where a pixel of a bilinear upsample comes from. */
#ifndef NN_DEVICE_CPU_UPSAMPLE_H
#define NN_DEVICE_CPU_UPSAMPLE_H

#include "device/cpu/cpu.h"

/* Place `at` of the output lies between two of the input. */
struct nn_between {
	size_t low, high;
	vr of_low, of_high;
};

/* Halves of pixels count where corners do not; as torch.nn.Upsample has it. */
NN_INLINE struct nn_between nn_between(size_t at, size_t n, size_t scale, bool corners)
{
	double place =
		corners ? (n * scale > 1 ? (double)at * (double)(n - 1) / (double)(n * scale - 1)
					 : 0)
			: ((double)at + 0.5) / (double)scale - 0.5;
	struct nn_between b;
	place = place < 0 ? 0 : place;
	b.low = (size_t)place;
	b.low = b.low < n ? b.low : n - 1;
	b.high = b.low + 1 < n ? b.low + 1 : b.low;
	place -= (double)b.low;
	b.of_low = v_set((real)(1 - place));
	b.of_high = v_set((real)place);
	return b;
}

#endif
