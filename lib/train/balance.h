/*
 * --class-weight: what each class counts in the loss.
 *
 * A class without training rows has weight 1.
 */
#ifndef NN_TRAIN_BALANCE_H
#define NN_TRAIN_BALANCE_H

#include "train/job.h"

/*
 * Weights of the classes of output i into its loss: as they were given, or n / (k c) where c of the
 * n targets of the training rows that are not ignored have the class and k classes occur
 * (scikit-learn's "balanced"). Needs the rows and the loss's ignore.
 */
int nn_balance_take(struct nn_train *train, int i, struct nn_error *err);
void nn_balance_free(struct nn_train *train);

#endif
