/* A rank of nn-allreduce: what its file and its stream share. */
#ifndef NN_REDUCE_RANK_H
#define NN_REDUCE_RANK_H

#include "reduce/arrays.h"

struct nn_rank {
	const struct nn_allreduce *job;
	struct nn_comm *comm;
	bool attached; /* to a process that started it */
	struct nn_arrays arrays;
	struct nn_output *output; /* NULL: this rank writes nothing */
	char *input_name, *output_name;
	struct nn_block result;       /* a piece of it */
	struct nn_reduce_found found; /* in the last result */
};

/* The text with every %r replaced; the caller frees it. */
char *nn_allreduce_name(const char *pattern, int rank, struct nn_error *err);
/*
 * Every rank writes where the name has %r; frames go where each rank's standard output leads; else
 * rank 0 writes.
 */
int nn_rank_open_output(struct nn_rank *rank, struct nn_error *err);
/* Are options and program of all ranks the same? 0, -1, or a status that rank 0 explains. */
int nn_rank_agree(struct nn_rank *rank, struct nn_error *err);
/*
 * Of what all ranks know alike rank 0 speaks: there the status, on others that of the error, which
 * rank 0 explains.
 */
int nn_rank_said_by_first(const struct nn_rank *rank, int status, struct nn_error *err);
/*
 * Puts the rank before an error about its input, where a name that all ranks have does not tell
 * whose it is; -1.
 */
int nn_rank_fail(const struct nn_rank *rank, struct nn_error *err);
/*
 * A tensor of all ranks, piece by piece to the output, or whole to `whole`. 0, -1, or a status that
 * another rank explains.
 */
int nn_rank_reduce(struct nn_rank *rank, const struct nn_st_tensor *tensor, char *whole,
		   struct nn_error *err);
/* .npy arrays step after step, until all ranks end together. The same. */
int nn_rank_stream(struct nn_rank *rank, struct nn_error *err);

#endif
