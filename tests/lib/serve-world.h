/*
 * What the protocols stand between, played: an HTTP, a batcher, and models that are a line of
 * arithmetic. For tests of what is answered to requests, byte by byte.
 *
 * Models: m (3 values: their sum, the last one), half (half_plus_two, version 123), t (a table: age
 * and colour into 3 classes), pair (inputs a and b, outputs sum and grid).
 */
#ifndef SERVE_WORLD_H
#define SERVE_WORLD_H

#include <string.h>

#include "serve/board.h"
#include "serve/protocol/protocol.h"
#include "tap.h"

#define V1 "/v1/models/"
#define V2 "/v2/models/"

extern int held; /* models that a request has */
extern bool models_ready;
extern char told[200]; /* what was told of a version */
extern struct batcher {
	bool full, expired, fails, holds;
	struct nn_job *held;
	double deadline;
} batcher;
extern struct http {
	const char *headers; /* of the request: "Name: value\n..." */
	bool local, answered;
	unsigned status;
	char type[64], set[1024], *body;
	size_t bytes;
} http;
extern struct nn_protocol *protocol;
extern struct nn_board board; /* where it counts */
extern struct nn_exchange exchange;

/* The claims with a protocol open; 1 where it cannot be opened. */
int with_world(const struct nn_protocol_setup *setup, void (*claims)(void));

/* Send a request; begin and end where something happens meanwhile. */
void begin(const char *method, const char *path, const void *body, size_t bytes);
void end(void);
void send_bytes(const char *method, const char *path, const void *body, size_t bytes);
void post(const char *path, const char *body);

/* Compute a job that batcher.holds left in batcher.held. */
void finish(struct nn_job *job);

/* The status and, unless NULL, the whole body without its last newline. */
__attribute__((unused)) static void expect(unsigned status, const char *body, const char *claim)
{
	size_t n = http.bytes;
	bool same;

	n -= n > 0 && http.body[n - 1] == '\n';
	same = !body || (strlen(body) == n && memcmp(body, http.body, n) == 0);
	if (!ok(http.status == status && same, "%s", claim))
		note("%u %s", http.status, http.body);
}

__attribute__((unused)) static void expect_error(unsigned status, const char *part,
						 const char *claim)
{
	if (!ok(http.status == status && strncmp(http.body, "{\"error\":\"", 10) == 0 &&
			strstr(http.body, part) && strcmp(http.type, "application/json") == 0,
		"%s", claim))
		note("%u %s", http.status, http.body);
}

#endif
