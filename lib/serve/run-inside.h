/* Inside the life of a server: what a process that serves has, opened in order and closed. */
#ifndef NN_SERVE_RUN_INSIDE_H
#define NN_SERVE_RUN_INSIDE_H

#include <signal.h>

#include "serve/access-log.h"
#include "serve/board.h"
#include "serve/leash.h"
#include "serve/protocol/protocol.h"
#include "serve/serve.h"

/* A process that serves. */
struct nn_server {
	const struct nn_serve *setup;
	struct nn_batcher *batcher;
	struct nn_models *models;
	struct nn_protocol *protocol;
	struct nn_http *http;
	struct nn_keys *keys;      /* NULL: no key file */
	struct nn_access_log *log; /* NULL: none */
	struct nn_leash *leash;    /* NULL: no worker, but the only process */
	struct nn_ranks *ranks;    /* NULL: models are whole */
	struct nn_board board;
	int signals, watch;
	sigset_t before; /* the mask of signals to go back to */
};

/* What the options say of HTTP. */
int nn_server_set_http(struct nn_http_setup *http, const struct nn_serve *setup,
		       struct nn_error *err);
/* All but setup and leash are set; nn_server_close in any case. */
int nn_server_open(struct nn_server *server, struct nn_error *err);
/*
 * Answers that are still being made when --drain is over go on to the end of the process. So do
 * those to requests that came on open connections after all others were answered.
 */
void nn_server_close(struct nn_server *server, bool drained);

#endif
