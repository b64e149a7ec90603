/*
 * What a core can do: fused multiply-adds in registers alone, the measure of all products; reading
 * alone, that of memory.
 */
#include "device/cpu/kernels.h"
#include "device/cpu/product/product.h"
#include "device/cpu/vec/vec.h"

#define CHAINS 12 /* more than latency times units of any core, fewer than registers */

double NN_K(fma_peak)(size_t n)
{
	vr acc[CHAINS], a = v_set((real)0.999), b = v_set((real)0.001);
	real lanes[VL];
	NN_UNROLL
	for (int i = 0; i < CHAINS; i++)
		acc[i] = v_set((real)i);
	for (size_t k = 0; k < n; k++) {
		NN_UNROLL
		for (int i = 0; i < CHAINS; i++)
			acc[i] = v_fma(acc[i], a, b);
	}
	NN_UNROLL
	for (int i = 1; i < CHAINS; i++)
		acc[0] = v_add(acc[0], acc[i]);
	v_store(lanes, acc[0]);
	volatile real keep = lanes[0]; /* so that the compiler cannot drop the sums */
	(void)keep;
	return (double)n * CHAINS * VL * 2;
}

/*
 * Additions would take longer than loads do from the first cache: a register is added to once for
 * two loads.
 */
double NN_K(read_peak)(const void *memory, size_t bytes)
{
	const real *p = memory;
	vr acc[8];
	real lanes[VL], sum = 0;
	NN_UNROLL
	for (int i = 0; i < 8; i++)
		acc[i] = v_set((real)0);
	for (size_t n = bytes / sizeof(real); n > 0; n -= 16 * VL, p += 16 * VL) {
		NN_UNROLL
		for (int i = 0; i < 8; i++)
			acc[i] =
				v_fma(v_load(p + 2 * i * VL), v_load(p + (2 * i + 1) * VL), acc[i]);
	}
	NN_UNROLL
	for (int i = 1; i < 8; i++)
		acc[0] = v_add(acc[0], acc[i]);
	v_store(lanes, acc[0]);
	for (int i = 0; i < VL; i++)
		sum += lanes[i];
	return (double)sum;
}
