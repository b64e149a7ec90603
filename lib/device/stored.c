/*
 * Stored choices of a device: one answer per model, use and set of devices in the file "devices" of
 * the cache.
 */
#include <stdio.h>
#include <string.h>

#include "base/cache.h"
#include "base/sha256.h"
#include "base/text.h"
#include "device/device.h"
#include "device/stored.h"

#define FILE_NAME "devices"
#define KEY 160

static void key_of(const struct nn_use *use, char key[KEY])
{
	char hex[NN_SHA256_HEX];
	struct nn_sha256 sha;
	int class = 0;

	nn_sha256_init(&sha);
	nn_sha256_add(&sha, use->model, strlen(use->model));
	nn_sha256_hex(&sha, hex);
	while (use->batch >> (class + 1))
		class ++;
	snprintf(key, KEY, "%s %s %s 2^%d", hex, use->training ? "train" : "predict",
		 nn_dtype_name(use->dtype), class);
}

/* The devices that are there, by what they call themselves: an answer holds among these. */
static void add_devices(struct nn_text *text)
{
	for (size_t i = 0; nn_device_there(i); i++) {
		const char *name = nn_device_there(i), *described = nn_device_describe(name);

		nn_text_addf(text, "%s%s%s%s%s", i ? "," : "", name, described ? "(" : "",
			     described ? described : "", described ? ")" : "");
	}
}

int nn_device_store(const struct nn_use *use, const char *device, struct nn_error *err)
{
	struct nn_text value = { 0 };
	char key[KEY];
	int status;

	key_of(use, key);
	nn_text_addf(&value, "%s ", device);
	add_devices(&value);
	status = value.failed ? nn_fail(err, NN_ENOMEM, "out of memory for an answer")
			      : nn_cache_put(FILE_NAME, key, value.data, err);
	nn_text_free(&value);
	return status;
}

bool nn_device_stored(const struct nn_use *use, char name[NN_DEVICE_NAME],
		      char note[NN_STORED_NOTE])
{
	char key[KEY], value[NN_CACHE_VALUE];
	struct nn_text devices = { 0 };
	enum nn_cached found;
	size_t n;

	snprintf(name, NN_DEVICE_NAME, "cpu");
	*note = '\0';
	key_of(use, key);
	found = nn_cache_get(FILE_NAME, key, value);
	if (found == NN_CACHE_OTHER)
		snprintf(note, NN_STORED_NOTE,
			 "--device=auto: what is stored for this model is of another machine or "
			 "build and not used; "
			 "nn-bench pick --store measures it here");
	if (found != NN_CACHE_FOUND)
		return found != NN_CACHE_NONE;
	n = strcspn(value, " ");
	add_devices(&devices);
	if (devices.failed || value[n] != ' ' || n >= NN_DEVICE_NAME ||
	    strcmp(value + n + 1, devices.data) != 0)
		snprintf(note, NN_STORED_NOTE,
			 "--device=auto: what is stored for this model was measured with other "
			 "devices and is not used; "
			 "nn-bench pick --store measures it again");
	else
		snprintf(name, NN_DEVICE_NAME, "%.*s", (int)n, value);
	nn_text_free(&devices);
	return true;
}
