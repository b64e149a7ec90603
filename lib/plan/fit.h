/*
 * The memory a training takes, item by item, and how many rows go through at once so that it fits.
 *
 * Memory is that of the process, data included (item input); the limit is --memory, or what is
 * available plus what the process already has. Activation bytes of a layer are those of its
 * output, 0 for a view. With --ranks the items are those of the rank that takes most; memory.host
 * is what the ranks of this host take together, without pages of files. --memory bounds a rank,
 * the machine's memory a host. On a device with memory of its own the items are those of both
 * memories; `device` of them lies there, device_* says of which items, and total is the rest, of
 * which pinned is the host's side of copies.
 */
#ifndef NN_PLAN_FIT_H
#define NN_PLAN_FIT_H

#include "plan/plan.h"

/* The items by the names of outputs.md, in their order. */
#define NN_FIT_ITEMS 20
extern const struct nn_fit_name {
	const char *name, *what;
	size_t offset;
} nn_fit_items[NN_FIT_ITEMS];
static inline size_t nn_fit_item(const struct nn_fit *fit, size_t i)
{
	return *(const size_t *)((const char *)fit + nn_fit_items[i].offset);
}

#define NN_FIT_HOST_ITEMS 10
/* The others are of devices with memory of their own. */
static inline size_t nn_fit_n_items(const struct nn_fit *fit)
{
	return fit->device ? NN_FIT_ITEMS : NN_FIT_HOST_ITEMS;
}

/* What is compared with the limit: the process with --memory, else the host. */
size_t nn_fit_need(const struct nn_plan *plan, const struct nn_fit *fit);
/* Is there room for that, and on the device? */
bool nn_fit_has_room(const struct nn_plan *plan, const struct nn_fit *fit);
/* The peak of this process, as its plan and what it had before say. */
size_t nn_fit_peak(const struct nn_plan *plan);

/* The plan for `micro` rows at once. Nothing is allocated but the plan's own lists. */
int nn_fit_plan(const struct nn_plan *plan, size_t micro, struct nn_fit *fit, struct nn_error *err);
/*
 * The plan for as many rows at once as suit the caches (at most --micro-batch, where that is
 * given), made fewer until they fit the limit. With fit->fits false no number of rows does, and the
 * plan is that of those which take the least.
 */
int nn_fit_choose(const struct nn_plan *plan, struct nn_fit *fit, struct nn_error *err);
/*
 * host and device of ranks that hold parts of the network, each of which has planned its own;
 * collective.
 */
int nn_fit_gather(struct nn_plan *plan, struct nn_error *err);
/* All samples in memory, and the lists of their numbers. */
size_t nn_fit_data_bytes(const struct nn_plan *plan, enum nn_dtype dtype);
/* The most rows of one step that fit the limit at once; 0: not even one. */
int nn_fit_largest(const struct nn_plan *plan, const struct nn_fit *fit, size_t *rows,
		   struct nn_error *err);

#endif
