/* One training step: a global batch through the graph in spans, gradients along the tree of leaves, one update. */
#ifndef NN_TRAIN_STEP_H
#define NN_TRAIN_STEP_H

#include "data/data.h"
#include "graph/graph.h"
#include "predict/metrics.h"
#include "train/optimizer.h"

struct nn_step;

struct nn_step_options {
	const struct nn_device *device;
	struct nn_pool *pool;                    /* borrowed; NULL: the caller's thread */
	const struct nn_program *program;        /* borrowed */
	const struct nn_dataset *dataset;        /* borrowed */
	uint64_t rows;                           /* that are trained on in an epoch */
	size_t batch;                            /* rows of a full batch */
	size_t leaves;                           /* of a full batch; in a smaller one what its rows allow, at most this */
	size_t micro;                            /* rows at once */
	const struct nn_loss_spec *losses;       /* [n_outputs] */
	const double *weights;                   /* [n_outputs] */
	struct nn_optimizer_options optimizer;
	uint64_t seed;
	bool count;                              /* count what the first output says of the rows as they pass */
	const struct nn_target_schema *target;   /* of the first output, for that */
};

/* What a step found. Sums are over the batch. */
struct nn_step_result {
	double loss;                 /* mean, before the update: sum over outputs of weight * loss */
	double weight;               /* of the first output's unmasked targets: what the mean is over */
	double norm;                 /* global norm of the gradient, where it was asked for */
	uint64_t hits, counted;      /* first output: right classes, of how many */
	double squares;              /* first output: squared errors of numbers in units of the data, over all elements */
	double input_s, compute_s;
	int bad_line;                /* the canonical line whose output went wrong first, -1: none */
};

int nn_step_new(struct nn_step **step, const struct nn_step_options *options, struct nn_error *err);
void nn_step_free(struct nn_step *step);

/* Bytes that nn_step_new takes, graph, gradients, optimizer and all, without taking them. */
struct nn_step_memory {
	struct nn_graph_memory graph;
	size_t optimizer, partial;               /* slots and scratch; gradients waiting in the tree */
	size_t total;
};
int nn_step_plan(const struct nn_step_options *options, struct nn_step_memory *memory, struct nn_error *err);
/* Of `micro` rows at once as many as suit the caches, where nothing asks for another number; bytes: activations and input of a row. */
size_t nn_step_suiting(size_t micro, size_t batch, size_t leaves, int threads, size_t row_bytes);
/* Rows that cannot be split further: 1, or a group of batch norm. */
size_t nn_step_least_rows(const struct nn_step_options *options);

/*
 * Forward and backward of rows[n], n <= batch, the first of them the sample-th drawn in training. false: the loss is not finite,
 * and nothing may be updated; result->bad_line says where. Allocates nothing.
 */
bool nn_step_gradient(struct nn_step *step, const uint64_t *rows, size_t n, uint64_t sample,
		      struct nn_step_result *result);
/* Update number `number` (from 1) with what nn_step_gradient left. want_norm: fill result->norm. */
void nn_step_update(struct nn_step *step, uint64_t number, double lr, bool want_norm, struct nn_step_result *result);

struct nn_graph *nn_step_graph(struct nn_step *step);
struct nn_optimizer *nn_step_optimizer(struct nn_step *step);

#endif
