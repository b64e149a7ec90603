/* What a command line can give up so that its plan needs less memory. */
#ifndef NN_PLAN_VARY_H
#define NN_PLAN_VARY_H

#include "base/option.h"
#include "base/text.h"
#include "plan/plan.h"

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
/*
 * How many degrees a kind has: --leaves=2, then --leaves=1; an optimizer with one slot, then one
 * with none.
 */
extern const unsigned char nn_give_degrees[NN_GIVE_KINDS];

enum nn_optimizer_kind nn_give_optimizer(int degree);

/* What is given up: degree[kind], 0: nothing of it. */
struct nn_change {
	unsigned char degree[NN_GIVE_KINDS];
	double width; /* the share of the widths of hidden layers that stays */
	size_t rows;  /* rows at once; 0: as many as suit, fewer where only they fit */
};

/* A plan as it would be after a change. */
struct nn_variant {
	struct nn_plan plan; /* of the two below */
	struct nn_task task;
	struct nn_recipe recipe;
	struct nn_net *net; /* with other widths; NULL: as it was */
};

/* The command line that a plan is made for. */
struct nn_command {
	const struct nn_opt_list *list;
	const char *model, *data_path, *targets_path; /* paths NULL: not given */
	bool resumes, starts; /* it goes on from a state; it starts from a model file */
};

/*
 * Has a training this to give up? One that starts from a file keeps its widths, one that goes on
 * from a state all that a state holds.
 */
bool nn_may_give_up(const struct nn_plan *plan, const struct nn_command *command, int kind);
/*
 * Plan it so, of ranks with room for the norms of a --log that may be added. false: the change is
 * none here, or the plan does not fit. Free v in any case.
 */
bool nn_vary(struct nn_variant *v, const struct nn_plan *plan, const struct nn_change *change);
void nn_variant_free(struct nn_variant *v);
/* What the command line of a variant that fits takes, as nn_fit_need has it. */
size_t nn_vary_need(struct nn_variant *v, const struct nn_plan *plan);

/* The command line of a variant, quoted for the shell. */
void nn_vary_command(struct nn_text *text, const struct nn_command *command,
		     const struct nn_change *change, const struct nn_variant *v);

#endif
