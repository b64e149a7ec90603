/*
 * How many times as fast one way of doing something is as another: both measured in turns, both
 * verified.
 */
#ifndef NN_BENCH_SPEEDUP_H
#define NN_BENCH_SPEEDUP_H

#include "bench/padding.h"
#include "bench/trial.h"

struct nn_speedup {
	/* per row, and between what the intervals of both leave that; NAN: not measured */
	double times, low, high;
	struct nn_verdict verdict; /* wrong: it is not measured */
};

/*
 * The second way against the first. Not measured, with a note that begins with rule, where it does
 * not fit or time does not suffice.
 */
int nn_speedup_models(struct nn_bench *bench, const char *rule,
		      const struct nn_trial_options ways[2], struct nn_speedup *gain,
		      struct nn_error *err);
/* The second product against the first, forward, as wholes. */
int nn_speedup_products(struct nn_bench *bench, const char *rule, const struct nn_device *device,
			const struct nn_product products[2], struct nn_speedup *gain,
			struct nn_error *err);

/*
 * Are the gains that a rule promises there? "holds": all; "does not hold": none; "depends", on
 * which or on chance.
 */
const char *nn_speedup_verdict(const struct nn_speedup *gains, int n);
/* What column check says of all of them; NULL: nothing. */
const char *nn_speedup_check(const struct nn_speedup *gains, int n);

#endif
