/*
 * The noise scale of the gradient: up to about which batch more samples in a step buy fewer steps.
 *
 * A batch that goes through at once is cut in two spans in measured steps; its left half waits in
 * the scratch of the optimizer, so that no memory is planned for it. With several ranks each
 * measures its own parts, which travel with its report of the step. One step in 4096 / batch is
 * measured, logged or not, so that the figure does not depend on the clock.
 */
#ifndef NN_STEP_NOISE_H
#define NN_STEP_NOISE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a step measured: sums of gradients of single samples over parts of its batch and over the
 * whole, each divided by the same number, and their squared norms. Parts do not overlap; they need
 * not be all of the batch.
 */
struct nn_noise_sums {
	double rows, squares; /* the whole */
	/* over parts: sum of rows, of rows^2, of squared norms; 0 rows: none was measured */
	double part_rows, part_rows2, part_squares;
};

void nn_noise_part(struct nn_noise_sums *sums, double rows, double squares);
/* Parts that others measured: none of them first, then those of one rank after the other. */
void nn_noise_clear(struct nn_noise_sums *sums);
void nn_noise_join(struct nn_noise_sums *sums, const struct nn_noise_sums *parts);

/*
 * Measured steps from which on a sentence on it is worth saying. By simulation of ten independent
 * directions, a batch of 64 in four leaves and a noise scale of that size: after 3 steps 21 % of the
 * figures are wrong by a factor of two or more, after 10 steps 3 %, after 20 0.2 %. More directions
 * need fewer; averages forget what is older (noise.c:KEEP).
 */
#define NN_NOISE_STEPS 20

/* Averages over steps, newer ones count more. Zero-initialize. */
struct nn_noise {
	double trace, signal, weight; /* of tr(covariance), |mean gradient|^2, and of 1 */
	uint64_t steps;               /* measured so far */
	uint64_t next;                /* the earliest step to be measured next */
};

/*
 * Is step `number`, from 0, of `rows` rows to be measured? The smaller batch at the end of an epoch
 * never is. Steps are measured so rarely that it takes less than 1 %: about half a step of 64 rows
 * every 4096 samples.
 */
bool nn_noise_due(struct nn_noise *noise, uint64_t number, uint64_t rows, uint64_t batch);
/* With steps of which nothing was measured it stays as it is. */
void nn_noise_add(struct nn_noise *noise, const struct nn_noise_sums *sums);
/*
 * tr(covariance) / |mean|^2 of the gradients of single samples: McCandlish et al. 2018, An
 * Empirical Model of Large-Batch Training, appendix A.1. NAN: nothing was measured; INFINITY: the
 * mean cannot be distinguished from the noise by what was measured.
 */
double nn_noise_scale(const struct nn_noise *noise);

#endif
