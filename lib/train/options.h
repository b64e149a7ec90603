/*
 * The options of training: one table gives parsing, help, the man page, completions, logs and the
 * rules of --resume.
 */
#ifndef NN_TRAIN_OPTIONS_H
#define NN_TRAIN_OPTIONS_H

#include "base/option.h"
#include "model/model.h"
#include "parallel/options.h"
#include "predict/score/threshold.h"
#include "step/recipe.h"

struct nn_train_options {
	const char *model; /* -m: a file or text */
	const char *init;  /* weights made elsewhere; NULL: none */
	bool init_partial;
	const char *freeze;            /* LAYER,...; NULL: none */
	bool fold_batchnorm;           /* of a finished model that is written again */
	enum nn_weights_layout layout; /* of init */
	struct nn_recipe recipe;
	struct nn_parallel_options ranks;
	uint64_t split_seed;
	const char *valid;
	uint64_t valid_every, folds;
	const char *metric;
	uint64_t patience;
	enum nn_threshold_by threshold;
	const char *class_weight, *ignore, *augment;
	const char *checkpoint, *checkpoint_every;
	bool resume;
	uint64_t max_restarts;
	double timeout;    /* seconds without progress that end a job of ranks */
	const char *spool; /* a file or a size */
	bool selfcheck;
	uint64_t log_every;
	const char *plot, *tensorboard;
	const char *explain; /* "json", or NULL for text, where it is given */
	const char *race;    /* strategies */
	const char *tries;   /* --try: OPTION=V1,V2,... a line each */
	uint64_t memory;     /* bytes, 0: what the machine has */
	bool recompute;
	const char *offload;   /* a folder, or NULL for the usual one, where it is given */
	const char *cache;     /* NULL: none */
	uint64_t input_memory; /* bytes, 0: half of memory */
};

extern const struct nn_opt nn_train_opts[], nn_train_run_opts[];

/* "N" steps or "Ns" seconds of --checkpoint-every; one of the two is set, both 0 for NULL. */
int nn_parse_every(const char *text, uint64_t *steps, double *seconds, struct nn_error *err);
/* Is this value of --checkpoint a file? Else it is "no". */
bool nn_checkpoint_is_file(const char *value);
/* The window of nn_shuffle: "yes" all, "no" 0, else N. */
int nn_parse_shuffle(const char *text, uint64_t *window, struct nn_error *err);
/* W,... into weights[n] (NULL: counted only); the number of them, or -1. */
int nn_parse_weights(const char *text, double *weights, struct nn_error *err);
/* The number of --valid=0.1, or 0 when it names a file. */
int nn_parse_fraction(const char *text, double *fraction, struct nn_error *err);
/* Is it a list of strategies, of --race? Their number, or -1 with what is wrong (NN_EUSAGE). */
#define NN_MOST_RACERS 8 /* as many lines as a picture can tell apart */
int nn_parse_race(const char *text, struct nn_error *err);
/*
 * Is it OPTION=V1,V2,... of --try? A comma before a blank is part of a value, as in the text of a
 * network, and so is one in double quotes. NN_EUSAGE.
 */
int nn_parse_try(const char *text, struct nn_error *err);
/*
 * The value that a list of them begins with, without its double quotes, into value (NULL: nowhere)
 * and its bytes into *n; what follows the comma, or NULL where a line or the text ends.
 */
const char *nn_next_tried(const char *at, char *value, size_t *n);
/* May this option differ between a run and the one that resumes it? */
bool nn_train_may_change(const char *name);

#endif
