/* JSON for metadata, as a tree; a token at a time it is read by pull.h. */
#ifndef NN_FILE_JSON_H
#define NN_FILE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"
#include "base/text.h"

struct nn_json; /* a value; borrowed from its document */

/* Parse one document: duplicates refused, depth <= 100. Free the result with nn_json_free. */
struct nn_json *nn_json_parse(const char *text, size_t n, struct nn_error *err);
void nn_json_free(struct nn_json *document);

enum nn_json_type {
	NN_JSON_NULL,
	NN_JSON_BOOL,
	NN_JSON_NUMBER,
	NN_JSON_STRING,
	NN_JSON_ARRAY,
	NN_JSON_OBJECT
};
enum nn_json_type nn_json_type(const struct nn_json *value); /* NULL value: NN_JSON_NULL */
const struct nn_json *nn_json_get(const struct nn_json *object,
				  const char *key); /* NULL: not there */
size_t nn_json_size(const struct nn_json *array_or_object);
const struct nn_json *nn_json_at(const struct nn_json *array, size_t i);
const char *nn_json_key(const struct nn_json *object, size_t i,
			const struct nn_json **value);                   /* sorted by key */
const char *nn_json_string(const struct nn_json *value, size_t *length); /* NULL: not a string */
double nn_json_number(const struct nn_json *value);
/* A number written without point and exponent that 64 bits with a sign hold. */
bool nn_json_whole(const struct nn_json *value);
/*
 * A number, an array or an object as it was written, not ended by a NUL: of the latter two in the
 * text that was parsed, which has to be there still. NULL: it is none of them.
 */
const char *nn_json_source(const struct nn_json *value, size_t *length);
bool nn_json_bool(const struct nn_json *value);       /* true */
int64_t nn_json_integer(const struct nn_json *value); /* such a number, all digits of it */
bool nn_json_equal(const struct nn_json *a,
		   const struct nn_json *b); /* whatever order the members have */
/*
 * The text of an object without its member `key`, the rest byte by byte: numbers may have more
 * digits than nn_json_parse takes. false: it is not an object.
 */
bool nn_json_omit(struct nn_text *result, const char *object, const char *key);

#endif
