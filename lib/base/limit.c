/* The limits of readers: what --limit sets, and what messages say of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limit.h"
#include "base/number.h"
#include "base/text.h"

static const struct {
	const char *name;
	uint64_t most;
	const char *most_text, *unit;
} limits[] = {
#define NN_LIMIT(id, name, value, most, value_text, most_text, unit, help) { name, most, most_text, unit },
	NN_LIMITS(NN_LIMIT)
#undef NN_LIMIT
};

uint64_t nn_limit_values[NN_N_LIMITS] = {
#define NN_LIMIT(id, name, value, ...) value,
	NN_LIMITS(NN_LIMIT)
#undef NN_LIMIT
};

static int unknown(const char *text, size_t n, struct nn_error *err)
{
	struct nn_text names = { 0 };
	char quoted[NN_QUOTED];
	int status;

	for (size_t i = 0; i < NN_N_LIMITS; i++)
		nn_text_addf(&names, "%s%s", i ? ", " : "", limits[i].name);
	status = nn_fail(err, NN_EUSAGE, "--limit=%s: expected NAME=N with a name of %s",
			 nn_quote(quoted, text, n), names.failed ? "nn-data(5)" : names.data);
	nn_text_free(&names);
	return status;
}

int nn_limit_set(const char *text, struct nn_error *err)
{
	size_t n = strcspn(text, "="), i = 0;
	const char *number = text + n + 1;
	char quoted[NN_QUOTED];
	uint64_t value;

	while (i < NN_N_LIMITS && (strlen(limits[i].name) != n || memcmp(limits[i].name, text, n)))
		i++;
	if (i == NN_N_LIMITS || !text[n])
		return unknown(text, strlen(text), err);
	if (!nn_parse_size(number, strlen(number), &value) || value < 1 || value > limits[i].most)
		return nn_fail(err, NN_EUSAGE, "--limit=%s: expected a %s from 1 to %s",
			       nn_quote(quoted, text, strlen(text)),
			       limits[i].unit ? "whole number" : "number of bytes",
			       limits[i].most_text);
	nn_limit_values[i] = value;
	return 0;
}

/* A size rounded up to whole MiB. */
const char *nn_limit_option(enum nn_limit_id id, uint64_t value, char text[NN_LIMIT_TEXT])
{
	const size_t size = NN_LIMIT_TEXT;
	uint64_t now = nn_limit_values[id], most = limits[id].most;

	if (value == 0)
		value = now < most && most - now < now ? most : 2 * now;
	if (value > most || value <= now)
		snprintf(text, size, "--limit=%s allows no more", limits[id].name);
	else if (limits[id].unit)
		snprintf(text, size, "--limit=%s=%" PRIu64, limits[id].name, value);
	else
		snprintf(text, size, "--limit=%s=%" PRIu64 "M", limits[id].name,
			 (value + (1 << 20) - 1) >> 20);
	return text;
}

const char *nn_limit_said(enum nn_limit_id id, uint64_t found, char text[NN_LIMIT_TEXT])
{
	uint64_t value = nn_limit_values[id];
	bool is_size = !limits[id].unit, whole = is_size && value % (1 << 20) == 0;
	const char *unit = whole ? " MiB" : is_size ? " bytes" : limits[id].unit;
	char hint[NN_LIMIT_TEXT];

	snprintf(text, NN_LIMIT_TEXT, "%" PRIu64 "%.*s (%s)", whole ? value >> 20 : value,
		 (int)strlen(unit) - (value == 1 && unit[strlen(unit) - 1] == 's'), unit,
		 nn_limit_option(id, found, hint));
	return text;
}
