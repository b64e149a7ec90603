/*
 * --selfcheck: do the promises hold on this network, with these data, on this machine?
 *
 * Prints TSV (check, what, compared, result). Bytes are compared after three steps, the last with
 * half the rows; gradients with central differences in f64, the best of three steps h, at values
 * moved off the kinks. The number of rows and elements follows from the processor time that one
 * takes.
 */
#ifndef NN_TRAIN_SELFCHECK_SELFCHECK_H
#define NN_TRAIN_SELFCHECK_SELFCHECK_H

#include "train/job.h"

/*
 * What arithmetic is checked: by default what the machine has, in a test what is to be found out.
 */
struct nn_selfcheck_devices {
	const struct nn_device *f64; /* gradients */
	const struct nn_device *const
		*kinds; /* in the training's type: the first is compared with the others */
	size_t n_kinds;
};

struct nn_selfcheck {
	struct nn_output *table;
	const volatile sig_atomic_t *stop; /* a signal, or 0 */
	unsigned n_checks, n_failed;
};

/*
 * Write the table: TSV with a header, a row per check, as they are made. 0; -1 where one could not
 * be made. devices NULL: the machine's. *stopped: the signal that ended it, else 0; *failed and
 * *checks count.
 */
int nn_train_selfcheck_on(const struct nn_train_setup *setup,
			  const struct nn_selfcheck_devices *devices, struct nn_output *table,
			  int *stopped, unsigned *checks, unsigned *failed, struct nn_error *err);

/* gradient.c: gradients beside central differences; bytes.c: the same bytes whoever computes. */
int nn_selfcheck_gradients(struct nn_selfcheck *check, struct nn_train *f64, struct nn_error *err);
int nn_selfcheck_bytes(struct nn_selfcheck *check, struct nn_train *train,
		       const struct nn_selfcheck_devices *devices, struct nn_error *err);

/* row.c */
/* A row of the table: what was compared as printf says it; passed or not. */
int nn_selfcheck_row(struct nn_selfcheck *check, const char *name, const char *what, bool passed,
		     struct nn_error *err, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/*
 * A step of `batch` rows at a time, micro of them at once, on the training's device; the last batch
 * of `rows` may be smaller.
 */
int nn_selfcheck_step(struct nn_step **step, const struct nn_train *train, size_t rows,
		      size_t batch, size_t micro, struct nn_error *err);
/* The values a training would begin with, into params and the step's graph. */
int nn_selfcheck_start(const struct nn_train *train, struct nn_step *step, void **params,
		       struct nn_error *err);

#endif
