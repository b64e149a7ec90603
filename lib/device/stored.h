/*
 * The device that was measured fastest for a model: what nn-bench pick --store keeps and
 * --device=auto asks for.
 */
#ifndef NN_DEVICE_STORED_H
#define NN_DEVICE_STORED_H

#include "base/shape.h"
#include "base/error.h"

#define NN_DEVICE_NAME 32

/* What an answer is for. Batches count by powers of two: 64 to 127 rows are one use. */
struct nn_use {
	const char *model; /* canonical text */
	bool training;
	size_t batch;
	enum nn_dtype dtype;
};

int nn_device_store(const struct nn_use *use, const char *device, struct nn_error *err);

/*
 * Fill name with the device stored for this use, else "cpu". *note (NN_STORED_NOTE bytes) is "" or
 * why a stored answer is not used: it is another machine's or build's, or there are other devices
 * now. false: there was none at all.
 */
#define NN_STORED_NOTE 200
bool nn_device_stored(const struct nn_use *use, char name[NN_DEVICE_NAME],
		      char note[NN_STORED_NOTE]);

#endif
