/* nn-serve: its options and its life, from models on disk to the last answer. */
#ifndef NN_SERVE_SERVE_H
#define NN_SERVE_SERVE_H

#include "base/option.h"
#include "serve/http/http.h"

struct nn_serve_options {
	const char *listen, *labels, *tls_cert, *tls_key, *max_headers, *max_delay;
	const char *key_file, *access_log;
	uint64_t max_batch, queue, max_depth, workers, ranks;
	double slo; /* milliseconds, 0: none */
	double drain;
	bool keep_going, watch, explain;
	int metrics, sandbox;
	struct nn_http_limits limits; /* headers and header_count from max_headers */
};
extern const struct nn_opt nn_serve_opts[];

enum { NN_METRICS_OWN, NN_METRICS_TRITON };
enum { NN_SANDBOX_ON, NN_SANDBOX_OFF };

struct nn_serve {
	struct nn_serve_options options;
	const char *const *models; /* [NAME=]PATH, NULL-terminated */
	const char *device, *log;  /* log: NULL: none */
	int precision;             /* 0: as the files have it; else 1 + the type */
	int threads;
	void (*warn)(void *arg, const char *text); /* any thread */
	void (*note)(void *arg, const char *text);
	/* A version of a model was read again; wrong NULL: it serves. Any thread; may be NULL. */
	void (*reloaded)(void *arg, const char *model, uint64_t version, const char *wrong);
	void *arg;
};

/* What a command line alone says wrong: NN_EUSAGE. options: to compare the files that it names. */
int nn_serve_check(const struct nn_serve *serve, const struct nn_opt_list *options,
		   struct nn_error *err);
/*
 * Serve until SIGTERM or SIGINT; 0 when all that was accepted has been answered. The address goes
 * to stdout when it is ready.
 */
int nn_serve_run(const struct nn_serve *serve, struct nn_error *err);

/* A line on standard output, at once: a script waits for the address. */
int nn_serve_say(const char *line, struct nn_error *err);
/* "auto" (-1) or microseconds, as seconds; "BYTES,COUNT". */
int nn_serve_parse_delay(const char *text, double *seconds, struct nn_error *err);
int nn_serve_parse_headers(const char *text, struct nn_http_limits *limits, struct nn_error *err);

#endif
