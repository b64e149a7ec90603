/* What --explain tells: a network layer by layer, its memory, its time. */
#ifndef NN_PLAN_EXPLAIN_H
#define NN_PLAN_EXPLAIN_H

#include "plan/critical.h"
#include "plan/scaling.h"
#include "plan/suggest.h"

/* From a training whose plan was made (plan->fit). */
struct nn_explain {
	const struct nn_plan *plan;
	struct nn_layers layers;
	struct nn_critical critical;
	size_t largest_batch;
	struct nn_suggestion suggestions[NN_SUGGESTIONS];
	size_t n_suggestions;
	const struct nn_scaling *scaling; /* borrowed */
	int columns;                      /* of the terminal it is for; 0: of none */
};

/*
 * scaling and columns are the caller's to set. Free it in any case.
 */
int nn_explain_make(struct nn_explain *explain, const struct nn_plan *plan,
		    const struct nn_command *command, struct nn_error *err);
void nn_explain_free(struct nn_explain *explain);
#define NN_PLACEMENT 80
/* "2 ranks x 1 thread on 2 cores"; returns the text. */
const char *nn_placement(char text[NN_PLACEMENT], int ranks, int threads);
/* For people, and as one JSON object. */
void nn_explain_text(const struct nn_explain *explain, struct nn_text *text);
void nn_explain_json(const struct nn_explain *explain, struct nn_text *text);

#endif
