/* What the files of this room share of a running training. */
#ifndef NN_TRAIN_JOB_H
#define NN_TRAIN_JOB_H

#include "train/state/counters.h"
#include "step/schedule.h"
#include "train/state/state.h"
#include "parallel/strategy.h"
#include "plan/forecast.h"
#include "train/train.h"

struct nn_curve;
struct nn_evaluator;
struct nn_lock;
struct nn_log;
struct nn_model_file;
struct nn_output;
struct nn_progress;
struct nn_saver;

/* Where the network and the data come from. */
struct nn_train_source {
	bool f64;                    /* whatever --precision says */
	struct nn_model_file *start; /* the model file it starts from, NULL: text */
	bool net_owned;              /* not start's */
	const char *held_out_path;   /* of --valid=FILE[,TARGETS], or what is read in its place */
	const char *spooled;         /* what stands for stdin, the path in setup; NULL: nothing */
	uint64_t fold; /* of --folds that is held out, from 1; 0: a training of its own */
	/* a plan: bytes of each file that are looked at; 0: a training, which reads all */
	size_t sample;
};

/* The clock. */
struct nn_train_clock {
	double start_s, ends_s; /* ends_s: --time-limit, 0: none */
	double first_step_s, first_epoch_s, steady_s;
	uint64_t steady_samples;
	struct nn_times times; /* the time it took */
	/* of the start: reading the data; the plan and its memory; steps that were tried */
	double data_s, plan_s, tried_s;
};

/* What outlives the run: the model and the state. */
struct nn_train_kept {
	struct nn_output *output; /* until the model is written */
	bool written;
	char *state_path; /* NULL: no state */
	struct nn_lock *lock;
	char *options_json;
	void **best;                     /* --patience: the best parameters so far */
	struct nn_state_tensors tensors; /* of a state on its way to or from the file */
	struct nn_train_snapshot {
		struct nn_counters counters; /* and the rest of it */
		uint64_t bytes;              /* of the file */
		double start_s; /* when it was taken; before the first one, when training began */
		bool due;       /* the next one waits for this to be written */
	} snapshot;
	struct nn_saver *saver; /* NULL: no state is kept */
	uint64_t save_steps;    /* --checkpoint-every */
	double save_s;
	uint64_t saved_step;  /* step of the newest state on disk, UINT64_MAX: none of this run */
	char save_error[512]; /* why the last try failed */
	bool save_failed, replaces; /* the last try failed; an older run's state is there */
};

/* What is said of it. */
struct nn_train_told {
	struct nn_log *log;
	struct nn_progress *progress;
	struct nn_curve *curve; /* NULL: no --plot */
};

struct nn_train {
	struct nn_train_setup setup;
	struct nn_train_options *options;
	struct nn_std_options *std;
	struct nn_task task;
	struct nn_layout layout;
	struct nn_worker worker; /* on these two */
	struct nn_control wish;  /* what ranks agreed on in the last step */
	struct nn_train_source source;
	void **whole; /* all of them, where this rank evaluates and keeps a part; else NULL */

	/* how far */
	struct nn_loader loader;
	const char *ends_by; /* "epochs" or "steps": what says how many */
	struct nn_schedule schedule;
	struct nn_evaluator *evaluator; /* NULL: nothing is held out */
	struct nn_counters counters;
	struct nn_noise noise; /* of the gradient, where it is measured */
	const char *metric;    /* what is best */
	bool rises;            /* more of it is better */
	struct nn_train_finding {
		double metric; /* at the last evaluation or, of the rows as they passed, epoch */
		bool held_out, best; /* held_out: the evaluator ran */
	} found;

	struct nn_plan plan; /* before the memory is taken */
	struct nn_budget budget;
	struct nn_train_clock clock;
	struct nn_train_kept kept;
	struct nn_train_told told;
};

/* ---- tell.c: what the user is told ---- */

/* A warning or note, printf's way; a warning is in the log, too. */
void nn_train_warn(struct nn_train *train, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void nn_train_note(struct nn_train *train, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The host is told of the state on disk, as soon as it is there: by the thread that wrote it. */
void nn_train_tell_saved(const struct nn_train *train, uint64_t step);

#endif
