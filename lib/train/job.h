/* What the files of this room share of a running training. */
#ifndef NN_TRAIN_JOB_H
#define NN_TRAIN_JOB_H

#include "base/output.h"
#include "model/model.h"
#include "train/counters.h"
#include "train/curve.h"
#include "train/evaluate.h"
#include "train/lock.h"
#include "train/log.h"
#include "train/output.h"
#include "train/plan/fit.h"
#include "train/plan/forecast.h"
#include "train/plan/pace.h"
#include "train/plan/rates.h"
#include "train/progress.h"
#include "train/saver.h"
#include "train/schedule.h"
#include "train/state.h"
#include "train/step.h"
#include "train/strategy/pipeline.h"
#include "train/strategy/shard.h"
#include "train/strategy/strategy.h"
#include "train/strategy/tensor.h"
#include "train/train.h"

struct nn_train {
	struct nn_train_setup setup;
	struct nn_train_options *options;
	struct nn_std_options *std;
	struct nn_comm *comm; /* of the ranks that train; NULL in a plan */
	const struct nn_strategy *strategy;
	struct nn_strategy_terms terms;
	struct nn_team *team;           /* what sync keeps */
	struct nn_local *local;         /* what local keeps */
	struct nn_async *async;         /* what async keeps */
	struct nn_pipe *pipe;           /* of --pipeline; NULL: every rank has the whole network */
	struct nn_tensor_group *tensor; /* of --tensor; NULL: every rank has all columns */
	struct nn_wish wish;            /* what ranks agreed on in the last step */
	const char *held_out_path; /* of --valid=FILE[,TARGETS], or what is read in its place */
	const char *spooled;       /* what stands for stdin, the path in setup; NULL: nothing */
	int sharing, on_host; /* of them on the cores, on the host of this one, itself included */
	struct {
		int rank, ranks; /* ranks 0: as it is */
	} as; /* a plan: which of those with the same parameters it is made for */

	/* what is trained */
	const struct nn_device *device;
	bool f64; /* whatever --precision says */
	struct nn_pool *pool;
	struct nn_model_file *start; /* the model file it starts from, NULL: text */
	struct nn_net *net;
	bool net_owned; /* not start's */
	const struct nn_program *program;
	void **params; /* canonical: the door to files and to the evaluator; where ranks have parts
			  of the network its own, on rank 0 all */
	size_t *keeps; /* [params] elements of each that those are; NULL: all */
	void **whole;  /* all of them, where this rank evaluates and keeps a part; else NULL */
	int n_outputs;
	struct nn_loss_spec *losses; /* [n_outputs] */
	double *shares;              /* [n_outputs] weights of their losses */
	double **class_weights; /* [n_outputs] --class-weight, NULL where the targets are no classes
				 */

	/* what it is trained on */
	struct nn_dataset *dataset, *held_out; /* held_out: of --valid=FILE */
	struct nn_schema *schema;
	uint64_t *rows, *valid_rows; /* numbers of samples that are trained on, held out */
	uint64_t n_rows, n_valid;
	uint64_t fold;         /* of --folds that is held out, from 1; 0: a training of its own */
	struct nn_order order; /* of the epoch */
	uint64_t window;       /* of the shuffle */
	size_t sample; /* a plan: bytes of each file that are looked at; 0: a training, which reads
			  all */
	bool about, rows_unknown; /* a plan: the number of rows is guessed, is not known */

	/* how far */
	uint64_t steps_per_epoch, planned; /* planned: steps in all */
	const char *ends_by;               /* "epochs" or "steps": what says how many */
	struct nn_schedule schedule;
	struct nn_step *step;
	struct nn_evaluator *evaluator; /* NULL: nothing is held out */
	struct nn_counters counters;
	struct nn_noise noise; /* of the gradient, where it is measured */
	const char *metric;    /* what is best */
	bool rises;            /* more of it is better */
	struct nn_train_finding {
		double metric; /* at the last evaluation or, of the rows as they passed, epoch */
		bool held_out, best; /* held_out: the evaluator ran */
	} found;

	/* what is written */
	struct nn_output *output; /* until the model is written */
	bool written;
	struct nn_log *log;
	struct nn_progress *progress;
	struct nn_curve *curve; /* NULL: no --plot */
	char *state_path;       /* NULL: no state */
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

	/* times */
	double start_s, ends_s; /* ends_s: --time-limit, 0: none */
	double first_step_s, first_epoch_s, steady_s;
	double compute_s, input_s, comm_s, wait_s;
	struct nn_rank_times *ranks; /* [size] of all ranks, once they were gathered; NULL before */
	uint64_t started_step, steady_samples;
	struct nn_rate rate;            /* what the prediction rests on */
	struct nn_forecast forecast;    /* the time that was predicted */
	struct nn_pace pace;            /* of several ranks: what that rests on */
	struct nn_times times;          /* the time it took */
	double data_s, plan_s, tried_s; /* of the start: reading the data; the plan and its memory;
					   steps that were tried */
	struct nn_fit fit;              /* the memory that was planned */
	size_t start_bytes, loaded_bytes; /* resident before and after the data were read */
	size_t highest_bytes;             /* and the most before the step was made */
	size_t limit_bytes;               /* what the machine has for this process */
	enum nn_dtype loaded_dtype;
	bool keeps_state; /* a state will be written */
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
