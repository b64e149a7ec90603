/* What a server says of a model: its inputs, and how many batches it has run (protocol v2). */
#ifndef NN_BENCH_LOAD_MODEL_H
#define NN_BENCH_LOAD_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include "bench/load/server.h"

enum nn_load_kind { NN_LOAD_BOOL, NN_LOAD_WHOLE, NN_LOAD_HALF, NN_LOAD_FLOAT, NN_LOAD_BYTES };

struct nn_load_datatype {
	const char *name; /* "FP32" */
	enum nn_load_kind kind;
	int size; /* bytes; 0: they have a length each */
};

#define NN_LOAD_DIMS 16

struct nn_load_input {
	char *name;
	const struct nn_load_datatype *datatype;
	bool one; /* its shape leaves no place for rows: a request is one */
	int n;    /* dimensions of a row; -1 in the metadata is 1 here */
	uint64_t dims[NN_LOAD_DIMS];
	size_t values; /* of a row */
};

struct nn_load_model {
	char *name;
	struct nn_load_input *inputs;
	size_t n_inputs;
};

#define NN_LOAD_VALUES ((size_t)1 << 24) /* of a row, over all inputs, at most */

/* name NULL: the only model of the server. */
int nn_load_model_ask(struct nn_load_model *model, const struct nn_load_server *server,
		      const char *name, double timeout_s, struct nn_error *err);
void nn_load_model_free(struct nn_load_model *model);

/* Rows and batches that the server has run of a model so far; false: it does not tell. */
struct nn_load_counts {
	double rows, batches;
};
bool nn_load_model_counts(const char *name, const struct nn_load_server *server, double timeout_s,
			  struct nn_load_counts *counts);

#endif
