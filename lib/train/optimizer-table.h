/* Optimizers on tables, whose gradients are lists of rows: what they keep of them, and their steps. Every rank has all of it. */
#ifndef NN_TRAIN_OPTIMIZER_TABLE_H
#define NN_TRAIN_OPTIMIZER_TABLE_H

#include "graph/graph.h"

struct nn_table_steps {
	const struct nn_device *device;
	struct nn_graph *graph;          /* borrowed */
	size_t n_slots;
	char *slots;                     /* [n_slots] of all tables */
	char *direction;                 /* lamb: of all tables */
};

int nn_table_steps_init(struct nn_table_steps *steps, enum nn_optimizer_kind kind, size_t n_slots, const struct nn_device *device,
			struct nn_graph *graph, struct nn_error *err);
void nn_table_steps_fini(struct nn_table_steps *steps);
/* Bytes of it for so many elements of tables. */
size_t nn_table_steps_bytes(enum nn_optimizer_kind kind, size_t n_slots, size_t elements, enum nn_dtype dtype);
/* Slots as they began; to and from canonical parameters of the program. */
void nn_table_steps_reset(struct nn_table_steps *steps);
void nn_table_steps_save(const struct nn_table_steps *steps, size_t slot, void *const *params);
void nn_table_steps_load(struct nn_table_steps *steps, size_t slot, const void *const *params);
/* squares[p] = the sum of squares of the gradient of table p: of the values that are listed, in their order. */
void nn_table_steps_squares(const struct nn_table_steps *steps, double *squares);
/*
 * The update of all tables; all: its constants, w the graph's weights. squares: as above, for lars. Of a lazy table the rows that are
 * listed move, of another all rows.
 */
void nn_table_steps_update(struct nn_table_steps *steps, const struct nn_update *all, const double *squares);

/* You et al. 2017 (lars): what the rate of a weight of norm w is multiplied with; g: the norm of its gradient. */
double nn_lars_ratio(double w, double g, double weight_decay);

#endif
