/* What a device can do at most: multiply-adds in registers alone, and reading alone. */
#include "device/cuda/phase.h"

NN_MAP(peak_fma, struct nn_peak_args)
{
	real chain[NN_PEAK_CHAINS], sum = 0;
	for (int k = 0; k < NN_PEAK_CHAINS; k++)
		chain[k] = (real)(i + (size_t)k);
	NN_AHEAD
	for (size_t round = 0; round < a->rounds; round++)
		for (int k = 0; k < NN_PEAK_CHAINS; k++)
			chain[k] = v_fma(chain[k], a->factor, a->term);
	for (int k = 0; k < NN_PEAK_CHAINS; k++)
		sum = v_add(sum, chain[k]);
	((real *)a->to)[i] = sum; /* so that the compiler cannot drop the chains */
}

/* Each round begins elsewhere, so that it has to be read anew. */
NN_MAP(peak_read, struct nn_peak_args)
{
	uint32_t found = 0;
	for (size_t round = 0; round < a->rounds; round++) {
		NN_AHEAD
		for (size_t k = (i + round) % a->n; k < a->wide; k += a->n) {
			const struct nn_wide *w = a->from + k;
			found += w->word[0] ^ w->word[1] ^ w->word[2] ^ w->word[3];
		}
	}
	((uint32_t *)a->to)[i] = found;
}
