/* The Open Inference Protocol (KServe, Triton) with its binary extension. */
#ifndef NN_SERVE_PROTOCOL_V2_H
#define NN_SERVE_PROTOCOL_V2_H

#include "serve/protocol/query.h"

void nn_v2_infer(struct nn_query *query);
void nn_v2_server(struct nn_query *query);
void nn_v2_list(struct nn_query *query);
void nn_v2_metadata(struct nn_query *query);
void nn_v2_ready(struct nn_query *query);
void nn_v2_config(struct nn_query *query);
void nn_v2_stats(struct nn_query *query);
void nn_v2_explain(struct nn_query *query);
void nn_v2_index(struct nn_query *query);
void nn_v2_load(struct nn_query *query);
void nn_v2_unload(struct nn_query *query);

/* Inside: the answer to an infer request (v2-answer.c). */
void nn_v2_format(struct nn_query *query);

#endif
