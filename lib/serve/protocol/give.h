/* What a model answered: its outputs by row, as JSON, labels, raw bytes. */
#ifndef NN_SERVE_PROTOCOL_GIVE_H
#define NN_SERVE_PROTOCOL_GIVE_H

#include "serve/protocol/query.h"

/* How floats are written: 0.5 and 3.0 with 6 or 9 digits, NaN as it is; or the fewest, null. */
enum nn_style { NN_STYLE_V1, NN_STYLE_V2 };

void nn_give_float(struct nn_text *text, float value, enum nn_style style);

/* The values of an output of a row; of a text output those whose best it is. */
struct nn_given {
	const float *values;
	size_t n, first; /* first: the number of values[0] in the row */
	bool classes;    /* that have labels */
};
/* A row's shape in language order, as long as the row is. */
struct nn_shape nn_give_shape(const struct nn_query *query, size_t output, size_t row);
struct nn_given nn_give_row(const struct nn_query *query, size_t output, size_t row);
/* The number of the class that nn-predict names: the best, first of equals; by the model's
 * threshold. */
size_t nn_give_best(const struct nn_query *query, const struct nn_given *given);
/* The label of value c, or its number, in buffer. */
const char *nn_give_label(const struct nn_query *query, const struct nn_given *given, size_t c,
			  char buffer[24]);
/* A row of an output as JSON in its shape: a number, nested arrays, a string. */
void nn_give_nested(const struct nn_query *query, struct nn_text *text, size_t output, size_t row,
		    enum nn_style style);
/* The k best of a row, best first; k values of order, which has room for all. */
void nn_give_top(const struct nn_given *given, size_t k, size_t *order);

#endif
