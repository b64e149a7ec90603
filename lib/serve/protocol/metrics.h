/* Counts of requests, and all that is counted as Prometheus reads it. */
#ifndef NN_SERVE_PROTOCOL_METRICS_H
#define NN_SERVE_PROTOCOL_METRICS_H

#include "serve/protocol/query.h"

/* A request was answered; any thread. model NULL: none was found; computed: rows of it were. */
void nn_metrics_tally(const struct nn_board *board, const char *model, unsigned status,
		      bool computed);
/* When rows of a model were answered last with 200: milliseconds since 1970, 0: never. */
uint64_t nn_metrics_last(const struct nn_board *board, const char *model);
void nn_metrics_answer(struct nn_query *query);

/* Inside: the names of Triton for the same counts, of each version that has been read. */
void nn_metrics_triton(const struct nn_protocol *protocol, struct nn_text *text);

#endif
