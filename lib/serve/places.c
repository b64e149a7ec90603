/* Names of devices, separated by commas. */
#include <string.h>

#include "serve/places.h"

static int add(struct nn_places *places, const char *name, size_t n, const char *text,
	       struct nn_error *err)
{
	char quoted[NN_QUOTED];

	nn_quote(quoted, text, strlen(text));
	if (n == 0 || n >= NN_DEVICE_NAME || places->n == NN_MOST_PLACES)
		return nn_fail(err, NN_EUSAGE, "--device=%s: expected up to %d names of devices",
			       quoted, NN_MOST_PLACES);
	memcpy(places->name[places->n], name, n);
	for (size_t i = 0; i < places->n; i++)
		if (strcmp(places->name[i], places->name[places->n]) == 0)
			return nn_fail(err, NN_EUSAGE, "--device=%s: a device is named twice",
				       quoted);
	places->n++;
	return 0;
}

int nn_places_parse(struct nn_places *places, const char *text, struct nn_error *err)
{
	const char *at = text;

	*places = (struct nn_places){ 0 };
	for (;; at++) {
		size_t n = strcspn(at, ",");

		if (add(places, at, n, text, err) < 0)
			return -1;
		at += n;
		if (!*at)
			return 0;
	}
}
