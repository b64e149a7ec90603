/* Where everything lies in the one block of memory that a graph takes. */
#ifndef NN_GRAPH_PLAN_H
#define NN_GRAPH_PLAN_H

#include "graph/steps.h"

/* Of a table's two lists, entries and sums: where their arrays begin. */
struct nn_list_place {
	size_t width, room, row[2], leaf[2], value[2];
};

/* Offsets in bytes from the start of the graph's memory. Values and gradients are by root. */
struct nn_memory_plan {
	size_t *value, *gradient; /* [n_values]; NN_NOWHERE: not a root, or has none */
	size_t *again;            /* [n_values], by root: of backward, NN_NOWHERE: the same place */
	size_t *saved; /* [2][n_nodes]: of forward, of backward where it is computed again */
	bool *kept;    /* [n_values], by root: does it outlive forward? */
	size_t scratch[NN_N_SCRATCH];
	/* [n_values]: of an input that each thread has a copy of, how far apart they are; else 0 */
	size_t *copy_step;
	size_t slot, slot_bytes;     /* where what each slot has of its own begins, and its bytes */
	struct nn_list_place *lists; /* [bound.n_tables] */
	size_t list_counts;          /* nn_row_list.n of all lists, one after the other */
	size_t list_work;            /* of nn_row_sum */
	size_t bytes;                /* of all of it: the one allocation */
	struct nn_graph_memory memory;
};

int nn_memory_plan_make(struct nn_memory_plan *plan, struct nn_bound *bound,
			const struct nn_graph_options *options, const struct nn_steps *steps,
			const struct nn_steps *after, struct nn_error *err);
void nn_memory_plan_fini(struct nn_memory_plan *plan);
/* plan-copies.c: of an input (a root), 1 or as many as threads. */
size_t nn_memory_plan_copies(const struct nn_bound *bound, const struct nn_graph_options *options,
			     int input);
/* plan-lists.c: the lists of tables. */
int nn_memory_plan_lists(struct nn_memory_plan *plan, const struct nn_bound *bound,
			 const struct nn_graph_options *options, struct nn_error *err);

#endif
