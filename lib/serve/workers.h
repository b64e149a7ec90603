/*
 * --workers=N: processes that accept from the same sockets. The one that the user started accepts
 * nothing: it takes signals, tells its workers, and starts another where one dies.
 */
#ifndef NN_SERVE_WORKERS_H
#define NN_SERVE_WORKERS_H

#include "serve/leash.h"
#include "serve/serve.h"

enum { NN_MOST_WORKERS = 64 };

/*
 * No thread has been made yet. http: what the sockets are opened with. serve is what a worker does
 * from its start to its end, in its own process.
 */
int nn_workers_run(const struct nn_serve *setup, const struct nn_http_setup *http,
		   int (*serve)(const struct nn_serve *setup, struct nn_leash *link,
				struct nn_error *err),
		   struct nn_error *err);

#endif
