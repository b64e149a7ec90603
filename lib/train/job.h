/* What the files of this room share of a running training. */
#ifndef NN_TRAIN_JOB_H
#define NN_TRAIN_JOB_H

#include "base/sha256.h"
#include "step/schedule.h"
#include "train/state/keeping.h"
#include "parallel/worker.h"
#include "plan/forecast.h"
#include "train/tell/telling.h"

struct nn_evaluator;
struct nn_ring;
struct nn_model_file;
struct nn_output;
struct nn_st;

/* Where the network and the data come from. */
struct nn_train_source {
	bool f64;                        /* whatever --precision says */
	struct nn_model_file *start;     /* the model file it starts from, NULL: text */
	bool net_owned;                  /* not start's */
	struct nn_st *init;              /* parameters of --init; NULL: none */
	char init_sha256[NN_SHA256_HEX]; /* of them; "" */
	const char *held_out_path; /* of --valid=FILE[,TARGETS], or what is read in its place */
	const char *spooled;       /* what stands for stdin, the path in setup; NULL: nothing */
	uint64_t fold; /* of --folds that is held out, from 1; 0: a training of its own */
	/* a plan: bytes of each file that are looked at; 0: a training, which reads all */
	size_t sample;
	/* all that options and network say of what is read: where it is the same the data are */
	struct nn_text said;
	bool borrowed; /* the data are setup.read's */
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

struct nn_train {
	struct nn_train_setup setup;
	struct nn_train_options *options;
	struct nn_std_options *std;
	struct nn_task task;
	struct nn_layout layout;
	struct nn_worker worker;   /* on these two */
	struct nn_control control; /* what ranks agreed on in the last step */
	struct nn_train_source source;
	void **whole; /* all of them, where this rank evaluates and keeps a part; else NULL */

	/* how far */
	struct nn_loader loader;
	struct nn_ring *ring; /* of --replay; NULL */
	const char *ends_by; /* "epochs", "steps" or "stream": what says how many */
	struct nn_schedule schedule;
	struct nn_evaluator *evaluator; /* NULL: nothing is held out */
	struct nn_counters counters;
	struct nn_noise noise; /* of the gradient, where it is measured */
	const char *metric;    /* what is best */
	bool rises;            /* more of it is better */
	struct nn_train_finding {
		double metric; /* at the last evaluation or, of the rows as they passed, epoch */
		bool held_out, best;           /* held_out: the evaluator ran */
		struct nn_threshold threshold; /* of --threshold, at the end */
		const char *unconverged;       /* what ended it before it had converged, or NULL */
	} found;

	struct nn_plan plan; /* before the memory is taken */
	struct nn_budget budget;
	struct nn_train_clock clock;
	struct nn_output *output; /* of the model, until it is written */
	bool written;
	struct nn_keeping kept;
	struct nn_telling told;
};

#endif
