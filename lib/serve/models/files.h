/*
 * Which model files there are: a file, a directory of numbered versions DIR/N/ with one model file
 * each, or a directory of models with files and directories of versions.
 *
 * In a directory a model file is one named *.safetensors, *.st or *.onnx, or that begins as
 * safetensors does; hidden names and training states are none. A directory with a numbered
 * subdirectory is one of versions.
 */
#ifndef NN_SERVE_MODELS_FILES_H
#define NN_SERVE_MODELS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "file/watch.h"

/* Are they of the same file, unchanged? */
bool nn_stamp_equal(const struct nn_stamp *a, const struct nn_stamp *b);
/* All zeros where there is no such file, or it cannot be reached: false, errno. */
bool nn_stamp_of(struct nn_stamp *stamp, const char *path);

/* [NAME=]PATH */
struct nn_operand {
	char *name; /* NULL: not given */
	const char *path;
	bool lost; /* the last search found nothing there, which was told */
};
/* word is borrowed. */
int nn_operand_parse(struct nn_operand *operand, const char *word, struct nn_error *err);
void nn_operand_fini(struct nn_operand *operand);
/* The name of a file without what follows its last dot; nn_free. */
char *nn_operand_stem(const char *path, struct nn_error *err);
/* A directory by its own name, also where it is given as "." or "a/.."; nn_free. */
char *nn_operand_directory(const char *path, struct nn_error *err);

struct nn_found {
	char *name, *path;
	char *home;       /* what its name comes from: the file, or the directory of versions */
	uint64_t version; /* 1 for a file of its own */
	bool fixed;       /* a file of its own: gone is an error; a version may go */
	struct nn_stamp stamp;
	struct nn_error wrong; /* code not NN_OK: it cannot be served, and why */
	bool early;            /* perhaps because it is not complete yet: no error at a reload */
};

struct nn_finding {
	struct nn_found *found; /* by name, home and version */
	size_t n, room;
	/* Called before a directory is read. */
	void (*folder)(void *arg, const char *path);
	void *arg;
};

/* -1: nothing can be found there. Free what was found in any case. */
int nn_operand_find(const struct nn_operand *operand, struct nn_finding *finding,
		    struct nn_error *err);
void nn_finding_fini(struct nn_finding *finding);
/* [A-Za-z0-9._-]+, neither "." nor ".." */
bool nn_models_name_is_valid(const char *name, size_t n);

#endif
