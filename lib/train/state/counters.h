/* Counters as the JSON that a state file keeps. */
#ifndef NN_TRAIN_STATE_COUNTERS_H
#define NN_TRAIN_STATE_COUNTERS_H

#include "base/error.h"
#include "base/text.h"
#include "file/json/json.h"
#include "step/counters.h"

/* Canonical JSON object, and back; every key must be there. */
void nn_counters_json(const struct nn_counters *counters, struct nn_text *text);
int nn_counters_parse(struct nn_counters *counters, const struct nn_json *json,
		      struct nn_error *err);

#endif
