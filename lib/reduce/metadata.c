/*
 * Models are averaged only where they mean the same: network, columns, scales, categories, labels.
 * Weights of inputs that were scaled in two ways, or of categories in another order, have no mean.
 */
#include <string.h>

#include "base/json-text.h"
#include "base/text.h"
#include "file/json/json.h"
#include "reduce/arrays.h"

const char *const nn_agreed[NN_N_AGREED] = { "nn.model", "nn.input", "nn.target" };

/* Two values that differ, NULL where there is none, and the way to them from the whole. */
struct difference {
	const struct nn_json *found, *expected;
	struct nn_text path;
};

/* Element i of both: by its name, such as a column's, where they share one. */
static void add_element(struct nn_text *path, const struct nn_json *found,
			const struct nn_json *expected, size_t i)
{
	const struct nn_json *name = nn_json_get(found, "name");
	char quoted[NN_QUOTED];
	size_t n;
	const char *text = nn_json_string(name, &n);

	if (text && nn_json_equal(name, nn_json_get(expected, "name")))
		nn_text_addf(path, " \"%s\"", nn_quote(quoted, text, n));
	else
		nn_text_addf(path, "[%zu]", i);
}

/* From two arrays to their first elements that differ; false: one is longer than the other. */
static bool enter_array(struct difference *d)
{
	const struct nn_json *found, *expected;
	size_t i = 0;

	do {
		found = nn_json_at(d->found, i);
		expected = nn_json_at(d->expected, i++);
	} while (found && expected && nn_json_equal(found, expected));
	if (!found || !expected)
		return false;
	add_element(&d->path, found, expected, i - 1);
	d->found = found;
	d->expected = expected;
	return true;
}

/* From two objects to the first members that differ; members are sorted by key. */
static void enter_object(struct difference *d)
{
	const struct nn_json *found, *expected;
	const char *key, *other;
	char quoted[NN_QUOTED];
	size_t i = 0;

	do {
		key = nn_json_key(d->found, i, NULL);
		other = nn_json_key(d->expected, i++, NULL);
		if (!key || (other && strcmp(other, key) < 0))
			key = other;
		found = nn_json_get(d->found, key);
		expected = nn_json_get(d->expected, key);
	} while (found && expected && nn_json_equal(found, expected));
	nn_text_addf(&d->path, ": %s", nn_quote(quoted, key, strlen(key)));
	d->found = found;
	d->expected = expected;
}

static void add_value(struct nn_text *text, const struct nn_json *value)
{
	char quoted[NN_QUOTED];
	size_t n;
	const char *string = nn_json_string(value, &n);

	if (!value)
		nn_text_add(text, "nothing");
	else if (string)
		nn_text_addf(text, "\"%s\"", nn_quote(quoted, string, n));
	else if (nn_json_type(value) == NN_JSON_NUMBER)
		nn_json_put_real(text, nn_json_number(value));
	else if (nn_json_type(value) == NN_JSON_BOOL)
		nn_text_add(text, nn_json_number(value) != 0 ? "true" : "false");
	else if (nn_json_type(value) == NN_JSON_NULL)
		nn_text_add(text, "null");
	else
		nn_text_addf(text, "%zu value%s", nn_json_size(value), nn_s(nn_json_size(value)));
}

static int fail(const struct nn_arrays *s, const struct nn_arrays *first, const char *name,
		struct difference *d, struct nn_error *err)
{
	struct nn_text found = { 0 }, expected = { 0 };
	int status;

	while (d->found && nn_json_type(d->found) == nn_json_type(d->expected)) {
		if (nn_json_type(d->found) == NN_JSON_OBJECT)
			enter_object(d);
		else if (nn_json_type(d->found) != NN_JSON_ARRAY || !enter_array(d))
			break;
	}
	nn_text_add(&d->path, "");
	add_value(&found, d->found);
	add_value(&expected, d->expected);
	if (d->path.failed || found.failed || expected.failed)
		status = nn_fail(err, NN_ENOMEM, "cannot allocate memory to compare files");
	else
		status = nn_fail(err, NN_EFORMAT, "%s: %s%s: found %s, expected %s as in %s",
				 s->name, name, d->path.data, found.data, expected.data,
				 first->name);
	nn_text_free(&found);
	nn_text_free(&expected);
	return status;
}

static struct nn_json *parse(const struct nn_arrays *s, size_t i, struct nn_error *err)
{
	struct nn_json *json = nn_json_parse(s->meta[i], strlen(s->meta[i]), err);

	if (!json)
		nn_fail_at(err, "%s: %s", s->name, nn_agreed[i]);
	return json;
}

static int compare_json(const struct nn_arrays *s, const struct nn_arrays *first, size_t i,
			struct nn_error *err)
{
	struct nn_json *found = parse(s, i, err), *expected = found ? parse(first, i, err) : NULL;
	struct difference d = { .found = found, .expected = expected };
	int status = expected ? 0 : -1;

	if (expected && !nn_json_equal(found, expected))
		status = fail(s, first, nn_agreed[i], &d, err);
	nn_text_free(&d.path);
	nn_json_free(found);
	nn_json_free(expected);
	return status;
}

int nn_metadata_compare(const struct nn_arrays *s, const struct nn_arrays *first,
			struct nn_error *err)
{
	for (size_t i = 0; i < NN_N_AGREED; i++) {
		const char *found = s->meta[i], *expected = first->meta[i];

		if (!found != !expected)
			return nn_fail(err, NN_EFORMAT, "%s: has %s %s, %s has %s", s->name,
				       found ? "an" : "no", nn_agreed[i], first->name,
				       found ? "none" : "one");
		if (!found || strcmp(found, expected) == 0)
			continue;
		if (i == NN_AGREED_MODEL)
			return nn_fail(err, NN_EFORMAT,
				       "%s: nn.model is another network than in %s", s->name,
				       first->name);
		if (compare_json(s, first, i, err) < 0)
			return -1;
	}
	return 0;
}
