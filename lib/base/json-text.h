/* JSON as it is written: commas stand where they belong, by what the text ends with. */
#ifndef NN_BASE_JSON_TEXT_H
#define NN_BASE_JSON_TEXT_H

#include <stdint.h>
#include "base/text.h"

/* A value: an element of an array, or what follows a key. */
void nn_json_put(
	struct nn_text *json,
	const char *value); /* as it is: null, true, or { and [, which nn_text_add closes */
void nn_json_put_string(struct nn_text *json, const char *value); /* NULL: null */
void nn_json_put_count(struct nn_text *json, uint64_t value);
void nn_json_put_real(struct nn_text *json,
		      double value); /* the fewest digits of an f64; what is not finite is null */

/* The key of a member, and members as a whole. */
void nn_json_add_key(struct nn_text *json, const char *key);
void nn_json_add(struct nn_text *json, const char *key, const char *value);
void nn_json_add_string(struct nn_text *json, const char *key, const char *value);
void nn_json_add_count(struct nn_text *json, const char *key, uint64_t value);
void nn_json_add_real(struct nn_text *json, const char *key, double value);

#endif
