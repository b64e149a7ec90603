/* What rows say as they pass: right classes, squared errors, and how many were counted. */
#include "device/cpu/kernels.h"

static size_t largest(const real *x, size_t n)
{
	size_t best = 0;
	for (size_t c = 1; c < n; c++)
		if (x[c] > x[best])
			best = c;
	return best;
}

void NN_K(count)(const struct nn_count_call *call)
{
	size_t columns = call->columns, positions = call->rows * call->positions;
	const real *x = call->logits, *y = call->numbers, *weights = call->row_weights;
	for (size_t i = 0; i < positions; i++, x += columns) {
		double weight = weights ? (double)weights[i / call->positions] : 1;
		if (call->classes) {
			int32_t truth = call->classes[i];
			call->counts[NN_COUNT_ALL] += truth >= 0 ? weight : 0;
			call->counts[NN_COUNT_HITS] +=
				truth >= 0 && largest(x, columns) == (size_t)truth ? weight : 0;
			continue;
		}
		if (y[i * columns] != y[i * columns])
			continue; /* masked */
		for (size_t c = 0; c < columns; c++) {
			double off = ((double)x[c] - (double)y[i * columns + c]) *
				     (call->sd ? call->sd[c] : 1);
			call->counts[NN_COUNT_SQUARES] += weight * (off * off);
		}
		call->counts[NN_COUNT_ALL] += weight * (double)columns;
	}
}
