/*
 * Prediction as nn-predict does it: rows from a reader through a graph to a writer, or to metrics.
 */
#ifndef NN_PREDICT_PREDICT_H
#define NN_PREDICT_PREDICT_H

#include "base/option.h"
#include "data/data.h"
#include "model/model.h"
#include "predict/write/write.h"

/* after each row where the input waits, after each line, when the buffer is full */
enum nn_flush { NN_FLUSH_AUTO, NN_FLUSH_LINE, NN_FLUSH_FULL };

/* what is made of the answers of several models */
enum nn_ensemble_of { NN_ENSEMBLE_NONE, NN_ENSEMBLE_MEAN };

struct nn_predict_options {
	const char *model_text; /* -m TEXT: the file gives weights only */
	enum nn_weights_layout layout;
	bool info;        /* say what the file holds, in place of predictions */
	const char *emit; /* probs, class, top:K, logits, values; NULL: by the model */
	enum nn_to to;    /* AUTO: by the input */
	enum nn_header to_header;
	const char *output_name;
	bool score;
	const char *score_targets; /* file; NULL: the target's column of DATA */
	const char *against;       /* of --score: a second model; NULL */
	const char *target;
	const char *keep; /* COLUMN,... */
	bool thresholded;
	double threshold; /* of two classes */
	enum nn_ensemble_of ensemble;
	enum nn_header header;
	const char *separator;
	bool zero_based;
	enum nn_on_error on_error;
	uint64_t batch;
	enum nn_flush flush;
	uint64_t generate; /* characters that go on a text; 0: rows are predicted */
	double temperature;
};

extern const struct nn_opt nn_predict_opts[];
/* What can be told from the options alone: NN_EUSAGE. */
int nn_predict_check(const struct nn_predict_options *options, struct nn_error *err);
/* With --info, which reads no rows, an option of nn-predict's own that was given: NN_EUSAGE. */
int nn_predict_check_info(const struct nn_opt_list *list, struct nn_error *err);

struct nn_predict {
	struct nn_predict_options options;
	const char *model, *data;  /* data NULL: stdin */
	const char *const *others; /* [n_others] models beside it, of --ensemble or --against */
	size_t n_others;
	const char *output;             /* NULL: stdout */
	const char *log;                /* --log; NULL: none */
	const struct nn_opt_list *list; /* of the command line, for the log */
	int precision;                  /* 0: as the model; 1 + dtype */
	uint64_t seed;                  /* of --generate */
	int threads; /* 0: as many as there are, asked for when a whole batch comes */
	enum nn_products products;
	const char *device; /* --device; NULL: cpu */
	/* rows at once that auto asks for: --batch where it was given, else 1 */
	size_t device_batch;
	/* Warnings and notes, a line each; counted rows among them. */
	void (*warn)(void *arg, const char *text);
	void (*note)(void *arg, const char *text);
	void *arg;
};

/* --info: what the model or the weights at path hold, as text to the file `to` (NULL: stdout). */
int nn_predict_info(const char *path, const char *to, struct nn_error *err);
int nn_predict_run(const struct nn_predict *predict, struct nn_error *err);
/* --generate: what goes on the text in DATA, character by character. */
int nn_predict_generate(const struct nn_predict *predict, struct nn_error *err);
/* Is it a file, no pipe, of a model that need not be told what its tensors mean? */
bool nn_predict_is_model(const char *path);

#endif
