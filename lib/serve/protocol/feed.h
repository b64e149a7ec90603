/*
 * Inputs of a request into rows of a job: numbers as they are, columns of a table as text for
 * nn_model_encode, in whatever order and form a protocol has them.
 */
#ifndef NN_SERVE_PROTOCOL_FEED_H
#define NN_SERVE_PROTOCOL_FEED_H

#include "serve/protocol/datatype.h"
#include "serve/protocol/query.h"

/* Forget what came before: the request's model is known. */
int nn_feed_begin(struct nn_query *query);
/* The number of the input of that name (of the pull's current key or string); -1 with a 400. */
int nn_feed_find(struct nn_query *query, const char *name, size_t n, size_t *input);

/*
 * All rows of an input: the JSON value that comes next. dims: what its nesting was. Numbers of a
 * plain net are read at once; else cells are kept, to be converted by nn_feed_cells.
 */
int nn_feed_json(struct nn_query *query, size_t input, struct nn_pull_dims *dims);
/* The same of an input whose rows have a length each, any nesting but the rows'; sets its rows. */
int nn_feed_rows(struct nn_query *query, size_t input);
/* Row `row` of such an input, from 0, has these dimensions: its length is kept. */
int nn_feed_length(struct nn_query *query, size_t input, size_t row, const size_t *dims,
		   unsigned rank);
/* Values of any kind, kept as cells: nobody knows yet whose they are. base64: {"b64": ...} is one.
 */
int nn_feed_any(struct nn_query *query, bool base64, size_t *first, struct nn_pull_dims *dims);
/*
 * The value that comes next is the string of {"b64": "..."}, as TensorFlow Serving's clients send
 * bytes: their text is a cell.
 */
int nn_feed_base64(struct nn_query *query);
/* n cells from `first` on are the values of an input, of that type. */
int nn_feed_cells(struct nn_query *query, size_t input, enum nn_datatype type, size_t first,
		  size_t n);
/* The same of bytes as the binary extension has them. */
int nn_feed_binary(struct nn_query *query, size_t input, enum nn_datatype type, const char *bytes,
		   size_t size, size_t n);
/* The dimensions [rows, ...] of an input; sets its rows. */
int nn_feed_shape(struct nn_query *query, size_t input, const size_t *dims, unsigned rank);
/* Rows as objects whose keys are the inputs: the array that comes next, job.in and job.rows. */
int nn_feed_objects(struct nn_query *query);
/* Every input has come: job.in and job.rows. */
int nn_feed_finish(struct nn_query *query);

#endif
