/*
 * What training does at one output of the network: targets, loss, its gradient, and what the
 * outputs say of the rows.
 */
#ifndef NN_STEP_OUTPUT_H
#define NN_STEP_OUTPUT_H

#include "data/loader.h"
#include "graph/graph.h"
#include "predict/score/metrics.h"
#include "step/cut.h"

struct nn_train_output {
	const struct nn_device *device;
	struct nn_queue *queue; /* of the graph */
	size_t number;          /* of the output and its target */
	struct nn_loss_spec loss;
	double share; /* what its loss counts in the sum */
	size_t positions, columns, target_size;
	bool classes; /* targets are class numbers, else numbers or probabilities */
	bool masks;   /* some of which are left out of the loss (nn_augment_masks) */
	struct nn_mirror class_weights; /* real [columns], or NULL */
	struct nn_mirror row_weights;   /* the step's: real [batch], or NULL */
	/*
	 * int32 or real [batch][target_size], of the batch under way; of a device with memory of
	 * its own the step's (step-transfer.c)
	 */
	struct nn_mirror targets;
	const struct nn_target_schema *schema; /* for counts; NULL: units are the data's */
	struct nn_mirror sd;                   /* double [columns] of it, or NULL */
	void *row_loss;                        /* real [batch], device memory */
	double *sums;  /* [leaves] of the real type: on their way along the tree */
	double weight; /* of the batch: sum of unmasked weights */
};

/* positions and columns as the graph lays its output out; batch rows in at most `leaves` leaves. */
int nn_train_output_init(struct nn_train_output *output, size_t batch, size_t leaves,
			 struct nn_error *err);
void nn_train_output_free(struct nn_train_output *output);
/* Bytes that init takes, for a plan. */
struct nn_train_output_size {
	enum nn_dtype dtype;
	size_t target_size;
	bool classes;
};
size_t nn_train_output_bytes(const struct nn_train_output_size *size, size_t batch, size_t leaves);

/*
 * What is summed over a batch is summed by leaf first, in tables of `step` doubles a leaf that
 * ranks complete among themselves: they fill the leaves of their run (cut->run), and what follows
 * from all of them is the same on each.
 *
 * Targets of rows [from, to) of a batch, masked ones -1, where that of row 0 would be at `targets`.
 */
int nn_train_output_fill(const struct nn_train_output *output, const struct nn_batch *batch,
			 size_t from, size_t to, void *targets, struct nn_error *err);
/* Bytes of a row's. */
size_t nn_train_output_target_bytes(const struct nn_train_output *output);
/* The weight of each leaf of the run, or of all where targets do not matter. */
void nn_train_output_weights(const struct nn_train_output *output, const struct nn_cut *cut,
			     double *weights, size_t step);
/* Do the weights depend on the targets? */
bool nn_train_output_weighs(const struct nn_train_output *output);
/*
 * From the weights of all leaves those of the batch: weight and now->scale, to be sent. Leaves of
 * weight 0 do not count.
 */
void nn_train_output_scale(struct nn_train_output *output, struct nn_graph *graph,
			   const struct nn_cut *cut, const double *weights, size_t step);
/*
 * Loss of rows `row` and on, `n` of them, from what the graph put out; the gradient goes where
 * backward wants it. sum: of the losses, in device memory; NULL: not wanted.
 */
void nn_train_output_loss(struct nn_train_output *output, struct nn_graph *graph, size_t row,
			  size_t n, struct nn_pool *pool, double *sum);
/*
 * The loss of each leaf of the run, into a table in device memory, and now->hold unless their sum
 * is finite (now NULL: nobody asks); the mean loss of the batch from that of all leaves, along the
 * tree.
 */
void nn_train_output_losses(const struct nn_train_output *output, const struct nn_cut *cut,
			    double *losses, size_t step, struct nn_now *now);
double nn_train_output_mean(struct nn_train_output *output, const struct nn_cut *cut,
			    const double *losses, size_t step);
/*
 * Add right answers, their number, and squared errors in units of the data (enum in device.h), of
 * the leaves of those that just went through, the first of which is row `row` of the batch. counts:
 * device memory, a leaf's `step` doubles after those of the one before.
 */
void nn_train_output_count(const struct nn_train_output *output, struct nn_graph *graph, size_t row,
			   const struct nn_span *span, double *counts, size_t step);

#endif
