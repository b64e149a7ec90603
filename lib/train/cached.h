/* --cache: data of a training from files, or from what a training before it kept of them. */
#ifndef NN_TRAIN_CACHED_H
#define NN_TRAIN_CACHED_H

#include "data/cache/cache.h"
#include "train/job.h"

/* Data and held-out data from their files. */
int nn_cached_read_files(struct nn_train *train, const struct nn_cache_sources *sources,
			 const struct nn_want *want, struct nn_error *err);
/* The same for a plan, of a training that may find them in --cache. */
int nn_cached_plan(struct nn_train *train, const struct nn_cache_sources *sources,
		   const struct nn_want *want, struct nn_error *err);
/*
 * The same from --cache, which is made anew where it is not of these files and options: by the first
 * rank, while the others read files, too.
 */
int nn_cached_read(struct nn_train *train, const struct nn_cache_sources *sources,
		   const struct nn_want *want, struct nn_error *err);

#endif
