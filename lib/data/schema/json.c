/* Values of nn.input and nn.target as JSON: strings, whole numbers, shapes, words, scales. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/schema/json.h"
#include "data/table/words.h"

char *nn_schema_string(const struct nn_json *value, const char *key, bool *good,
		       struct nn_error *err)
{
	size_t n;
	const char *text = nn_json_string(value, &n);

	if (!text && nn_json_type(value) != NN_JSON_NULL) {
		nn_fail(err, NN_EFORMAT, "%s: expected a string", key);
		*good = false;
		return NULL;
	}
	if (text) {
		char *copy = nn_strndup(text, n, err);

		*good &= copy != NULL;
		return copy;
	}
	return NULL;
}

bool nn_schema_whole(const struct nn_json *value, double least, double most, double *whole)
{
	*whole = nn_json_number(value);
	return nn_json_type(value) == NN_JSON_NUMBER && *whole >= least && *whole <= most &&
	       *whole == floor(*whole);
}

int nn_schema_shape(const struct nn_json *value, struct nn_shape *shape, struct nn_error *err)
{
	size_t n = nn_json_size(value), bytes;
	double dim;

	if (nn_json_type(value) != NN_JSON_ARRAY || n > NN_MAX_RANK)
		return nn_fail(err, NN_EFORMAT, "shape: expected an array of at most %d numbers",
			       NN_MAX_RANK);
	shape->rank = (int)n;
	for (size_t i = 0; i < n; i++) {
		if (!nn_schema_whole(nn_json_at(value, i), 1, NN_EXACT, &dim))
			return nn_fail(err, NN_EFORMAT,
				       "shape[%zu]: expected a whole number from 1", i);
		shape->dim[i] = (size_t)dim;
	}
	if (!nn_shape_check(shape, sizeof(double), &bytes))
		return nn_fail(err, NN_EFORMAT, "the product of the shape's dimensions overflows");
	return 0;
}

/* Classes and categories are distinguished by their text. */
static int check_distinct(char *const *texts, size_t n, const char *key, struct nn_error *err)
{
	struct nn_words *words = NULL;
	char quoted[NN_QUOTED];
	int status = nn_words_new(&words, false, err);

	for (size_t i = 0; status == 0 && i < n; i++) {
		int32_t id = nn_words_add(words, texts[i], strlen(texts[i]), err);

		if (id < 0)
			status = -1;
		else if (id != (int32_t)i)
			status = nn_fail(err, NN_EFORMAT, "%s: \"%s\" occurs twice", key,
					 nn_quote(quoted, texts[i], strlen(texts[i])));
	}
	nn_words_free(words);
	return status;
}

int nn_schema_words(const struct nn_json *value, const char *key, bool *integers, char ***words,
		    size_t *n, struct nn_error *err)
{
	bool good = true;

	if (nn_json_type(value) != NN_JSON_ARRAY)
		return nn_fail(err, NN_EFORMAT, "%s: expected an array", key);
	*words = nn_alloc(nn_json_size(value), sizeof **words, err);
	if (!*words)
		return -1;
	*n = nn_json_size(value);
	for (size_t i = 0; i < *n; i++) {
		const struct nn_json *word = nn_json_at(value, i);
		char digits[24];
		double whole;

		if (integers && i == 0)
			*integers = nn_json_type(word) == NN_JSON_NUMBER;
		if (integers && *integers) {
			if (!nn_schema_whole(word, -NN_EXACT, NN_EXACT, &whole))
				return nn_fail(err, NN_EFORMAT, "%s[%zu]: expected a whole number",
					       key, i);
			snprintf(digits, sizeof digits, "%" PRId64, (int64_t)whole);
			(*words)[i] = nn_strdup(digits, err);
			if (!(*words)[i])
				return -1;
			continue;
		}
		(*words)[i] = nn_schema_string(word, key, &good, err);
		if (!good)
			return -1;
		if (!(*words)[i])
			return nn_fail(err, NN_EFORMAT, "%s[%zu]: expected a string", key, i);
	}
	return check_distinct(*words, *n, key, err);
}

int nn_schema_scale(const struct nn_json *value, const char *key, bool positive, size_t n,
		    double **numbers, struct nn_error *err)
{
	if (nn_json_type(value) != NN_JSON_ARRAY || nn_json_size(value) != n)
		return nn_fail(err, NN_EFORMAT, "%s: expected an array of %zu number%s", key, n,
			       nn_s(n));
	*numbers = nn_alloc(n, sizeof **numbers, err);
	if (!*numbers)
		return -1;
	for (size_t i = 0; i < n; i++) {
		double v = nn_json_number(nn_json_at(value, i));

		if (nn_json_type(nn_json_at(value, i)) != NN_JSON_NUMBER || !isfinite(v) ||
		    (positive && !(v > 0)))
			return nn_fail(err, NN_EFORMAT, "%s[%zu]: expected a number%s", key, i,
				       positive ? " above 0" : "");
		(*numbers)[i] = v;
	}
	return 0;
}
