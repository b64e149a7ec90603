/*
 * Prediction as nn-predict does it: rows from a reader through a graph to a writer, or to metrics.
 */
#ifndef NN_PREDICT_PREDICT_H
#define NN_PREDICT_PREDICT_H

#include "base/option.h"
#include "predict/emit.h"

struct nn_predict_options {
	const char *model_text; /* -m TEXT: the file gives weights only */
	const char *emit;       /* probs, class, top:K, logits, values; NULL: by the model */
	int to;                 /* 0: by the input; 1 + enum nn_to */
	int to_header;          /* 0 auto, 1 yes, 2 no */
	const char *output_name;
	bool score;
	const char *score_targets; /* file; NULL: the target's column of DATA */
	const char *target;
	int header;   /* auto yes no */
	int on_error; /* fail skip mark */
	uint64_t batch;
	int flush; /* auto line full */
};

extern const struct nn_opt nn_predict_opts[];

struct nn_predict {
	struct nn_predict_options options;
	const char *model, *data;       /* data NULL: stdin */
	const char *output;             /* NULL: stdout */
	const char *log;                /* --log; NULL: none */
	const struct nn_opt_list *list; /* of the command line, for the log */
	int precision;                  /* 0: as the model; 1 + dtype */
	int threads;        /* 0: as many as there are, asked for when a whole batch comes */
	bool any_order;     /* --reproducible=no */
	const char *device; /* --device; NULL: cpu */
	/* rows at once that auto asks for: --batch where it was given, else 1 */
	size_t device_batch;
	/* Warnings and notes, a line each; counted rows among them. */
	void (*warn)(void *arg, const char *text);
	void (*note)(void *arg, const char *text);
	void *arg;
};

int nn_predict_run(const struct nn_predict *predict, struct nn_error *err);

#endif
