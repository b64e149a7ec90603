/* What a core can do: fused multiply-adds in registers alone, the measure of all products. */
#include "device/cpu/product.h"
#include "device/cpu/vec.h"

#define CHAINS 12                        /* more than latency times units of any core, fewer than registers */

double NN_K(fma_peak)(size_t n)
{
	vr acc[CHAINS], a = v_set((real) 0.999), b = v_set((real) 0.001);
	real lanes[VL];
	NN_UNROLL
	for (int i = 0; i < CHAINS; i++)
		acc[i] = v_set((real) i);
	for (size_t k = 0; k < n; k++) {
		NN_UNROLL
		for (int i = 0; i < CHAINS; i++)
			acc[i] = v_fma(acc[i], a, b);
	}
	NN_UNROLL
	for (int i = 1; i < CHAINS; i++)
		acc[0] = v_add(acc[0], acc[i]);
	v_store(lanes, acc[0]);
	volatile real keep = lanes[0];           /* so that the compiler cannot drop the sums */
	(void) keep;
	return (double) n * CHAINS * VL * 2;
}
