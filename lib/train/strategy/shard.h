/* --shard-optimizer: of ranks with the same parameters each keeps a part of the optimizer's state,
 * and updates that part. */
#ifndef NN_TRAIN_STRATEGY_SHARD_H
#define NN_TRAIN_STRATEGY_SHARD_H

#include "base/error.h"

struct nn_train;

/* Ranks that have the same parameters, over which a state is shared out; in a plan as the options
 * say. At least 1. */
int nn_shard_ranks(const struct nn_train *train);
/* The step was made: its optimizer learns of the other ranks, of stages too. */
int nn_shard_attach(struct nn_train *train, struct nn_error *err);

#endif
