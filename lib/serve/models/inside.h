/* The table of models: what serves, from which files, and what was found wrong with them. */
#ifndef NN_SERVE_MODELS_INSIDE_H
#define NN_SERVE_MODELS_INSIDE_H

#include <pthread.h>

#include "serve/models/files.h"
#include "serve/models/version.h"

/* A version there is, or was meant to be. */
struct nn_version {
	uint64_t number;
	struct nn_served *served; /* used once; NULL: it could not be read yet */
	bool loading;             /* for the first time */
	char *wrong;       /* with the file of that stamp, which could not be read; NULL: nothing */
	enum nn_code code; /* of wrong */
	struct nn_stamp stamp;
	bool there; /* found by the search that is under way */
};

struct nn_entry {
	char *name, *home;
	size_t operand;              /* its number */
	bool fixed;                  /* a file of its own */
	struct nn_version *versions; /* rising */
	size_t n, room;
	bool unloaded;
	bool gone; /* its file is not there any more: told once */
	bool lame; /* no version of it has been good since it came or was unloaded */
};

struct nn_label {
	char *name, *label;
	uint64_t version;
};

struct nn_models {
	struct nn_models_setup setup;
	struct nn_operand *operands;
	size_t n_operands;
	struct nn_graves *graves;

	/* One search at a time; what is below `lock` is read under either, changed under both. */
	pthread_mutex_t searching;
	pthread_mutex_t lock; /* held for no longer than it takes to exchange a pointer */
	struct nn_entry **entries;
	size_t n, room;
	struct nn_label *labels;
	size_t n_labels;
	int inotify; /* -1: not watched */
	struct nn_watched *watches;
	size_t n_watches, watches_room;
	char **folders; /* folders.c */
	size_t n_folders, folders_room;
};

/* A directory that is watched. */
struct nn_watched {
	int number;
	char *path;
};

/* What a search may do. */
struct nn_search {
	bool start;       /* anything wrong is an error */
	bool again;       /* bad files are tried again, though they are the same */
	const char *only; /* this model; NULL: all */
};

/* Room for one more of *list with n of size; false: memory is out. */
bool nn_make_room(void **list, size_t n, size_t *room, size_t size, struct nn_error *err);

/* reload.c: read what is new or changed. `searching` is held, or nobody else knows models.
 */
int nn_models_search(struct nn_models *models, const struct nn_search *search,
		     struct nn_error *err);
/* Inside: a model by its name; NULL. Under a lock. */
struct nn_entry *nn_models_entry(struct nn_models *models, const char *name, size_t n);
/* A new entry at the end; fields of it are the caller's to set before anybody looks. */
struct nn_entry *nn_models_add(struct nn_models *models, const struct nn_found *found,
			       size_t operand, struct nn_error *err);
/* The version with that number or a new one without anything; NULL: memory is out. Under `lock`. */
struct nn_version *nn_entry_version(struct nn_entry *entry, uint64_t number, bool make,
				    struct nn_error *err);

/* Everything of n versions, with their use. */
void nn_versions_free(struct nn_version *versions, size_t n);

/* labels.c: labels of the setup, and whether their versions are there. */
int nn_models_take_labels(struct nn_models *models, struct nn_error *err);
/* 0: there is no such label. */
uint64_t nn_models_labelled(const struct nn_models *models, const char *name, const char *label);

/* watch.c: a directory is about to be read (arg: the models); called before it is. */
void nn_models_watch_folder(void *arg, const char *path);
void nn_models_unwatch(struct nn_models *models);

/* folders.c: files of this path may be read: its directory, and that of what it links to. */
int nn_models_take_folders(struct nn_models *models, const char *path, struct nn_error *err);
void nn_models_free_folders(struct nn_models *models);

#endif
