/* Learning rates: warm-up, then constant, linear, cosine, step or plateau. */
#ifndef NN_STEP_SCHEDULE_H
#define NN_STEP_SCHEDULE_H

#include <stdint.h>
#include "base/error.h"

enum nn_schedule_kind {
	NN_RATE_CONSTANT,
	NN_RATE_COSINE,
	NN_RATE_STEPWISE,
	NN_RATE_LINEAR,
	NN_RATE_PLATEAU
};

struct nn_schedule {
	enum nn_schedule_kind kind;
	double lr;
	uint64_t warmup;  /* steps W */
	uint64_t planned; /* steps T of the whole training */
	uint64_t every;   /* step:N:F; 0: thirds of what follows the warm-up, times 0.1 */
	double factor;
	unsigned drops; /* plateau: times 0.1 so often */
};

/*
 * "constant", "cosine", "step", "step:N:F", "linear", "plateau" into kind, every, factor; the error
 * starts with the value.
 */
int nn_schedule_parse(struct nn_schedule *schedule, const char *text, struct nn_error *err);
/*
 * The rate of step `step`, counted from 0 (training.md). Only + - * / of f64: the same on every
 * machine.
 */
double nn_schedule_rate(const struct nn_schedule *schedule, uint64_t step);

#endif
