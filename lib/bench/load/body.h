/*
 * Requests made from a model's metadata, whole with their heads: JSON of TensorFlow Serving, JSON
 * and the binary form of the Open Inference Protocol v2, with random values.
 */
#ifndef NN_BENCH_LOAD_BODY_H
#define NN_BENCH_LOAD_BODY_H

#include "base/text.h"
#include "bench/load/model.h"

extern const char *const nn_load_forms[]; /* "json", "v2", "binary"; NULL at the end */
enum nn_load_form { NN_LOAD_JSON, NN_LOAD_V2, NN_LOAD_BINARY };

#define NN_LOAD_REQUESTS 16 /* different ones, sent in turns; fewer of large ones */

struct nn_load_requests {
	struct nn_text text[NN_LOAD_REQUESTS];
	size_t n;
};

/*
 * Values are in [0, 1) where they are not whole; of whole ones bytes without a sign have any value,
 * the others 0 or 1, which is a class of every model; texts are a letter. The same for the same
 * seed. null: for NAME:null, the same without its arithmetic.
 */
struct nn_load_body {
	enum nn_load_form form;
	size_t rows;
	uint64_t seed;
	bool null;
};
int nn_load_requests_make(struct nn_load_requests *requests, const struct nn_load_server *server,
			  const struct nn_load_model *model, const struct nn_load_body *body,
			  struct nn_error *err);
void nn_load_requests_free(struct nn_load_requests *requests);

#endif
