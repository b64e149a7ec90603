/* GET /: a status page for browsers, {"status":"alive"} for everybody else. */
#ifndef NN_SERVE_PROTOCOL_PAGE_H
#define NN_SERVE_PROTOCOL_PAGE_H

#include "serve/protocol/query.h"

void nn_page_answer(struct nn_query *query);

#endif
