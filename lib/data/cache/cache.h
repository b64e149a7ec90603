/*
 * Data as they were read, kept in a file (--cache): rows as they lay in memory, decoded and parsed,
 * with all that was learned of them. It begins with NN_CACHE_MAGIC; then come the bytes of rows and
 * targets; at the end a JSON object that says where they are, its length, its checksum and
 * NN_CACHE_END, so that one that was not written to its end is none.
 */
#ifndef NN_DATA_CACHE_CACHE_H
#define NN_DATA_CACHE_CACHE_H

#include "base/output.h"
#include "data/dataset.h"

#define NN_CACHE_MAGIC "nncache1"
#define NN_CACHE_END "nncache/"
#define NN_CACHE_TAIL 24 /* bytes of length, checksum and end */

/* What is read without it. Held-out files may be NULL, and targets. */
struct nn_cache_sources {
	const char *data, *targets, *held_out, *held_out_targets;
};

/*
 * The key of the sources: of their names, sizes and times, those of all files of folders, and of
 * `said`, which is what options and network say of them. A pipe has none.
 */
int nn_cache_key(const struct nn_cache_sources *sources, const char *said, char key[NN_SHA256_HEX],
		 struct nn_error *err);

/*
 * What lies at path. 1: *dataset and *held_out (NULL without) are as nn_dataset_open and _open_like
 * would give them; rows that take more than want->memory stay there, and are read whenever they are
 * wanted. 0: it has to be made anew, `why` says why (no text: there is nothing yet). -1: it is
 * another file, or cannot be read.
 */
int nn_cache_read(const char *path, const char *key, const struct nn_cache_sources *sources,
		  const struct nn_data_options *options, const struct nn_want *want,
		  struct nn_dataset **dataset, struct nn_dataset **held_out, struct nn_error *why,
		  struct nn_error *err);

/*
 * For a plan, which has read some of the files: would a training find them at path? Then rows that
 * take more than `memory` stay there. held_out may be NULL.
 */
void nn_cache_plan(const char *path, const char *key, size_t memory, struct nn_dataset *dataset,
		   struct nn_dataset *held_out);

/* Can they be kept? A text is read as it is. */
bool nn_cache_takes(const struct nn_dataset *dataset);
/* Before anything is measured; held_out may be NULL. The output is the caller's to commit. */
int nn_cache_write(struct nn_output *output, const char *key, const struct nn_dataset *dataset,
		   const struct nn_dataset *held_out, struct nn_error *err);

#endif
