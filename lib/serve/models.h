/*
 * Models being served: files, directories of numbered versions, directories of models; which one a
 * name, a version or a label means; reading them anew while they serve.
 */
#ifndef NN_SERVE_MODELS_H
#define NN_SERVE_MODELS_H

#include "base/shape.h"
#include "predict/emit.h"
#include "predict/model.h"

/* A tensor of a model as clients name it. */
struct nn_port {
	const char
		*name; /* "input", "output", a column's name, "probs", "class", a named output's */
	bool text;     /* BYTES, else FP32 */
	bool fixed;    /* shape is [-1, shape...]; false: [-1], a value a row */
	struct nn_shape shape; /* of a row, in language order */
	size_t size;           /* values of a row */
};

/*
 * One version of a model, immutable but for its counts of use: taken with nn_models_find, given
 * back with nn_served_release, freed when neither the table nor a request has it.
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
	bool classifies; /* outputs are classes: labels are known */
	size_t row_in;   /* f32 values of a row in, all inputs, as nn_model_predict takes them */
	size_t row_out;  /* f32 values of a row out: probabilities of classes, values of numbers */
	struct nn_lane *lane; /* batch.h: its queue, sessions, costs and counts */
};

enum nn_models_state { NN_MODEL_LOADING, NN_MODEL_AVAILABLE, NN_MODEL_UNLOADING, NN_MODEL_END };

struct nn_models;
struct nn_batcher;

struct nn_models_setup {
	const char *const *operands; /* [NAME=]PATH, NULL-terminated */
	const char *labels;          /* NAME:LABEL=VERSION, one a line; NULL: none */
	bool keep_going;             /* bad models beside good ones are warnings */
	struct nn_batcher *batcher;
	void (*warn)(void *arg, const char *text);
	void *arg;
};

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
/* Model i, its versions: for listings. n versions are written to versions[most]; their number. */
size_t nn_models_count(const struct nn_models *models);
const char *nn_models_name(const struct nn_models *models, size_t i);
size_t nn_models_versions(struct nn_models *models, const char *name, uint64_t *versions,
			  enum nn_models_state *states, size_t most);
/* Are all ready? */
bool nn_models_ready(const struct nn_models *models);

/*
 * Read again what changed on disk (SIGHUP, --watch; name NULL: all): the new version is read,
 * checked and warmed up before it takes over; a bad file leaves the old one serving. -1: the first
 * thing that was wrong, the others went to warn.
 */
int nn_models_reload(struct nn_models *models, const char *name, struct nn_error *err);
int nn_models_unload(struct nn_models *models, const char *name, struct nn_error *err);
/* Descriptor that is readable when something on disk may have changed (inotify), -1. */
int nn_models_watch(struct nn_models *models, struct nn_error *err);

#endif
