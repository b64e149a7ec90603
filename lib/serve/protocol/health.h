/* Is the server alive, is it ready? */
#ifndef NN_SERVE_PROTOCOL_HEALTH_H
#define NN_SERVE_PROTOCOL_HEALTH_H

#include "serve/protocol/query.h"

/* Is the server about to end, or has a rank of it been lost, so that no model is ready? */
bool nn_health_is_away(const struct nn_protocol *protocol);
bool nn_health_is_ready(struct nn_protocol *protocol);
void nn_health_live(struct nn_query *query);
void nn_health_ready(struct nn_query *query);

#endif
