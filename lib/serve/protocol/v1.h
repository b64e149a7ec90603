/* TensorFlow Serving's REST interface. */
#ifndef NN_SERVE_PROTOCOL_V1_H
#define NN_SERVE_PROTOCOL_V1_H

#include "serve/protocol/query.h"

void nn_v1_predict(struct nn_query *query);
void nn_v1_classify(struct nn_query *query);
void nn_v1_regress(struct nn_query *query);
void nn_v1_status(struct nn_query *query);
void nn_v1_metadata(struct nn_query *query);

/* Inside: the value of "signature_name", of which there is one. */
int nn_v1_signature(struct nn_query *query);

#endif
