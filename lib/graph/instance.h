/* A graph: a bound program with its memory and calls. */
#ifndef NN_GRAPH_INSTANCE_H
#define NN_GRAPH_INSTANCE_H

#include "graph/offload/spill.h"
#include "graph/plan.h"

struct nn_step_list {
	struct nn_graph_step *step;
	int n;
};

/* The steps of a slot. arriving: forward where weights are on their way. */
struct nn_slot_steps {
	struct nn_step_list forward, backward, arriving;
};

/* Weights that are under way; arrive NULL: all are there. */
struct nn_graph_pending {
	void (*arrive)(void *arg, size_t end);
	void *arg;
};

/* Calls and steps of all slots. */
struct nn_graph_slots {
	struct nn_call *calls; /* [slots][n_nodes] */
	struct nn_call *again; /* [slots][n_nodes] with values where backward has them, or NULL */
	struct nn_slot_steps *steps; /* [slots] */
	void **pointers;             /* x, dx, w, dw of the calls */
	bool *adds;                  /* their dx_add */
};

/* What goes between the graph's memory and the host's. */
struct nn_graph_host {
	/* struct nn_now of each output, and behind them the one of which calls read the sample */
	struct nn_mirror now;
	bool follows; /* nn_graph_use_now */
	/* [inputs], [outputs] of the program; not used where the graph's memory is the host's */
	struct nn_mirror *in, *out;
	void *canonical; /* device memory: a parameter on its way from or to the host; NULL: CPU */
};

/* Nodes whose kernels can update their parameters behind the gradients (update.c). */
struct nn_graph_updates {
	int *node, n;
	struct nn_update *param; /* [bound.n_params]: of theirs, in the step under way */
};

struct nn_graph {
	struct nn_bound bound;
	struct nn_memory_plan plan;
	struct nn_pool *pool;
	size_t max_rows, states;
	const struct nn_graph *share;
	struct nn_graph_pending pending;
	bool given; /* weights and gradients are another's memory */
	unsigned char
		*memory; /* inputs, activations, work, derived; device memory as the following */
	void *weights, *gradients,
		*buffers;      /* weights, buffers: those of `share` if there is one */
	size_t slots, slot;    /* how many, the one in use */
	struct nn_call *calls; /* [n_nodes] of the slot in use, everything filled in but the span */
	struct nn_slot_steps *steps; /* of the slot in use */
	struct nn_graph_slots all;
	struct nn_step_list refresh; /* what is made of weights after they changed */
	struct nn_step_list arrival; /* the same where they are on their way */
	size_t *statistics,
		n_statistics; /* [n_nodes] where a node's begin among those of a group */
	struct nn_graph_updates updated;
	struct nn_row_list *entries, *sums; /* [bound.n_tables] */
	struct nn_graph_host host;
	struct nn_spill *spill; /* what is written and read back; NULL: nothing is */
};

/* What lies at an offset of the plan, in the slot in use. */
static inline void *nn_graph_at(const struct nn_graph *graph, size_t offset)
{
	if (offset == NN_NOWHERE)
		return NULL;
	return graph->memory + offset +
	       (offset >= graph->plan.slot ? graph->slot * graph->plan.slot_bytes : 0);
}
static inline void *nn_graph_value_at(const struct nn_graph *graph, int value)
{
	return nn_graph_at(graph, graph->plan.value[nn_bound_root(&graph->bound, value)]);
}
static inline void *nn_graph_gradient_at(const struct nn_graph *graph, int value)
{
	return nn_graph_at(graph, graph->plan.gradient[nn_bound_root(&graph->bound, value)]);
}
/* The call of a step's node in the slot in use. */
static inline struct nn_call *nn_graph_call(const struct nn_graph *graph,
					    const struct nn_planned_step *step)
{
	return step->again
		       ? graph->all.again + graph->slot * (size_t)graph->bound.n_nodes + step->node
		       : &graph->calls[step->node];
}
/*
 * recompute.c: choose what is computed again (bound->again), and put its steps before those of
 * backward that need it.
 */
int nn_steps_recompute(struct nn_steps *steps, struct nn_bound *bound,
		       const struct nn_graph_options *options, struct nn_error *err);
/*
 * offload/offload.c: choose what is written to a file between forward and backward
 * (bound->spilled), and put steps that write and read it into the list; open that file.
 */
int nn_steps_offload(struct nn_steps *steps, struct nn_bound *bound,
		     const struct nn_graph_options *options, struct nn_error *err);
int nn_graph_open_spill(struct nn_graph *graph, const char *folder, struct nn_error *err);
/*
 * peak.c: the most bytes that live at once, as if nothing lay in another's place;
 * value_bytes [n_values], by root. try: of a copy of the list that `pass` has changed.
 */
int nn_steps_peak(const struct nn_steps *steps, const struct nn_bound *bound,
		  const double *value_bytes, double *most, struct nn_error *err);
int nn_steps_try(const struct nn_steps *steps,
		 int (*pass)(void *arg, struct nn_steps *steps, struct nn_error *err), void *arg,
		 const struct nn_bound *bound, const double *value_bytes, double *most,
		 struct nn_error *err);
/* tables.c: their lists, in the memory of the graph. */
int nn_graph_take_lists(struct nn_graph *graph, struct nn_error *err);
/* params.c: memory through which parameters go from and to the host. */
/* Bytes of the largest parameter, canonical. */
size_t nn_bound_canonical(const struct nn_bound *bound);
int nn_graph_take_canonical(struct nn_graph *graph, struct nn_error *err);
/* A parameter's place in a block; the host's canonical values packed into there, without subnormals. */
unsigned char *nn_graph_param_at(const struct nn_graph *graph, const void *block,
				 const struct nn_bound_param *param);
void nn_graph_put_param(const struct nn_graph *graph, const struct nn_bound_param *param,
		  const void *canonical, void *packed);
/* io.c: the same for rows, and what changes from step to step. */
int nn_graph_take_mirrors(struct nn_graph *graph, struct nn_error *err);
void nn_graph_free_mirrors(struct nn_graph *graph);
/* update.c: which nodes update; frees what it took. */
int nn_graph_take_updates(struct nn_graph *graph, struct nn_error *err);
void nn_graph_free_updates(struct nn_graph *graph);
/* calls.c: the calls of all nodes; the steps of all slots, which the lists say; free both. */
int nn_graph_take_calls(struct nn_graph *graph, uint64_t seed, struct nn_error *err);
int nn_graph_take_steps(struct nn_graph *graph, const struct nn_steps *steps,
			const struct nn_steps *after, struct nn_error *err);
void nn_graph_free_calls(struct nn_graph *graph);
/* update.c: bytes of gradients that nn_graph_backward_update does not touch. */
size_t nn_bound_untouched(const struct nn_bound *bound);
/* pass.c: may rows go through the node while its weight is not loaded? */
bool nn_bound_passes(const struct nn_bound *bound, const struct nn_bound_node *node);
/* run.c: a step for a span; all of a list; ready as nn_graph_backward has it. */
void nn_graph_run_step(struct nn_graph *graph, const struct nn_graph_step *step,
		       const struct nn_span *span);
void nn_graph_run(struct nn_graph *graph, const struct nn_step_list *list,
		  const struct nn_span *span, void (*ready)(void *arg, int param), void *arg);
/* kernel-steps.c: the kernels of all nodes. after: what is made of weights after they changed. */
int nn_steps_make(struct nn_steps *steps, struct nn_steps *after, struct nn_bound *bound,
		  const struct nn_graph_options *options, struct nn_error *err);
/*
 * weights.c: the steps of `after` for all nodes, each node's after a step that waits for its
 * weights; and before forward's steps of the node, if forward is not NULL.
 */
int nn_steps_arrive(struct nn_steps *to, const struct nn_steps *forward,
		    const struct nn_steps *after, const struct nn_bound *bound,
		    struct nn_error *err);
/*
 * fold.c: weight and bias of node with its batchnorm in them; canonical parameters of the program
 * in, canonical out.
 */
void nn_fold_batchnorm(const struct nn_bound *bound, const struct nn_bound_node *node,
		       const void *const *params, void *weight, void *bias);

#endif
