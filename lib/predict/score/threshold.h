/*
 * The probability from which on a row is taken for the second of two classes, found on rows whose
 * classes are known.
 */
#ifndef NN_PREDICT_SCORE_THRESHOLD_H
#define NN_PREDICT_SCORE_THRESHOLD_H

#include "predict/score/auc.h"

enum nn_threshold_by { NN_THRESHOLD_NONE, NN_THRESHOLD_F1, NN_THRESHOLD_YOUDEN };

/* Words for them, NULL at the end: of nn-train --threshold, and in model files. */
extern const char *const nn_threshold_words[];

struct nn_threshold {
	enum nn_threshold_by by; /* NONE: there is none */
	double value;            /* above 0 */
	double figure;           /* F1 of the second class, or J, with this threshold */
};

/*
 * Of all scores above 0 the one with the largest F1 (2 tp / (2 tp + fp + fn)) or Youden's J (tp / p
 * - fp / n) of rows at and above it; the smallest of equals. false: undefined, there are none, or
 * rows of one class alone.
 */
bool nn_threshold_find(struct nn_auc *auc, enum nn_threshold_by by, struct nn_threshold *found);

#endif
