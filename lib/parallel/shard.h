/*
 * --shard-optimizer: of ranks with the same parameters each keeps a part of the optimizer's state,
 * and updates that part.
 *
 * A shard is a run of whole blocks of 4096 elements of the flat block: floor(b r / n) to floor(b
 * (r + 1) / n) of b blocks for rank r of n. Slots of all shards come together for a state where
 * the gradients lie, between steps.
 */
#ifndef NN_PARALLEL_SHARD_H
#define NN_PARALLEL_SHARD_H

struct nn_layout;
struct nn_worker;

/*
 * Ranks that have the same parameters, over which a state is shared out; in a plan as the options
 * say. At least 1.
 */
int nn_shard_ranks(const struct nn_layout *layout);
/* The step was made: its optimizer learns of the other ranks, of stages too. */
void nn_shard_attach(struct nn_worker *worker);

#endif
