/* Inside nn-predict's loop: what a run holds, its opening and its closing. */
#ifndef NN_PREDICT_RUN_H
#define NN_PREDICT_RUN_H

#include "data/data.h"
#include "predict/predict.h"

/* Rows as one call of the reader gave them. */
struct nn_run_block {
	void **inputs, **targets; /* [max] rows each */
	size_t max;
	const char **bad;
	size_t n;
	bool array_end;
	int status; /* -1: why nothing comes after earlier blocks */
	struct nn_error err;
};

struct nn_run {
	const struct nn_predict *p;
	struct nn_model *model;
	struct nn_rows *rows;
	struct nn_pool *pool;
	struct nn_graph *graph;
	size_t bound; /* rows the graph is bound for */
	size_t batch;
	struct nn_door *doors; /* inputs */
	struct nn_run_block
		blocks[3]; /* the first, of a batch, and two of more where rows are read ahead */
	int threads;       /* that compute; 0: not asked yet */
	struct nn_pool *ahead; /* the caller, and a thread that reads the next block; NULL: one
				  after the other */
	struct nn_emitted *emitted;
	size_t n_emitted;
	struct nn_metrics **metrics; /* --score: one for each output */
	struct nn_output *output;
	struct nn_writer *writer;
};

static inline size_t nn_run_inputs(const struct nn_run *r)
{
	return (size_t)r->model->program->n_inputs;
}

static inline size_t nn_run_outputs(const struct nn_run *r)
{
	return (size_t)r->model->program->n_outputs;
}

/* Model, rows, output and what stands between them; on failure too, close it. */
int nn_run_open(struct nn_run *run, struct nn_error *err);
void nn_run_close(struct nn_run *run);
/* Once the first block is there, before it is computed: read tables that lie in files ahead, where
 * there is a thread for it. */
int nn_run_read_ahead(struct nn_run *run, struct nn_error *err);
/* (Re)bind for n rows; the weights are shared, so this costs little. */
int nn_run_bind(struct nn_run *run, size_t n, struct nn_error *err);

#endif
