/* Inside the step: how its batches are cut, and what it keeps. */
#ifndef NN_STEP_STEP_INSIDE_H
#define NN_STEP_STEP_INSIDE_H

#include "step/cut.h"
#include "step/output.h"
#include "step/step.h"

#define NN_STEP_LEVELS 32

struct nn_step_input {
	size_t size;
	bool channels_last;
};

/*
 * The ways batches of this training are cut: full ones, and the smaller one that ends an epoch;
 * NULL where there is none.
 */
struct nn_step_cuts {
	struct nn_cut *full, *rest;
	/*
	 * a full batch, or the only one, in two spans for measured steps; NULL: it has more anyway
	 */
	struct nn_cut *halves;
	size_t max_rows, max_leaves;    /* of a span */
	size_t most_leaves, most_spans; /* of a batch */
	size_t most_groups;             /* of batch norm, of a batch */
	unsigned waits;                 /* bit l: a sum waits at level l */
	size_t kept; /* sums of whole subtrees of the run that are kept beside the last one */
};

/* A batch on its way to the device: its rows, and their inputs and targets. */
struct nn_step_cargo {
	struct nn_mirror block;
	uint64_t *rows, epoch; /* [n]; of them */
	size_t n;       /* 0: none */
	bool used;      /* by the queue of the graph, in turn `turn` */
	uint64_t turn;
};

/*
 * Of a device with memory of its own: two batches, of which the next is copied while the other is
 * computed.
 */
struct nn_step_transfer {
	struct nn_queue *queue; /* of copies; NULL: memory is the host's */
	struct nn_step_cargo cargo[2];
	int now; /* which of them is the batch under way */
	/* Bytes from the beginning of a block, of row 0 of the batch; numbers: of resident rows. */
	size_t *inputs, *targets, lengths, numbers;
};

struct nn_step {
	struct nn_step_options options;
	struct nn_step_place place;
	struct nn_step_cuts cuts;
	struct nn_graph *graph;
	struct nn_queue *queue; /* the graph's */
	struct nn_optimizer *optimizer;
	struct nn_train_output *outputs;
	int n_outputs;
	struct nn_step_input *inputs;
	size_t block_bytes;
	/* of gradients, along the tree of leaves */
	struct nn_step_sums {
		char *waiting[NN_STEP_LEVELS]; /* [level]: a left half, until the right is there */
		/* a place in waiting that is the optimizer's scratch, for cuts.halves; else NULL */
		char **half;
		char *kept[NN_CUT_NODES]; /* [k]: over the k-th subtree of the run, but the last */
		size_t n;                 /* of subtrees that are complete in the batch under way */
	} sums;
	double *weights; /* table by leaf: [outputs] */
	/* table by leaf: double [outputs + NN_COUNTS], losses and counts */
	struct nn_mirror figures;
	struct nn_mirror found; /* double [outputs]: losses of a span */
	/* real [batch]: what its rows weigh; NULL: 1 each. As they come from the source: double */
	struct nn_mirror row_weights;
	double *source_weights;
	double *squares; /* on their way along the tree */
	/* of batch norm, by group: of ranks, or where they were asked for; NULL: neither */
	struct nn_mirror statistics;
	size_t statistics_bytes;
	bool alone;

	/* callback for sums that are final */
	struct nn_step_final {
		void (*final)(void *arg, size_t sum, size_t from); /* NULL: none */
		void *arg;
		/* [n_params] of the trained ones, of the block; the others SIZE_MAX */
		size_t *offsets;
		bool *finished;     /* [n_params] of the last span */
		int next;           /* those behind it are finished, or not trained */
		size_t from;        /* first element reported as final */
		unsigned low, high; /* levels whose sums wait for the last span */
	} final_sums;

	struct nn_step_transfer transfer;
	struct nn_resident resident; /* there NULL: inputs of a batch are sent */
	/* whole steps: of full batches and the rest, of either cargo, without and with norm */
	struct nn_recording *recordings[2][2][2];
	/* whole steps that were asked for, by cargo: what is needed to read what came of them */
	struct nn_step_asked {
		const struct nn_cut *cut;
		double *weights; /* [outputs] of the batch */
	} asked[2];
	struct nn_step_terms ahead; /* of the one that nobody has looked at yet; number 0: none */

	/* the batch under way */
	const struct nn_cut *cut;
	struct nn_batch batch;
	bool measures;
	struct nn_noise_sums noise;
};

/* A row of the table of figures; where that of a leaf lies in device memory. */
static inline size_t nn_step_n_figures(const struct nn_step *step)
{
	return (size_t)step->n_outputs + NN_COUNTS;
}
static inline double *nn_step_figures(const struct nn_step *step, size_t leaf)
{
	return (double *)step->figures.there + leaf * nn_step_n_figures(step);
}

/* ---- step-batch.c ---- */

struct nn_span nn_step_span(struct nn_step *step, const struct nn_cut_span *span);
/* found: the losses of the span are wanted; are they finite? That waits. */
int nn_step_ask_forward(struct nn_step *step, const struct nn_cut_span *span, bool found,
			struct nn_step_result *result, struct nn_error *err);
bool nn_step_is_found_finite(struct nn_step *step);

/* ---- step-plan.c ---- */

int nn_step_cuts_init(struct nn_step_cuts *cuts, const struct nn_step_options *options,
		      struct nn_error *err);
void nn_step_cuts_free(struct nn_step_cuts *cuts);
/*
 * Are weights of a batch in n_spans updated behind their gradients, which nobody else needs? Where
 * neither norm nor noise is asked for.
 */
bool nn_step_updates_behind(const struct nn_step_options *options, size_t n_spans);
struct nn_graph_options nn_step_graph_options(const struct nn_step_options *options,
					      const struct nn_step_cuts *cuts);

/* ---- step-resident.c ---- */

int nn_step_resident_init(struct nn_step *step, struct nn_error *err);
void nn_step_resident_fini(struct nn_step *step);

/* ---- step-transfer.c ---- */

int nn_step_transfer_init(struct nn_step *step, struct nn_error *err);
void nn_step_transfer_fini(struct nn_step *step);
/* Rows of the batch that begins are in device memory for what is asked from now on. */
int nn_step_transfer_begin(struct nn_step *step, const struct nn_batch *batch,
			   struct nn_error *err);
/* The targets of a cargo, and its inputs for what is asked, are the step's from now on. */
void nn_step_transfer_use(struct nn_step *step, int cargo);
/* The batch that most likely follows one, as far as that one knows it. */
struct nn_batch nn_step_next_batch(const struct nn_batch *batch);
/*
 * That of the batch under way is sent on its way. false: it is not known, or that failed, which its
 * turn will tell.
 */
bool nn_step_transfer_next(struct nn_step *step);
/* Are these the rows that the cargo in use has? */
bool nn_step_transfer_is(const struct nn_step *step, const struct nn_batch *batch);
/* Inputs of a span, from there; lengths of its rows, there, or NULL. */
void nn_step_transfer_put(struct nn_step *step, const struct nn_cut_span *span);
const uint32_t *nn_step_transfer_lengths(const struct nn_step *step,
					 const struct nn_cut_span *span);

/* ---- step-tell.c ---- */

int nn_step_final_init(struct nn_step *step, struct nn_error *err);
void nn_step_final_fini(struct nn_step *step);
/* Backward of the last span; what waits for it is added as parameters are finished. */
void nn_step_backward_telling(struct nn_step *step, const struct nn_cut_span *at,
			      const struct nn_span *span);
/* The k-th sum is complete. */
void nn_step_report_whole(const struct nn_step *step, size_t sum);

#endif
