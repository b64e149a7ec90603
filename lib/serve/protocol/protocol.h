/*
 * What is said over HTTP: TensorFlow Serving v1, Open Inference Protocol v2, CSV, JSON lines and
 * .npy, health, metrics, administration. One router for all paths; authorization before dispatch.
 */
#ifndef NN_SERVE_PROTOCOL_PROTOCOL_H
#define NN_SERVE_PROTOCOL_PROTOCOL_H

#include "serve/batch/batch.h"
#include "serve/http/http.h"
#include "serve/models/models.h"

struct nn_protocol;
struct nn_keys;  /* keys.h */
struct nn_board; /* board.h */
struct nn_leash; /* leash.h */
struct nn_ranks; /* ranks/ranks.h */

struct nn_protocol_setup {
	struct nn_models *models;
	struct nn_batcher *batcher;
	const struct nn_keys *keys;   /* NULL: no key file */
	const struct nn_board *board; /* where all is counted */
	struct nn_leash *leash;       /* NULL: one process serves alone */
	struct nn_ranks *ranks;       /* NULL: models are whole */
	unsigned max_depth;           /* of JSON */
	size_t max_batch;             /* rows, as the configuration of a model tells */
	bool triton_metrics;          /* --metrics-compat=triton */
};

int nn_protocol_open(struct nn_protocol **protocol, const struct nn_protocol_setup *setup,
		     struct nn_error *err);
void nn_protocol_close(struct nn_protocol *protocol);
/* What struct nn_http_setup calls; arg is the protocol. */
void nn_protocol_handle(void *arg, struct nn_exchange *exchange);
void nn_protocol_ended(void *arg, struct nn_exchange *exchange, unsigned status, size_t bytes_out);
/* Not ready from now on: what is accepted is answered. */
void nn_protocol_drain(struct nn_protocol *protocol);

#endif
