/*
 * How long it takes until the next request comes, by the number of requests that wait for their
 * answers already: in a closed circle of clients the last one is followed by nobody.
 */
#ifndef NN_SERVE_BATCH_GAPS_H
#define NN_SERVE_BATCH_GAPS_H

#include <stddef.h>

/* Numbers of waiting requests that are told apart; more count as the last. */
#define NN_GAP_STATES 65

/* Zero-initialize. Means run, so what was long ago fades. */
struct nn_gaps {
	struct nn_gap {
		double part;            /* how often somebody came before answers went */
		double mean, deviation; /* of the seconds until then */
		unsigned seen;
	} states[NN_GAP_STATES];
	double since; /* when the last request came or the last answers went */
	double rows;  /* of a request */
};

/* A request of so many rows came while `pending` waited. */
void nn_gaps_came(struct nn_gaps *gaps, double now, size_t pending, double rows);
/*
 * Answers go to some of `pending`: what comes from now on comes because of them. can_come: clients
 * that might have come before.
 */
void nn_gaps_answered(struct nn_gaps *gaps, double now, size_t pending, size_t can_come);
/*
 * What is known of the next request while `pending` wait: of the nearest smaller number that was
 * seen, else of a larger one. seen 0: nothing.
 */
struct nn_gap nn_gaps_next(const struct nn_gaps *gaps, size_t pending);
/* For how long it is plausible that somebody still comes. */
double nn_gap_patience(const struct nn_gap *gap);

#endif
