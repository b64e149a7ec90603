/* Inside the parser of schemas: values as JSON. Errors are NN_EFORMAT and name the key. */
#ifndef NN_DATA_SCHEMA_JSON_H
#define NN_DATA_SCHEMA_JSON_H

#include "base/shape.h"
#include "file/json/json.h"

#define NN_EXACT 9007199254740992.0 /* 2^53 */

/* A copy, NULL for null; *good becomes false where it is something else. */
char *nn_schema_string(const struct nn_json *value, const char *key, bool *good,
		       struct nn_error *err);
bool nn_schema_whole(const struct nn_json *value, double least, double most, double *whole);
int nn_schema_shape(const struct nn_json *value, struct nn_shape *shape, struct nn_error *err);
/*
 * An array of distinct strings; with `integers` also one of integers, kept as text, which is then
 * set.
 */
int nn_schema_words(const struct nn_json *value, const char *key, bool *integers, char ***words,
		    size_t *n, struct nn_error *err);
/* An array of n numbers; positive: above 0. */
int nn_schema_scale(const struct nn_json *value, const char *key, bool positive, size_t n,
		    double **numbers, struct nn_error *err);

#endif
