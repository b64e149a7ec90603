/*
 * A model over several processes: each has a run of its nodes, cut so that the largest share of the
 * parameters is as small as can be. Every process finds the same cut in the same file.
 */
#ifndef NN_PREDICT_PART_H
#define NN_PREDICT_PART_H

#include "op/program.h"

#define NN_MOST_PARTS 32

struct nn_part_cut {
	int first, last; /* nodes of the graph: first .. last - 1 */
	int from, to;    /* canonical lines */
	size_t values;   /* of its parameters */
};

/* cuts[parts]; NN_EFAIL: it has fewer nodes than that. */
int nn_part_cuts(struct nn_part_cut *cuts, int parts, const struct nn_program *program,
		 struct nn_error *err);
/* Which parameters has the part? has[n_params] is set where it does. */
int nn_part_params(const struct nn_part_cut *cut, const struct nn_program *program, bool *has,
		   struct nn_error *err);

#endif
