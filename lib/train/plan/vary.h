/* What a command line can give up so that its plan needs less memory. */
#ifndef NN_TRAIN_PLAN_VARY_H
#define NN_TRAIN_PLAN_VARY_H

#include "train/job.h"

/*
 * From what costs least to what costs most: how the work is done, its precision, how it learns,
 * what is trained. Rows at once are none of them: as many go through as fit.
 */
enum nn_give {
	NN_GIVE_THREADS,
	NN_GIVE_LEAVES,
	NN_GIVE_PRECISION,
	NN_GIVE_OPTIMIZER,
	NN_GIVE_WIDTH,
	NN_GIVE_KINDS
};
/* How many degrees a kind has: --leaves=2, then --leaves=1; rmsprop, then sgd. */
extern const unsigned char nn_give_degrees[NN_GIVE_KINDS];

/* What is given up: degree[kind], 0: nothing of it. */
struct nn_change {
	unsigned char degree[NN_GIVE_KINDS];
	double width; /* the share of the widths of hidden layers that stays */
	size_t rows;  /* rows at once; 0: as many as suit, fewer where only they fit */
};

/* A training as it would be after a change. */
struct nn_variant {
	struct nn_train train;
	struct nn_train_options options;
	struct nn_std_options std;
	struct nn_net *net; /* with other widths; NULL: as it was */
	struct nn_fit fit;
};

/* Has a training this to give up? One that starts from a file keeps its widths, one that goes on
 * from a state all that a state holds. */
bool nn_may_give_up(const struct nn_train *train, int kind);
/* Plan it so. false: the change is none here, or the plan does not fit. Free v in any case. */
bool nn_vary(struct nn_variant *v, const struct nn_train *train, const struct nn_change *change);
void nn_variant_free(struct nn_variant *v);

/* The command line of a variant, quoted for the shell. */
void nn_vary_command(struct nn_text *text, const struct nn_train *train,
		     const struct nn_change *change, const struct nn_variant *v);

#endif
