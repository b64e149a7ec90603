/* The memory a training takes, item by item, and how many rows go through at once so that it fits.
 */
#ifndef NN_TRAIN_PLAN_FIT_H
#define NN_TRAIN_PLAN_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include "train/step.h"

struct nn_train;

/* Bytes; items as --explain names them, for the process as a whole. */
struct nn_fit {
	size_t micro;      /* rows at once */
	size_t least;      /* that cannot be split: 1, or a batch-norm group */
	size_t parameters; /* as the kernels keep them */
	size_t gradients;  /* and the sums that wait for their neighbours in the tree of leaves */
	size_t optimizer;
	size_t activations_per_sample, activations;
	size_t workspace;
	size_t input;        /* the samples in memory, and those of a step */
	size_t other;        /* the program, copies of parameters for files and evaluation */
	size_t total, limit; /* limit: --memory, else what the machine has for this process, or for
				the ranks of this host */
	size_t host;         /* of all ranks of this host, without pages of files; alone: total */
	size_t window, window_all; /* of the total, of the host: memory that ranks see together */
	size_t files;              /* of the total: pages of files, which the machine has anyway */
	bool fits;
};

/* The items by the names of outputs.md, in their order. */
#define NN_FIT_ITEMS 10
extern const struct nn_fit_name {
	const char *name, *what;
	size_t offset;
} nn_fit_items[NN_FIT_ITEMS];
static inline size_t nn_fit_item(const struct nn_fit *fit, size_t i)
{
	return *(const size_t *)((const char *)fit + nn_fit_items[i].offset);
}

/* What is compared with the limit: the process with --memory, else the host. */
size_t nn_fit_need(const struct nn_train *train, const struct nn_fit *fit);
/* The peak of this process, as its plan and what it had before foresee it. */
size_t nn_fit_peak(const struct nn_train *train);

/* Is the gradient measured at all: for a log, or for notes? */
bool nn_train_measures(const struct nn_train *train);
/* The step as it would be with so many rows at once. */
struct nn_step_options nn_train_step_options(const struct nn_train *train, size_t micro);

/* The plan for `micro` rows at once. Nothing is allocated but the plan's own lists. */
int nn_fit_plan(const struct nn_train *train, size_t micro, struct nn_fit *fit,
		struct nn_error *err);
/*
 * The plan for as many rows at once as suit the caches (at most --micro-batch, where that is
 * given), made fewer until they fit the limit. With fit->fits false no number of rows does, and the
 * plan is that of those which take the least.
 */
int nn_fit_choose(const struct nn_train *train, struct nn_fit *fit, struct nn_error *err);
/* The most rows of one step that fit the limit at once; 0: not even one. */
int nn_fit_largest(const struct nn_train *train, const struct nn_fit *fit, size_t *rows,
		   struct nn_error *err);

#endif
