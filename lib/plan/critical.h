/* The critical path: layers of a step of which each waits for the one before, the longest such way.
 */
#ifndef NN_PLAN_CRITICAL_H
#define NN_PLAN_CRITICAL_H

#include "plan/layers.h"

/*
 * Its length is counted in FLOP of training: backward goes the same way as forward, back, so that
 * the longest way of a whole step is that of its layers.
 */
struct nn_critical {
	bool *layer; /* [n] by canonical line: is it on the way? */
	int n;
	double flops, all_flops; /* of one sample: of the way, of all layers */
};

/* Free it in any case. */
int nn_critical_make(struct nn_critical *critical, const struct nn_layers *layers,
		     const struct nn_program *program, struct nn_error *err);
void nn_critical_free(struct nn_critical *critical);
/* A line for people, nothing where all layers are on the way; the names of its layers as an array.
 */
void nn_critical_text(const struct nn_critical *critical, const struct nn_layers *layers,
		      struct nn_text *text);
void nn_critical_json(const struct nn_critical *critical, const struct nn_layers *layers,
		      struct nn_text *json);

#endif
