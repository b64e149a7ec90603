/*
 * --plot: what a training looked like, drawn anew as it goes on.
 *
 * A plot shows the steps of this run only: a state keeps no times, so that its bytes stay the
 * same.
 */
#ifndef NN_TRAIN_TELL_CURVE_H
#define NN_TRAIN_TELL_CURVE_H

#include <stdint.h>
#include "base/error.h"

struct nn_curve;
struct nn_train;

/*
 * path NULL: *curve is NULL, which all below take and do nothing. Opens the output, so that a bad
 * place is known before work begins.
 */
int nn_curve_open(struct nn_curve **curve, const char *path, struct nn_error *err);
void nn_curve_free(struct nn_curve *curve); /* what was not written stays as it was */

/* A step done; seconds of its own. Memory does not grow with steps. */
void nn_curve_step(struct nn_curve *curve, uint64_t step, double loss, double weight, uint64_t rows,
		   double seconds);
/*
 * An evaluation after that step: loss of the held-out rows (NaN: none), the metric, and whether it
 * is the best so far.
 */
void nn_curve_evaluation(struct nn_curve *curve, uint64_t step, double valid_loss, double metric,
			 bool best);

/*
 * Write the picture; not the last: only where that replaces a file, and not more often than every
 * few seconds.
 */
int nn_curve_write(struct nn_curve *curve, const struct nn_train *train, bool last,
		   struct nn_error *err);

#endif
