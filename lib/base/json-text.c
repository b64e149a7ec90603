/* JSON written into a text. */
#include <math.h>
#include <string.h>

#include "base/json-text.h"
#include "base/number.h"

static void add_comma(struct nn_text *json)
{
	if (json->length > 0 && !strchr("{[:", json->data[json->length - 1]))
		nn_text_add_bytes(json, ",", 1);
}

void nn_json_put(struct nn_text *json, const char *value)
{
	add_comma(json);
	nn_text_add(json, value);
}

void nn_json_put_string(struct nn_text *json, const char *value)
{
	add_comma(json);
	if (value)
		nn_text_add_json(json, value, strlen(value));
	else
		nn_text_add(json, "null");
}

void nn_json_put_count(struct nn_text *json, uint64_t value)
{
	char digits[NN_NUMBER];

	add_comma(json);
	nn_text_add_bytes(json, digits, nn_format_u64(digits, value));
}

void nn_json_put_real(struct nn_text *json, double value)
{
	char digits[NN_NUMBER];

	if (isfinite(value))
		nn_format_f64(digits, value);
	nn_json_put(json, isfinite(value) ? digits : "null");
}

void nn_json_add_key(struct nn_text *json, const char *key)
{
	nn_json_put_string(json, key);
	nn_text_add_bytes(json, ":", 1);
}

void nn_json_add(struct nn_text *json, const char *key, const char *value)
{
	nn_json_add_key(json, key);
	nn_json_put(json, value);
}

void nn_json_add_string(struct nn_text *json, const char *key, const char *value)
{
	nn_json_add_key(json, key);
	nn_json_put_string(json, value);
}

void nn_json_add_count(struct nn_text *json, const char *key, uint64_t value)
{
	nn_json_add_key(json, key);
	nn_json_put_count(json, value);
}

void nn_json_add_real(struct nn_text *json, const char *key, double value)
{
	nn_json_add_key(json, key);
	nn_json_put_real(json, value);
}
