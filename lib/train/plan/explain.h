/* What --explain tells: a network layer by layer, its memory, its time. */
#ifndef NN_TRAIN_PLAN_EXPLAIN_H
#define NN_TRAIN_PLAN_EXPLAIN_H

#include "train/plan/scaling.h"
#include "train/plan/suggest.h"

/* A canonical line, of one sample. Counts that do not fit are UINT64_MAX. */
struct nn_explain_layer {
	int line;
	const char *name, *layer;
	struct nn_shape output;
	uint64_t parameters, forward_flops, train_flops;
	size_t activation_bytes;
	bool product;                    /* dense, conv2d */
};

struct nn_explain {
	const struct nn_train *train;
	struct nn_explain_layer *layers;         /* [n_layers] */
	int n_layers;
	uint64_t parameters;
	size_t largest_batch;
	struct nn_suggestion suggestions[NN_SUGGESTIONS];
	size_t n_suggestions;
	const struct nn_scaling *scaling;        /* borrowed */
};

/* The layers alone. */
int nn_explain_layers(struct nn_explain *explain, const struct nn_train *train, struct nn_error *err);
/* From a training whose plan was made (train->fit). Free it in any case. */
int nn_explain_make(struct nn_explain *explain, const struct nn_train *train, struct nn_error *err);
void nn_explain_free(struct nn_explain *explain);

#define NN_DURATION 32
/* "1.24 ms", "3.33 h"; returns the text. */
const char *nn_duration(char text[NN_DURATION], double seconds);

/* The strategy that was asked for. */
const char *nn_explain_strategy(const struct nn_train *train);

void nn_explain_text(const struct nn_explain *explain, struct nn_text *text);
void nn_explain_json(const struct nn_explain *explain, struct nn_text *text);

#endif
