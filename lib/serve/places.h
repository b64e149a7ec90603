/* The devices that models compute on: --device=NAME[,NAME]... */
#ifndef NN_SERVE_PLACES_H
#define NN_SERVE_PLACES_H

#include "base/error.h"
#include "device/stored.h"

#define NN_MOST_PLACES 4

struct nn_places {
	size_t n;
	char name[NN_MOST_PLACES][NN_DEVICE_NAME];
};

/* NN_EUSAGE: too many, one twice, or auto among others. */
int nn_places_parse(struct nn_places *places, const char *text, struct nn_error *err);

#endif
