/*
 * Two equations for two unknowns. With g the mean of the gradients of single samples and S their
 * covariance, a sum over b samples has the expected squared norm b^2 |g|^2 + b tr(S). Parts of a
 * batch and the whole of it have other b; both are free of bias, their quotient is smoothed by
 * averaging above and below apart.
 */
#include <math.h>

#include "step/noise.h"

#define KEEP 0.95          /* of the average at each measured step: about the last twenty count */
#define MEASURED_ROWS 4096 /* in between */

bool nn_noise_due(struct nn_noise *n, uint64_t number, uint64_t rows, uint64_t batch)
{
	if (rows < batch || number < n->next)
		return false;
	n->next = number + (MEASURED_ROWS + batch - 1) / batch;
	return true;
}

void nn_noise_part(struct nn_noise_sums *s, double rows, double squares)
{
	s->part_rows += rows;
	s->part_rows2 += rows * rows;
	s->part_squares += squares;
}

void nn_noise_clear(struct nn_noise_sums *s)
{
	s->part_rows = s->part_rows2 = s->part_squares = 0;
}

void nn_noise_join(struct nn_noise_sums *s, const struct nn_noise_sums *parts)
{
	s->part_rows += parts->part_rows;
	s->part_rows2 += parts->part_rows2;
	s->part_squares += parts->part_squares;
}

void nn_noise_add(struct nn_noise *n, const struct nn_noise_sums *s)
{
	double scale = s->rows * s->rows, share, whole, parts, signal, trace;

	if (s->part_rows <= 0 || !isfinite(s->squares) || !isfinite(s->part_squares))
		return;
	share = s->rows / s->part_rows;
	whole = scale * s->squares;
	parts = scale * s->part_squares * share;
	signal = (whole - parts) / (scale - s->part_rows2 * share);
	trace = (whole - scale * signal) / s->rows;
	n->signal = KEEP * n->signal + (1 - KEEP) * signal;
	n->trace = KEEP * n->trace + (1 - KEEP) * trace;
	n->weight = KEEP * n->weight + (1 - KEEP);
	n->steps++;
}

double nn_noise_scale(const struct nn_noise *n)
{
	if (n->weight <= 0)
		return NAN;
	if (n->trace <= 0)
		return n->signal > 0 ? 0 : NAN;
	return n->signal > 0 ? n->trace / n->signal : INFINITY;
}
