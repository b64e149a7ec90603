/*
 * Area under the ROC curve of two classes: the probability that a row of the second class has a
 * higher score than one of the first, where equal scores count half.
 *
 * Rows come in order and are kept by score, so the area is exact while there are at most
 * NN_AUC_SCORES / 2 different ones, however many rows. Beyond that scores lose as many of their
 * last bits as it takes, from 23 on: memory is bounded, and the same rows give the same bytes.
 */
#ifndef NN_PREDICT_SCORE_AUC_H
#define NN_PREDICT_SCORE_AUC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NN_AUC_SCORES ((size_t)1 << 21) /* kept at once: 48 MiB, twice that while they are sorted \
					 */

/* Weights of the rows with a score, of the first class and of the second. */
struct nn_auc_score {
	double score, weight[2];
};

/* All zeros to begin with. */
struct nn_auc {
	struct nn_auc_score *scores;
	size_t n, n_sorted, room; /* those that are sorted are different */
	unsigned dropped;         /* last bits of a score that count no more */
	bool undefined;           /* a score was not a number, or memory was short */
};

/* Bytes that n rows take at most, while they are sorted. */
size_t nn_auc_bytes(size_t n);
void nn_auc_free(struct nn_auc *auc);
void nn_auc_reset(struct nn_auc *auc);
void nn_auc_add(struct nn_auc *auc, double score, bool second, double weight);
/* scores[n] are different and ascend. */
void nn_auc_sort(struct nn_auc *auc);
/* 0 without rows of both classes, NaN where it is undefined. */
double nn_auc_area(struct nn_auc *auc);

#endif
