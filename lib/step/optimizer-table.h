/*
 * Optimizers on tables, whose gradients are lists of rows: what they keep of them, and their steps.
 * Ranks have all of it, or their rows.
 */
#ifndef NN_STEP_OPTIMIZER_TABLE_H
#define NN_STEP_OPTIMIZER_TABLE_H

#include "step/optimizer.h"

struct nn_table_steps {
	const struct nn_device *device;
	struct nn_queue *queue; /* the graph's */
	struct nn_graph *graph; /* borrowed */
	size_t n_slots;
	char *slots;         /* [n_slots] of all tables */
	char *direction;     /* NN_HAS_DIRECTION: of all tables */
	const void **values; /* [params of the program] of tables that ranks share */
	size_t *counts;      /* of these */
	bool asked;          /* are there any? */
	size_t n_params;
	/* double [n_params], squares of weights and direction, trust ratios */
	struct nn_mirror w_norm, d_norm, ratios;
};

int nn_table_steps_init(struct nn_table_steps *steps, enum nn_optimizer_kind kind, size_t n_slots,
			const struct nn_device *device, struct nn_graph *graph,
			const struct nn_program *program, struct nn_error *err);
void nn_table_steps_fini(struct nn_table_steps *steps);
/* Bytes of it for `elements` elements of tables. */
size_t nn_table_steps_bytes(enum nn_optimizer_kind kind, size_t n_slots, size_t elements,
			    enum nn_dtype dtype);
/* Slots as they began; to and from canonical parameters of the program. */
void nn_table_steps_reset(struct nn_table_steps *steps);
void nn_table_steps_save(const struct nn_table_steps *steps, size_t slot, void *const *params);
void nn_table_steps_load(struct nn_table_steps *steps, size_t slot, const void *const *params);
/*
 * squares[p] = the sum of squares of the gradient of table p: of the values that are listed, in
 * their order.
 */
int nn_table_steps_squares(struct nn_table_steps *steps, const struct nn_optimizer_ranks *ranks,
			   struct nn_mirror *squares, struct nn_error *err);
/*
 * The update of all tables; all: its constants, w the graph's weights. Of a lazy table the rows
 * that are listed move, of another all rows. role: of all parameters, in device memory; squares:
 * those above, of which ratios are made where there is no direction.
 */
int nn_table_steps_update(struct nn_table_steps *steps, const struct nn_optimizer_ranks *ranks,
			  const struct nn_update *all, const uint8_t *role,
			  const struct nn_mirror *squares, struct nn_error *err);
/*
 * Squares that were asked for in device memory become those of all ranks, by ranks->cut of
 * `values`, or, NULL, by ranks->squares.
 */
int nn_optimizer_join_squares(const struct nn_optimizer_ranks *ranks, struct nn_queue *queue,
			      const void *const *values, const size_t *counts,
			      struct nn_mirror *squares, size_t n, struct nn_error *err);

#endif
