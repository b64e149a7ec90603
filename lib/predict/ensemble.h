/*
 * Several models of one question: what their answers must have in common, and the mean of these.
 *
 * What is averaged is what each model prints alone: probabilities of classes, numbers in their
 * units. Sums are f64 in the order of the members, divided once and rounded once to the type that
 * all of them compute in, so that another order changes the last bit of a number at most. Classes
 * and columns have the order of the first member; the others' are found by name.
 */
#ifndef NN_PREDICT_ENSEMBLE_H
#define NN_PREDICT_ENSEMBLE_H

#include "predict/emit.h"

struct nn_ensemble;

struct nn_ensemble_member {
	const char *path; /* for messages */
	const struct nn_model *model;
};

/*
 * Members, of the same type, are borrowed. NN_EFORMAT: they answer different questions, which names
 * two of them.
 */
int nn_ensemble_new(struct nn_ensemble **ensemble, const struct nn_ensemble_member *members,
		    size_t n, size_t max_rows, struct nn_error *err);
void nn_ensemble_free(struct nn_ensemble *ensemble);
/* The first rows of member k's session, after its run: 0 begins, n - 1 completes the means. */
void nn_ensemble_add(struct nn_ensemble *ensemble, size_t k, const struct nn_session *session,
		     size_t rows);
/* [rows][positions][columns] of an output: probabilities, or numbers in their units. */
const void *nn_ensemble_mean(const struct nn_ensemble *ensemble, size_t output);
/* The same with numbers standardized as the first member does it, as nn_session_raw gives them. */
const void *nn_ensemble_raw(const struct nn_ensemble *ensemble, size_t output);

#endif
