/*
 * Names of columns as the user lists them: separated by commas, one with a comma in quotes ("a,b"
 * with "" for a quote).
 */
#ifndef NN_DATA_COLUMNS_H
#define NN_DATA_COLUMNS_H

#include "data/table/csv.h"

struct nn_columns {
	char *text;
	struct nn_field *name;
	size_t n;
};
int nn_columns_parse(struct nn_columns *names, const char *list, struct nn_error *err);
void nn_columns_free(struct nn_columns *names);

#endif
