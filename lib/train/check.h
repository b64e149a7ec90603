/* Inside the checks of the command line: those of ranks (check-ranks.c). */
#ifndef NN_TRAIN_CHECK_H
#define NN_TRAIN_CHECK_H

#include "train/train.h"

/* Options that the strategy has no use for, or that exclude each other. */
int nn_check_strategy(const struct nn_train_setup *setup, struct nn_error *err);
/*
 * Ranks that no batch has leaves for, whatever the network: a batch-norm group may be one row. Said
 * before processes are started; what the network says of it they find themselves.
 */
int nn_check_ranks(const struct nn_train_setup *setup, struct nn_error *err);

#endif
