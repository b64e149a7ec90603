/* What --explain tells: a network layer by layer, its memory, its time. */
#ifndef NN_TRAIN_PLAN_EXPLAIN_H
#define NN_TRAIN_PLAN_EXPLAIN_H

#include "train/plan/layers.h"
#include "train/plan/scaling.h"
#include "train/plan/suggest.h"

/* From a training whose plan was made (train->fit). */
struct nn_explain {
	const struct nn_train *train;
	struct nn_layers layers;
	size_t largest_batch;
	struct nn_suggestion suggestions[NN_SUGGESTIONS];
	size_t n_suggestions;
	const struct nn_scaling *scaling; /* borrowed */
};

/* For people, and as one JSON object. */
void nn_explain_text(const struct nn_explain *explain, struct nn_text *text);
void nn_explain_json(const struct nn_explain *explain, struct nn_text *text);

#endif
