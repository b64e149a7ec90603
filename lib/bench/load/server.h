/* The server of a URL: http://HOST:PORT or unix:PATH, and its address. */
#ifndef NN_BENCH_LOAD_SERVER_H
#define NN_BENCH_LOAD_SERVER_H

#include <sys/socket.h>
#include "base/error.h"

#define NN_LOAD_HOST 300
#define NN_LOAD_KEY 256

struct nn_load_server {
	const char *url;                /* the caller's */
	char host[NN_LOAD_HOST];        /* as the header Host names it */
	char headers[NN_LOAD_KEY + 32]; /* further lines of every head */
	struct sockaddr_storage address;
	socklen_t length;
};

/* Is it such a URL? NN_EUSAGE. */
int nn_load_server_check(const char *url, struct nn_error *err);
/* Names are looked up here, once. NN_EUSAGE: no such URL; NN_EFAIL: nobody of that name. */
int nn_load_server_find(struct nn_load_server *server, const char *url, struct nn_error *err);
/* Requests say the first word of the file as their key, as nn-serve --key-file has it. */
int nn_load_server_key(struct nn_load_server *server, const char *path, struct nn_error *err);
/*
 * A socket that does not block, on its way to the server: what comes of it is known once it can be
 * written to. -1 with errno.
 */
int nn_load_server_connect(const struct nn_load_server *server);

#endif
