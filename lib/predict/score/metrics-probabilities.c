/*
 * The loss of probabilities that come without logits, as a mean of models does: -log of what the
 * truth was given.
 */
#include <float.h>
#include <math.h>

#include "base/logarithm.h"
#include "base/real.h"
#include "predict/score/metrics-sums.h"

static double surprise(double p, enum nn_dtype dtype)
{
	double least = dtype == NN_F64 ? DBL_MIN : (double)FLT_MIN;

	return isnan(p) ? p : -nn_logarithm(p > least ? p : least);
}

/* What column c of a place adds: its share of the truth times the weight of the class. */
static double column_loss(const struct nn_loss_call *call, enum nn_dtype dtype, size_t place,
			  size_t c)
{
	size_t i = place * call->columns + c;
	double p = nn_real_at(dtype, call->logits, i), t, loss;

	if (call->classes)
		t = call->classes[place] == (int32_t)c;
	else if (isnan(nn_real_at(dtype, call->numbers, place * call->columns)))
		return 0; /* masked */
	else
		t = nn_real_at(dtype, call->numbers, i);
	loss = t == 0 ? 0 : t * surprise(p, dtype);
	if (call->kind == NN_LOSS_BCE)
		return (loss + (t == 1 ? 0 : (1 - t) * surprise(1 - p, dtype))) /
		       (double)call->columns;
	return call->class_weights ? loss * nn_real_at(dtype, call->class_weights, c) : loss;
}

void nn_probability_loss(const struct nn_loss_call *call, enum nn_dtype dtype)
{
	for (size_t r = 0; r < call->rows; r++) {
		double sum = 0;

		for (size_t p = 0; p < call->positions; p++)
			for (size_t c = 0; c < call->columns; c++)
				sum += column_loss(call, dtype, r * call->positions + p, c);
		nn_real_put(dtype, call->row_loss, r, sum);
	}
}
