/*
 * One training step: a global batch through the graph in spans, gradients along the tree of leaves,
 * one update.
 */
#ifndef NN_STEP_STEP_H
#define NN_STEP_STEP_H

#include "data/augment/augment.h"
#include "data/data.h"
#include "data/loader.h"
#include "graph/graph.h"
#include "predict/score/metrics.h"
#include "step/noise.h"
#include "step/optimizer.h"
#include "step/stages.h"

struct nn_step;

/* The stage of a network that a step computes; stages 0: all of it. */
struct nn_step_part {
	int first, last; /* nodes (nn_graph_nodes) */
	int stage, stages;
	enum nn_pipeline_schedule schedule; /* how many spans are in flight follows from it */
};

/*
 * Memory of a step that other ranks see too, zeroed, of nn_step_sizes' sizes; NULL members: the
 * step takes its own.
 */
struct nn_step_place {
	void *weights, *gradients;
	char *kept; /* nn_step_kept blocks */
	struct nn_optimizer_place optimizer;
	double *weight_table, *figures;
	char *statistics;
	bool follows; /* another rank advances the buffers */
};

struct nn_step_options {
	const struct nn_device *device;
	struct nn_pool *pool;             /* borrowed; NULL: the caller's thread */
	const struct nn_program *program; /* borrowed */
	const struct nn_dataset *dataset; /* borrowed; what its targets are */
	const struct nn_augment *augment; /* of its batches, borrowed; NULL */
	uint64_t rows;                    /* training rows of an epoch */
	size_t batch;                     /* rows of a full batch */
	size_t leaves; /* of a full batch; in a smaller one what its rows allow, at most this */
	size_t micro;  /* rows at once */
	const struct nn_loss_spec *losses; /* [n_outputs] */
	const double *weights;             /* [n_outputs] */
	struct nn_optimizer_options optimizer;
	uint64_t seed;
	struct nn_step_part part;
	/* the rank whose run of each batch's leaves is computed here; ranks 0: all leaves */
	int rank, ranks;
	bool noise;   /* nn_step_noise will be asked for */
	/* the data set stays in the device's memory, if nn_step_resident_bytes says that it can */
	bool resident;
	bool goes_on; /* rows continue those of the batch before (nn_graph_forget) */
	/* batch norm's buffers wait for nn_step_finish also where all leaves are computed here */
	bool statistics;
	const struct nn_column_shard *columns; /* ranks that share products; NULL: none do */
	/* the shard of the optimizer's state kept here; shards 0: all of it */
	int shard, shards;
	const struct nn_step_place *place; /* NULL: all is the step's own */
	/* of a row, for which activations are computed again, offloaded; 0: none are */
	size_t recompute, offload;
	const char *offload_folder;
	bool count; /* count right answers or errors of the first output as rows pass */
	const struct nn_target_schema *target; /* of the first output, for that */
};

/* Figures of a step. Sums are over the batch. */
struct nn_step_result {
	double loss;   /* mean, before the update: sum over outputs of weight * loss */
	double weight; /* of the first output's unmasked targets: what the mean is over */
	double norm;   /* global norm of the gradient, where it was asked for, or losses are scaled */
	/* first output: right classes, of how many, each by its weight */
	double hits, counted;
	/* first output: squared errors of numbers in units of the data, over all elements */
	double squares;
	struct nn_noise_sums noise; /* where it was asked for: squared norms of sums of gradients */
	double input_s, compute_s;
	double comm_s,
		wait_s;     /* of several ranks: exposed communication, waiting for slower ones */
	bool finite;        /* the loss is; else nothing may be updated */
	int nonfinite_line; /* the canonical line whose output went wrong first, -1: none */
};

int nn_step_new(struct nn_step **step, const struct nn_step_options *options, struct nn_error *err);
void nn_step_free(struct nn_step *step);

/* Bytes that nn_step_new would take for graph, gradients, optimizer and all else. */
struct nn_step_memory {
	struct nn_graph_memory graph;
	size_t optimizer, partial; /* slots and scratch; gradients waiting in the tree */
	size_t total;
	/* of the graph's gradients: touched only by steps that are asked for norm or noise */
	size_t untouched;
	size_t rows, slots; /* rows at once, and how often the graph has memory for them */
};
int nn_step_plan(const struct nn_step_options *options, struct nn_step_memory *memory,
		 struct nn_error *err);
/* How outputs of canonical lines are held between forward and backward: lines[n]. */
int nn_step_relieved(const struct nn_step_options *options, struct nn_relief *lines, int n,
		     struct nn_error *err);
/*
 * Bytes of the inputs of all rows for a device with memory of its own, where steps gather theirs;
 * 0: rows are sent, because they are made on demand, augmented, of different length, or much
 * larger there than on the host.
 */
size_t nn_step_resident_bytes(const struct nn_step_options *options);
/*
 * Rows that stay in the device's memory: inputs of all of a data set, each row's behind the one
 * before, as the graph of the step has them.
 */
struct nn_resident {
	struct nn_source source; /* whose rows they are */
	char *there;
	struct nn_resident_input {
		size_t at; /* where those of row 0 begin */
		bool channels_last;
	} *inputs;
};
/* NULL: rows are sent. */
const struct nn_resident *nn_step_resident(const struct nn_step *step);
/* Bytes of what may lie in memory shared with other ranks. */
struct nn_step_sizes {
	/* parameters with buffers; a block of the flat kind: gradients, a slot, lamb's direction */
	size_t weights, block;
	size_t elements, slots; /* of a block; how many slots */
	size_t weight_table, figures, statistics;
};
int nn_step_sizes(const struct nn_step_options *options, struct nn_step_sizes *sizes,
		  struct nn_error *err);
/* Sums over subtrees of a rank's run that are kept beside the last one, at most. */
size_t nn_step_kept(const struct nn_step_options *options, int rank);
/* Most sums that other ranks have: for each its kept ones and its last one. */
size_t nn_step_others(const struct nn_step_options *options, int rank);
/*
 * The default micro-batch: the rows, at most `micro`, that suit the caches; row_bytes: activations
 * and input of a row.
 */
size_t nn_step_default_micro_batch(size_t micro, size_t batch, size_t leaves, int threads,
				   size_t row_bytes);
/* Rows that cannot be split further: 1, or a group of batch norm. */
size_t nn_step_least_rows(const struct nn_step_options *options);

/*
 * Forward and backward of a batch, which stays borrowed. result->finite false: the loss is not, and
 * nothing may be updated; result->nonfinite_line says where. -1: the source failed. Allocates
 * nothing. For a step of all leaves: ranks go part by part.
 */
int nn_step_gradient(struct nn_step *step, const struct nn_batch *batch,
		     struct nn_step_result *result, struct nn_error *err);
/* Number of an update, from 1, its rate, and whether result->norm is wanted. */
struct nn_step_terms {
	uint64_t number;
	double lr;
	bool norm;
};
/*
 * Gradient and update at once; nothing is updated where result->finite is false. A device with
 * memory of its own is asked for all of it, and waited for once: a step is recorded when the first
 * of its kind is made, and replayed from then on.
 *
 * next: terms of the step of batch->next. It may be asked for before this one is waited for, and
 * updates nothing where this one did not; if so nn_step_is_ahead, and the next call has to be for
 * that step, before anything else is asked of this one or of its graph. NULL: not yet.
 */
int nn_step_whole(struct nn_step *step, const struct nn_batch *batch,
		  const struct nn_step_terms *terms, const struct nn_step_terms *next,
		  struct nn_step_result *result, struct nn_error *err);
/* Was a step asked for that nobody has looked at? */
bool nn_step_is_ahead(const struct nn_step *step);
/*
 * Update number `number` (from 1) with what nn_step_gradient left. want_norm: fill result->norm.
 * Fails only with other ranks, or where the device did.
 */
int nn_step_update(struct nn_step *step, uint64_t number, double lr, bool want_norm,
		   struct nn_step_result *result, struct nn_error *err);

/*
 * The parts of nn_step_gradient, for ranks that compute a run of leaves each. What is summed over
 * the batch stands in tables by leaf, of which begin and run fill those of the run; the others are
 * to come from other ranks before what follows.
 */
struct nn_step_tables {
	const struct nn_cut *cut; /* of this batch, valid until the step is freed */
	bool weighs; /* the weights of other leaves are needed: they depend on targets */
	double *weights, *figures; /* [leaves][n_weights], [leaves][n_figures] */
	size_t n_weights, n_figures;
	/*
	 * [groups] of `statistics_bytes` each; NULL: no batch norm, or all leaves are computed here
	 */
	char *statistics;
	size_t statistics_bytes;
};
/* Targets and their weights. The batch stays borrowed until its gradient is there. */
int nn_step_begin(struct nn_step *step, const struct nn_batch *batch, struct nn_step_tables *tables,
		  struct nn_error *err);
/*
 * Needs all weights. Forward and backward of the run. Figures and statistics are filled, unless
 * result->finite is false: the loss is not.
 */
int nn_step_run(struct nn_step *step, struct nn_step_result *result, struct nn_error *err);
/*
 * nn_step_run in pieces, for stages: scale; then each span forward and backward, in order, in the
 * slot of the graph that was chosen; then measure. forward waits: result->finite is
 * false where the loss is not (in the last stage); result->nonfinite_line is left as it is.
 */
void nn_step_scale(struct nn_step *step, struct nn_step_result *result);
size_t nn_step_spans(const struct nn_step *step);
size_t nn_step_span_rows(const struct nn_step *step, size_t span);
int nn_step_forward(struct nn_step *step, size_t span, struct nn_step_result *result,
		    struct nn_error *err);
int nn_step_backward(struct nn_step *step, size_t span, struct nn_step_result *result,
		     struct nn_error *err);
int nn_step_measure(struct nn_step *step, struct nn_step_result *result, struct nn_error *err);
/* Most spans of any batch, and rows of a span; slots of the graph. */
size_t nn_step_most_spans(const struct nn_step *step);
size_t nn_step_most_rows(const struct nn_step *step);
size_t nn_step_slots(const struct nn_step *step);
/*
 * Needs all figures and statistics: buffers of batch norm, and the result. false: the loss is not
 * finite.
 */
bool nn_step_finish(struct nn_step *step, struct nn_step_result *result);
/*
 * Callback for sums that become final during backward: final(arg, k, from) says that elements from
 * `from` on of the k-th sum (nn_step_sum) will not change any more. Sums in order, each from its
 * end to its beginning, where from is 0; the last of the run parameter by parameter, but for a
 * measured batch. Stays until it is changed; NULL: none.
 */
void nn_step_on_final_gradient(struct nn_step *step,
			       void (*final)(void *arg, size_t sum, size_t from), void *arg);
/*
 * From now on the run counts as a batch of its own: means are over its rows only, no other leaves
 * are needed, and buffers follow its groups. nn_step_join leaves its whole sum in
 * nn_graph_gradients, after nn_step_run.
 */
void nn_step_set_local(struct nn_step *step, bool alone);
void nn_step_join(struct nn_step *step);
/*
 * The sum over the k-th largest subtree of the run (nn_cut_nodes), a block as nn_graph_gradients;
 * valid after nn_step_run. Tables are summed inside these subtrees by then (nn_graph_table_sums),
 * and over the whole run after nn_step_join.
 */
void *nn_step_sum(struct nn_step *step, size_t k);

/*
 * The next batch is measured for the noise scale: norms of both halves of it and of the whole, of
 * several ranks of what each adds. No byte of the training changes. Of stages, and where the
 * optimizer keeps a range, nothing is measured.
 */
void nn_step_noise(struct nn_step *step);
/*
 * The parts measured in this batch, valid after nn_step_run; join those of other ranks before the
 * update.
 */
struct nn_noise_sums *nn_step_parts(struct nn_step *step);
/*
 * Part of nn_step_update: the batch's noise into result, from the block of its whole gradient,
 * which is read where part_rows is not 0.
 */
void nn_step_noise_of(struct nn_step *step, const void *gradients, struct nn_step_result *result);

struct nn_graph *nn_step_graph(struct nn_step *step);
struct nn_optimizer *nn_step_optimizer(struct nn_step *step);

#endif
