/*
 * The loss of probabilities that come without logits, as a mean of models does: -log of what the
 * truth was given.
 */
#include <float.h>
#include <math.h>

#include "base/real.h"
#include "predict/metrics-sums.h"

/*
 * The natural logarithm by its series, with the same bytes on every machine: log(2^k m) = k log 2 +
 * 2 artanh(s), s = (m - 1) / (m + 1), sqrt(1/2) <= m < sqrt(2), so that s^2 < 0.0295 and the terms
 * left out are below 2^-58.
 */
static double natural_log(double x)
{
	int k;
	double m = frexp(x, &k), s, square, sum = 0;

	if (m < 0.70710678118654752) {
		m *= 2;
		k--;
	}
	s = (m - 1) / (m + 1);
	square = s * s;
	for (int i = 21; i > 0; i -= 2)
		sum = sum * square + 1.0 / i;
	return k * 0.69314718055994531 + 2 * s * sum;
}

static double surprise(double p, enum nn_dtype dtype)
{
	double least = dtype == NN_F64 ? DBL_MIN : (double)FLT_MIN;

	return isnan(p) ? p : -natural_log(p > least ? p : least);
}

/* What column c of a place adds: its share of the truth times the weight of the class. */
static double column_loss(const struct nn_loss_call *call, enum nn_dtype dtype, size_t place,
			  size_t c)
{
	size_t i = place * call->columns + c;
	double p = nn_real_at(dtype, call->logits, i), t, loss;

	if (call->classes)
		t = call->classes[place] == (int32_t)c;
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
