/* Inside nn-predict's loop: what a run holds, its opening and its closing. */
#ifndef NN_PREDICT_RUN_H
#define NN_PREDICT_RUN_H

#include "base/log.h"
#include "base/text.h"
#include "data/data.h"
#include "predict/ensemble.h"
#include "predict/predict.h"
#include "predict/write/write.h"

/* Rows as one call of the reader gave them. */
struct nn_run_block {
	void **inputs, **targets; /* [max] rows each; inputs of all members, one after another */
	struct nn_rows_beside beside;
	struct nn_text kept; /* --keep, of all its rows */
	size_t max;
	const char **bad;
	char **why; /* [max] of several models: owned texts of `bad`; NULL: none is wanted */
	size_t n;
	bool array_end;
	int status; /* -1: why nothing comes after earlier blocks */
	struct nn_error err;
};

/* A model at work: the only one, one of an ensemble, or that of --against. */
struct nn_run_member {
	const char *path;
	struct nn_model *model;
	struct nn_rows *rows;
	struct nn_session *session; /* for as many rows as were there at once so far */
	size_t first_input;         /* of a block */
};

struct nn_run {
	const struct nn_predict *p;
	struct nn_run_member *members;
	size_t n_members;
	struct nn_model *model; /* of the first, which reads targets, weights and columns to keep */
	struct nn_rows *rows;
	struct nn_ensemble *ensemble; /* NULL: one model */
	uint64_t n_bad;               /* of several models: rows that one could not read */
	struct nn_error failed;       /* and what ends it after the rows before; code 0: nothing */
	struct nn_pool *pool;
	size_t batch;
	/* the first, of a batch, and two of more where rows are read ahead */
	struct nn_run_block blocks[3];
	int threads; /* that compute; 0: not asked yet */
	/* the caller, and a thread that reads the next block; NULL: one after the other */
	struct nn_pool *ahead;
	size_t asked, n_asked; /* outputs: the first, and how many; all, or that of --output-name */
	struct nn_emitted *emitted;  /* [n_asked] */
	struct nn_metrics **metrics; /* --score: one for each output */
	struct nn_metrics **against; /* of the second model of --against; NULL */
	struct nn_output *output;
	struct nn_writer *writer;
	struct nn_log *log;
	double begin_s;  /* nn_now_s when it was opened */
	uint64_t n_rows; /* answered so far */
};

/* Rows of a block that are run together. */
struct nn_run_batch {
	const struct nn_run_block *block;
	size_t first, n;
};

static inline size_t nn_run_inputs(const struct nn_run *r)
{
	const struct nn_run_member *last = &r->members[r->n_members - 1];

	return last->first_input + (size_t)last->model->program->n_inputs;
}

static inline size_t nn_run_outputs(const struct nn_run *r)
{
	return (size_t)r->model->program->n_outputs;
}

/*
 * --threshold, or else the model's, as a number of the model's type, so that a probability that
 * prints as it reaches it; 0: the likelier class. That of one model is none of a mean.
 */
static inline double nn_run_threshold(const struct nn_run *r, const struct nn_model *model)
{
	double threshold = r->p->options.thresholded ? r->p->options.threshold
			   : r->ensemble             ? 0
						     : model->threshold;

	return model->device->dtype == NN_F64 ? threshold : (double)(float)threshold;
}

/* Model, rows, output and what stands between them; on failure too, close it. */
int nn_run_open(struct nn_run *run, struct nn_error *err);
void nn_run_close(struct nn_run *run);

/* ---- run-blocks.c ---- */

/* Bytes of a row of an input of a block. */
size_t nn_run_input_bytes(const struct nn_run *run, size_t input);
int nn_run_alloc_block(const struct nn_run *run, struct nn_run_block *block, size_t max,
		       struct nn_error *err);
void nn_run_free_block(const struct nn_run *run, struct nn_run_block *block);
void nn_run_read_block(struct nn_run *run, struct nn_run_block *block);
/*
 * Once the first block is there, before it is computed: read tables that lie in files ahead, where
 * there is a thread for it.
 */
int nn_run_read_ahead(struct nn_run *run, struct nn_error *err);
/*
 * Threads that compute. What the machine has is asked where there are rows for more than one of
 * them: a small prediction is over before.
 */
int nn_run_threads(struct nn_run *run);

/* ---- run-members.c: models and their rows ---- */

int nn_run_load_members(struct nn_run *run, struct nn_error *err);
int nn_run_open_rows(struct nn_run *run, struct nn_error *err);
int nn_run_open_ensemble(struct nn_run *run, struct nn_error *err);
void nn_run_close_members(struct nn_run *run);
uint64_t nn_run_bad(const struct nn_run *run); /* rows left out or marked so far */

/* ---- run-ensemble.c: a block of rows for each member of an ensemble ---- */

int nn_run_alloc_why(struct nn_run_block *block, struct nn_error *err);
void nn_run_free_why(struct nn_run_block *block);
void nn_run_read_members(struct nn_run *run, struct nn_run_block *block);

/* ---- run-write.c: answers ---- */

/* Is an answer as long as its row? Then lengths have to go with an array of them. */
bool nn_run_has_lengths(const struct nn_run *run);
/* --output-name into asked and n_asked. */
int nn_run_find_outputs(struct nn_run *run, struct nn_error *err);
int nn_run_open_writer(struct nn_run *run, struct nn_error *err);
int nn_run_write(struct nn_run *run, const struct nn_run_batch *batch, struct nn_error *err);

/* ---- run-score.c: metrics in place of answers ---- */

int nn_run_open_score(struct nn_run *run, struct nn_error *err);
int nn_run_score(struct nn_run *run, const struct nn_run_batch *batch, struct nn_error *err);
int nn_run_print_score(struct nn_run *run, struct nn_error *err);

/* ---- run-against.c: figures of a second model beside them ---- */

/* NN_EFORMAT: the targets, weights or classes that are ignored are not those of the first. */
int nn_run_check_against(const struct nn_run *run, struct nn_error *err);
/* As nn_metrics_each, with NAME.difference behind NAME where there is a second model. */
void nn_run_each_figure(const struct nn_run *run, size_t output,
			int (*line)(void *arg, const char *name, double value, bool count),
			void *arg);

/* ---- run-log.c: --log, events of outputs.md ---- */

int nn_run_open_log(struct nn_run *run, struct nn_error *err);
int nn_run_log_start(struct nn_run *run, struct nn_error *err);
/* To standard error and into the log. */
void nn_run_warn(struct nn_run *run, const char *text);
/* The end: status as nn_predict_run returns it, err says why it failed. -1: the log has a gap. */
int nn_run_log_end(struct nn_run *run, int status, struct nn_error *err);

#endif
