/* Inside --race: how far a training was when. */
#ifndef NN_TRAIN_RACE_INSIDE_H
#define NN_TRAIN_RACE_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/output.h"

struct nn_racer {
	char name[64];
	double *seconds, *loss, *bytes; /* [n] */
	size_t n, room;
};

struct nn_race_log {
	const char *path;
	bool valid; /* losses are those of held-out rows */
	struct nn_output *table;
};

/* Its lines as points of r and rows of the table. */
int nn_race_read(struct nn_racer *r, const struct nn_race_log *log, struct nn_error *err);

#endif
