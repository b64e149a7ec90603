/* A training: from options and data to a model file. */
#ifndef NN_TRAIN_TRAIN_H
#define NN_TRAIN_TRAIN_H

#include <signal.h>
#include "base/option.h"
#include "base/text.h"
#include "comm/comm.h"
#include "data/data.h"
#include "train/options.h"

struct nn_train;

/*
 * What the program around a training offers; the library itself prints nothing and touches no
 * signals.
 */
struct nn_train_host {
	void (*warn)(void *arg, const char *text); /* one line, no newline */
	void (*note)(void *arg, const char *text);
	void *arg;
	void (*at)(void *arg, uint64_t steps); /* number of steps done; NULL: not called */
	/* A state of that moment is on disk; NULL likewise. Called by the thread that wrote it. */
	void (*saved)(void *arg, const char *path, uint64_t steps);
	int progress;                /* descriptor for progress lines, -1: none */
	volatile sig_atomic_t *stop; /* a signal that asks to end after this step, or 0 */
	volatile sig_atomic_t
		*save; /* a signal that asks for the state now, or 0; reset when served */
	/* likewise for the table of its input; NULL: nobody asks */
	volatile sig_atomic_t *show;
};

/* Data in memory, and what a training said of them when it read them. */
struct nn_train_read {
	struct nn_dataset *dataset, *held_out; /* held_out NULL: none of --valid=FILE */
	const char *said;                      /* of nn_train_source */
};

struct nn_train_setup {
	const struct nn_opt_list *list; /* all options, for logs and --resume */
	struct nn_train_options *train; /* defaults that depend on others are filled in */
	struct nn_data_options *data;
	struct nn_std_options *std;
	uint64_t ranks;                       /* that were asked for, 0: not said; of a plan */
	const char *data_path, *targets_path; /* targets NULL: in the data */
	/* taken instead of files by a training that says the same of them; NULL: files are read */
	const struct nn_train_read *read;
	struct nn_comm *comm; /* borrowed: the ranks that train together; NULL where none train */
	struct nn_train_host host;
	/* lines for the user after an error, may be NULL: command lines that would fit */
	struct nn_text *advice;
};

/* What the command line alone rules out: combinations of options (NN_EUSAGE). */
int nn_train_check(const struct nn_train_setup *setup, struct nn_error *err);

/*
 * The plan alone, as text for people or one JSON object (outputs.md): data_path may be NULL.
 * Nothing is trained or written. *fits: within --memory, or the machine.
 */
int nn_train_explain(const struct nn_train_setup *setup, struct nn_text *text, bool *fits,
		     struct nn_error *err);

/*
 * The memory of a training of MODEL alone, with nn-train's defaults but for a batch and what std
 * says: its items by the names of --explain, in their order, then largest_batch, each given to
 * item.
 */
int nn_train_memory(const char *model, size_t batch, const struct nn_std_options *std,
		    void (*item)(void *arg, const char *name, size_t value), void *arg,
		    struct nn_error *err);

/*
 * Read model and data, plan the memory, take it, and load the state to resume; nothing is written
 * yet but outputs opened.
 */
int nn_train_open(struct nn_train **train, const struct nn_train_setup *setup,
		  struct nn_error *err);
/*
 * Model and data alone, without outputs and memory for steps: for --selfcheck. f64: whatever
 * --precision says.
 */
int nn_train_open_inputs(struct nn_train **train, const struct nn_train_setup *setup, bool f64,
			 struct nn_error *err);
/*
 * Remove what ranks that were killed have left beside the outputs: temporaries and the lock of the
 * state.
 */
void nn_train_sweep(const struct nn_train_setup *setup);
/* What nn_checkpoint_end does, for ranks that were started again with --resume. */
void nn_train_forget(const struct nn_train_setup *setup);
void nn_train_free(struct nn_train *train); /* outputs not yet written stay as they were */

/*
 * Train to the end and write the model. 0; -1 with *err, NN_EDIVERGED among others. *stopped: the
 * signal that ended it after the state was written, else 0; the output is then left as it was.
 */
int nn_train_run(struct nn_train *train, int *stopped, struct nn_error *err);

/*
 * --folds: train once for each fold, which is held out, and write the table of their metrics to the
 * output instead of a model; rows as soon as they are known. Else as nn_train_run.
 */
int nn_train_run_folds(struct nn_train *train, int *stopped, struct nn_error *err);
/* Free what belongs to one fold, and open the next: rows, memory, initial values. */
int nn_train_next_fold(struct nn_train *train, struct nn_error *err);
/*
 * --selfcheck: a table on stdout, a row per check. -1 when one failed, or could not be made.
 * *stopped: the signal that ended it.
 */
int nn_train_selfcheck(const struct nn_train_setup *setup, int *stopped, struct nn_error *err);

#endif
