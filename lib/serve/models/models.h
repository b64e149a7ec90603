/*
 * Models being served: files, directories of numbered versions, directories of models; which one a
 * name, a version or a label means; reading them anew while they serve.
 */
#ifndef NN_SERVE_MODELS_MODELS_H
#define NN_SERVE_MODELS_MODELS_H

#include "base/shape.h"
#include "predict/emit.h"
#include "predict/model.h"

/* A tensor of a model as clients name it. */
struct nn_port {
	const char
		*name; /* "input", "output", a column's name, "probs", "class", a named output's */
	bool text;     /* BYTES, else FP32 */
	bool classes;  /* of an output: it says one class a row, by labels */
	bool fixed;    /* shape is [-1, shape...]; false: [-1], a value a row */
	struct nn_shape shape; /* of a row, in language order */
	size_t size;           /* values of a row */
	size_t steps; /* rows have a length each, shape and size are of the longest; 0: of one */
};

/*
 * One version of a model, immutable but for its counts of use: taken with nn_models_find, given
 * back with nn_served_release, freed (its lane closed) on a thread of its own when neither the
 * table nor a request has it.
 *
 * A table has an input per column: a column without a name goes by its number, from 1. One whose
 * columns are numbers without names is a plain net with `input`. Of a table with one output,
 * classes are probs and class, numbers output. What a port's values are in the row: inputs lie one
 * after the other unless it is a table; outputs too, but for class, which follows from probs. Of a
 * table with several outputs one of classes, NAME, has NAME.class behind it.
 */
struct nn_served {
	const char *name;
	uint64_t version; /* 1 where the model is a single file */
	bool null;        /* NAME:null: same inputs and outputs, nothing is computed */
	const struct nn_model *model;
	size_t n_inputs,
		n_outputs; /* ports: of a table one input per column, outputs probs and class */
	const struct nn_port *inputs, *outputs;
	bool table;      /* inputs are columns; a row is made by nn_model_encode */
	bool lengths;    /* rows of an input have a length each (nn_port.steps) */
	bool classifies; /* outputs are classes: labels are known */
	size_t row_in;   /* f32 values of a row in, all inputs, as nn_model_predict takes them */
	size_t row_out;  /* f32 values of a row out: probabilities of classes, values of numbers */
	struct nn_lane *lane; /* batch.h: its queue, sessions, costs and counts */
};

/* A name of a model, ":null" behind it and '\0' included. */
#define NN_MODEL_NAME 256

enum nn_models_state { NN_MODEL_LOADING, NN_MODEL_AVAILABLE, NN_MODEL_UNLOADING, NN_MODEL_END };

struct nn_models;
struct nn_batcher;
struct nn_board; /* board.h */
struct nn_ranks; /* ranks/ranks.h */

struct nn_models_setup {
	const char *const *operands; /* [NAME=]PATH, NULL-terminated */
	const char *labels;          /* NAME:LABEL=VERSION, one a line; NULL: none */
	bool keep_going;             /* bad models beside good ones are warnings */
	const char *device;          /* of --device; NULL: cpu */
	int precision;               /* as in struct nn_model_source */
	struct nn_batcher *batcher;
	struct nn_ranks *ranks;       /* that they lie on; NULL: they are whole */
	const struct nn_board *board; /* where lanes count; NULL: each for itself */
	void (*warn)(void *arg, const char *text);
	/* A version was read again; wrong NULL: it serves. Any thread. */
	void (*reloaded)(void *arg, const char *model, uint64_t version, const char *wrong);
	void *arg;
};

/* What setup points to stays until nn_models_close. */
int nn_models_open(struct nn_models **models, const struct nn_models_setup *setup,
		   struct nn_error *err);
void nn_models_close(struct nn_models *models); /* NULL allowed; nobody has a version any more */

/*
 * The model of that name (NAME:null too), its highest version or the one asked for: version 0 and
 * label NULL: the default. NULL with NN_EUSAGE: no such label; NN_EFAIL: no such model or version,
 * or it is unloaded. Any thread.
 */
struct nn_served *nn_models_find(struct nn_models *models, const char *name, size_t n,
				 uint64_t version, const char *label, struct nn_error *err);
void nn_served_release(struct nn_served *served); /* NULL allowed */
/* "2 values of ... were not in the training data": told once of a version. Any thread. */
void nn_served_unseen(struct nn_served *served, const char *what);
/*
 * Model i, its versions: for listings. A model without versions is unloaded, or its files are gone.
 * Models are never taken from the list; END: a version that could not be read. Versions are written
 * to versions[most] and states[most] in rising order; how many there are, the last ones if more.
 */
size_t nn_models_count(struct nn_models *models);
const char *nn_models_name(struct nn_models *models, size_t i); /* until nn_models_close */
size_t nn_models_versions(struct nn_models *models, const char *name, uint64_t *versions,
			  enum nn_models_state *states, size_t most);
/*
 * What is wrong with a version that could not be read: -1; 0: nothing. *err is filled as by
 * nn_fail.
 */
int nn_models_wrong(struct nn_models *models, const char *name, uint64_t version,
		    struct nn_error *err);
/* Has each that served a version that serves, but for those unloaded or gone? */
bool nn_models_ready(struct nn_models *models);

/*
 * Read again what changed on disk (SIGHUP, --watch; name NULL: all): the new version is read,
 * checked and warmed up before it takes over; a bad file leaves the old one serving. -1: the first
 * thing that was wrong, the others went to warn.
 */
int nn_models_reload(struct nn_models *models, const char *name, struct nn_error *err);
int nn_models_unload(struct nn_models *models, const char *name, struct nn_error *err);
/* Descriptor that is readable when something on disk may have changed (inotify), -1. */
int nn_models_watch(struct nn_models *models, struct nn_error *err);
/*
 * It is readable: waits until files stay as they are (at most a second), then reads again what
 * changed. A bad file is told once, until it changes or nn_models_reload tries it again.
 */
int nn_models_watched(struct nn_models *models, struct nn_error *err);
/* Directory i in which files that may be read are, links followed; NULL after the last. */
const char *nn_models_folder(struct nn_models *models, size_t i);
/* The directory that a path lies in, "." and "/" too; nn_free. */
char *nn_parent(const char *path, struct nn_error *err);

#endif
