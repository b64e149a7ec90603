/*
 * A version of a model that serves: its weights, the tensors that clients see, a lane, and how many
 * use it. Inside this folder; others see struct nn_served.
 */
#ifndef NN_SERVE_MODELS_VERSION_H
#define NN_SERVE_MODELS_VERSION_H

#include "serve/models/models.h"

/*
 * Where versions go that nobody uses any more: a thread closes them, since the last to give one
 * back may be a worker of its own lane.
 */
struct nn_graves;
int nn_graves_open(struct nn_graves **graves, struct nn_error *err);
/* Waits until all are closed. NULL allowed. */
void nn_graves_close(struct nn_graves *graves);

struct nn_served_setup {
	const char *name, *path;
	uint64_t version;
	const struct nn_models_setup *models;
	struct nn_graves *graves;
};

/* Read, checked and warm; used once, by the caller. */
int nn_served_open(struct nn_served **served, const struct nn_served_setup *setup,
		   struct nn_error *err);
void nn_served_use(struct nn_served *served);
/* Its twin that computes nothing; borrowed. */
struct nn_served *nn_served_null(struct nn_served *served);

/* ports.c: tensors of served->model, inputs and outputs; nn_ports_close in any case. */
int nn_ports_open(struct nn_served *served, struct nn_error *err);
void nn_ports_close(struct nn_served *served);

#endif
