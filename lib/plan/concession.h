/*
 * What a training can do without so that its plan needs less memory, and the command line that says
 * so.
 */
#ifndef NN_PLAN_CONCESSION_H
#define NN_PLAN_CONCESSION_H

#include "base/option.h"
#include "base/text.h"
#include "plan/plan.h"

/*
 * From what costs least to what costs most: how the work is done, its precision, how it learns.
 * What is trained stays: a narrower network is another one. Rows at once are none of them: as many
 * go through as fit.
 */
enum {
	NN_RECOMPUTE,
	NN_LESS_THREADS,
	NN_LESS_LEAVES,
	NN_LESS_PRECISION,
	NN_LESS_OPTIMIZER,
	NN_CONCESSIONS
};

extern const struct nn_concession_kind {
	const char *options[4]; /* of the command line that it replaces; the first one says it */
	/* --leaves=2, then --leaves=1; an optimizer with one slot, then one with none */
	unsigned char levels;
} nn_concession_kinds[NN_CONCESSIONS];

/* A set of them. */
struct nn_concession {
	unsigned char level[NN_CONCESSIONS]; /* 0: nothing of it */
};

/* A plan as it would be. */
struct nn_variant {
	struct nn_plan plan; /* of the two below */
	struct nn_task task;
	struct nn_recipe recipe;
};

/* The command line that a plan is made for. */
struct nn_command {
	const struct nn_opt_list *list;
	const char *model, *data_path, *targets_path; /* paths NULL: not given */
	bool resumes;                                 /* it goes on from a state */
};

/* Has a training this to give? One that goes on from a state keeps all that a state holds. */
bool nn_may_concede(const struct nn_plan *plan, const struct nn_command *command, int kind);
/*
 * Plan it so, of ranks with room for the norms of a --log that may be added. false: there is no
 * such thing to give, or the plan does not fit.
 */
bool nn_concede(struct nn_variant *v, const struct nn_plan *plan, const struct nn_concession *c);
/* What the command line of a variant that fits takes, as nn_fit_need has it. */
size_t nn_variant_need(struct nn_variant *v, const struct nn_plan *plan);
/* The command line of a variant, quoted for the shell. */
void nn_variant_command(struct nn_text *text, const struct nn_command *command,
			const struct nn_concession *c, const struct nn_variant *v);

#endif
