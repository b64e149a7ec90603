/* What the parts of --try share: the combinations, and what each came to. */
#ifndef NN_TRAIN_TRY_TRY_INSIDE_H
#define NN_TRAIN_TRY_TRY_INSIDE_H

#include <sys/types.h>

#include "base/output.h"
#include "base/text.h"
#include "train/prepare.h"
#include "train/try/try-values.h"

/* What a training came to, in memory that it shares with the process that waits for it. */
struct nn_tried {
	pid_t pid;
	bool started, ended, rises;
	double metric, sd, seconds; /* sd over folds, NaN without; metric NaN: it diverged */
	char name[80];              /* of the metric */
	struct nn_error err;        /* why it ended, code NN_OK: it came to its end */
};

struct nn_tries {
	struct nn_train_setup *setup;
	struct nn_try_axes axes;
	struct nn_train *base; /* which has read the data */
	struct nn_train_read read;
	struct nn_tried *trials;
	size_t n, jobs;       /* trainings in all, at once */
	uint64_t threads;     /* of all */
	char directory[4096]; /* of models, which go but for the best */
	const char *suffix;   /* of their names: what kind of file they are */
	size_t best;          /* n: none so far */
	struct nn_output *table;
};

struct nn_tries_before {
	struct nn_train_options train;
	struct nn_data_options data;
	struct nn_std_options std;
	uint64_t given[NN_OPT_TABLES];
};

/* Options as they are, and back to that. */
void nn_tries_keep(struct nn_tries_before *before, const struct nn_train_setup *setup);
void nn_tries_give_back(const struct nn_tries_before *before, const struct nn_train_setup *setup);

/* "lr=0.1 batch=32" */
void nn_tries_name(const struct nn_tries *all, size_t k, struct nn_text *text);
void nn_tries_model(const struct nn_tries *all, size_t k, char path[4200]);
/* A process that trains combination k. */
int nn_tries_start(struct nn_tries *all, size_t k, struct nn_error *err);
/* All of them, as many at once as there are threads; the best model so far stays. */
int nn_tries_run(struct nn_tries *all, struct nn_error *err);
/* TSV; on a terminal columns of equal width. */
int nn_tries_table(struct nn_tries *all, struct nn_error *err);

#endif
