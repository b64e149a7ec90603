/*
 * What a graph does, as lists of steps: binding makes them from the nodes, passes put others in
 * their place or between them, the memory plan reads from them what lives when, and run.c runs
 * them.
 */
#ifndef NN_GRAPH_STEPS_H
#define NN_GRAPH_STEPS_H

#include "graph/bound.h"

/*
 * A step as it runs. The call has everything but the span; a step other than a kernel keeps its
 * data in a struct that begins with a call.
 */
struct nn_graph_step {
	void (*run)(const struct nn_call *call);
	struct nn_call *call;
	void *owned; /* the call, where no other step has it; freed with the step */
	/* node of which the gradients of all parameters are final after this step; -1: none */
	int event;
	size_t statistics; /* where those of the node begin among those of a group */
	char *state;       /* row 0's; NULL: rows begin anew */
	size_t state_bytes;
};

/*
 * Memory with a lifetime: of values and gradients (by root), and what a node saves for backward;
 * AGAIN: of values and of what is saved, where backward has them in another place than forward.
 */
enum nn_step_block {
	NN_STEP_VALUE,
	NN_STEP_GRADIENT,
	NN_STEP_AGAIN,
	NN_STEP_SAVED,
	NN_STEP_SAVED_AGAIN,
	NN_STEP_BLOCKS
};
struct nn_step_use {
	enum nn_step_block memory;
	int index;
};

/*
 * Scratch: of one step; of the steps that stand for one; of weights on their way between ranks.
 * There is one of each, as large as the hungriest step wants it.
 */
enum nn_scratch { NN_SCRATCH_WORK, NN_SCRATCH_ROOM, NN_SCRATCH_PARCELS, NN_N_SCRATCH };

/* A step before there is memory. */
struct nn_planned_step {
	/*
	 * Makes the step when there is memory; NULL: here the caller reads and writes values, node
	 * is -1, as it is of steps that are no node's.
	 */
	int (*fill)(struct nn_graph *graph, const struct nn_planned_step *step,
		    struct nn_graph_step *made, struct nn_error *err);
	int node, event;
	bool backward;
	bool again;      /* its call has values where backward has them (nn_graph_call) */
	int spilled;     /* of bound.spilled: what a step of offload/ writes or reads; -1: waits */
	int use, n_uses; /* uses[use .. use + n_uses - 1] of its list */
	size_t scratch[NN_N_SCRATCH];
	size_t saved;        /* bytes that the node saves */
	size_t keeps, *kept; /* bytes that stay from step to step, and where their place is noted */
};

/* Forward and backward are one list, with the caller's turn between them and after them. */
struct nn_steps {
	struct nn_planned_step *step;
	int n, room;
	struct nn_step_use *uses;
	int n_uses, room_uses;
	int turn;   /* steps[turn]: the caller's, between forward and backward */
	int status; /* -1: memory ran out while something was added */
};

void nn_steps_fini(struct nn_steps *steps);
/* At the end of the list; nn_steps_check says whether there was memory for all that was added. */
void nn_steps_add(struct nn_steps *steps, const struct nn_planned_step *step);
int nn_steps_check(const struct nn_steps *steps, struct nn_error *err);
/* The last step added uses this too. */
void nn_steps_use(struct nn_steps *steps, enum nn_step_block memory, int index);
/*
 * A pass: `each` adds to `to` what is to stand in the place of a step. Uses are numbered as before:
 * a step that stands for another, or for a part of it, may go on using what that did.
 */
int nn_steps_pass(struct nn_steps *steps,
		  void (*each)(void *arg, struct nn_steps *to, const struct nn_planned_step *step),
		  void *arg, struct nn_error *err);

#endif
