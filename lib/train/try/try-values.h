/* The combinations of --try: which option has which value in combination k. */
#ifndef NN_TRAIN_TRY_TRY_VALUES_H
#define NN_TRAIN_TRY_TRY_VALUES_H

#include "train/try/try.h"

struct nn_try_axis {
	const struct nn_opt *row;
	size_t table;  /* of the list */
	char **values; /* [n] */
	size_t n;
};

struct nn_try_axes {
	struct nn_try_axis axes[NN_MOST_AXES];
	size_t n, combinations;
};

/* What --try says; nn_try_axes_free in any case, unless values were put. NN_EUSAGE. */
int nn_try_axes_read(struct nn_try_axes *axes, const struct nn_train_setup *setup,
		     struct nn_error *err);
void nn_try_axes_free(struct nn_try_axes *axes);
/* The value of axis i in combination k; the last axis changes first. */
const char *nn_try_value(const struct nn_try_axes *axes, size_t i, size_t k);
/* Put those of combination k where options are kept; they are borrowed from axes. */
int nn_try_put(const struct nn_try_axes *axes, const struct nn_train_setup *setup, size_t k,
	       struct nn_error *err);

#endif
