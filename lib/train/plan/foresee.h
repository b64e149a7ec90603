/* A step of several ranks before they have run: its time, and the bytes that go through rank 0. */
#ifndef NN_TRAIN_PLAN_FORESEE_H
#define NN_TRAIN_PLAN_FORESEE_H

#include "train/plan/pace.h"

struct nn_foreseen {
	double step_s; /* NaN: not known */
	double bytes; /* of a step, sent and received by rank 0, memory shared with others included;
			 NaN: not known */
	double busiest, idle; /* of a pipeline: the busiest stage's share of the work; what all
				 stand still, by the formula */
	char basis[120];      /* what it rests on; where it is not known, which figure is missing */
};

/*
 * Of a training of so many ranks, or of a plan, whatever its strategy; `sharing` of them are on the
 *cores of this one. A pipeline needs to be divided.
 *
 *	sync		a step of one with as many threads, its largest share of the leaves, and an
 *all-reduce of the gradients
 *	master		the same; but sums of all ranks go to rank 0 one after the other, which
 *makes the whole update, and parameters back
 *	local:H		the same; but each rank makes the whole update, and each H-th step
 *parameters and slots are averaged
 *	async		the turn of a rank, messages and update included, divided by how many
 *compute; not less than messages and update of the server, nor than what all take of the cores
 *	pipeline	all stages once, and the busiest once more for each further micro-batch; what
 *crosses bounds. Stages take what their nodes took, where they were measured, and what it takes to
 *add up micro-batches
 *	tensor		of a step of one the share of the products that is not shared by whole
 *vectors of channels; what is exchanged, by the bytes
 */
void nn_foresee(const struct nn_train *train, const struct nn_pace *pace, int ranks, int sharing,
		struct nn_foreseen *foreseen);

/* Seconds of a step of sync. */
double nn_foresee_sync(const struct nn_train *train, const struct nn_pace *pace,
		       const struct nn_link *link, int ranks, int sharing);
/* Bytes of gradients that ranks of sync add; tables send the rows that were met, which are few. */
double nn_foresee_gradients(const struct nn_train *train);

/* The link that its strategy goes by. */
void nn_foresee_link(const struct nn_train *train, int ranks, struct nn_link *link);

#endif
