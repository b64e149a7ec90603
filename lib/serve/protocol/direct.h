/* POST /predict/NAME: the formats of nn-predict in, its standard output back. */
#ifndef NN_SERVE_PROTOCOL_DIRECT_H
#define NN_SERVE_PROTOCOL_DIRECT_H

#include "serve/protocol/query.h"

void nn_direct_predict(struct nn_query *query);

#endif
