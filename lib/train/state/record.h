/* The model file of a training, and the figures that stand in it. */
#ifndef NN_TRAIN_STATE_RECORD_H
#define NN_TRAIN_STATE_RECORD_H

#include "step/counters.h"
#include "step/schedule.h"
#include "step/task.h"
#include "train/train.h"

struct nn_evaluator;

/* What nn.train says of a training; all is borrowed. */
struct nn_model_record {
	const struct nn_task *task;
	const struct nn_train_options *options;
	const struct nn_std_options *std;
	const struct nn_opt_list *list; /* of all options */
	enum nn_missing missing;
	const char *weight; /* --weight; NULL: none */
	const struct nn_counters *counters;
	const struct nn_schedule *schedule;
	const struct nn_evaluator *evaluator; /* NULL: nothing is held out */
	const char *metric;                   /* what is best */
	const struct nn_threshold *threshold; /* by NONE: none */
	const char *init;                     /* hash of --init's weights; "": none */
};

/*
 * Write params as the model, an ONNX file where the output's name ends in .onnx; the output stays
 * open. output NULL, with params NULL: can it be written?
 */
int nn_record_model(const struct nn_model_record *record, struct nn_output *output,
		    void *const *params, struct nn_error *err);

#endif
