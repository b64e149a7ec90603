/* Which column of a table feeds which input and target of a model. */
#ifndef NN_DATA_COLUMN_PLAN_H
#define NN_DATA_COLUMN_PLAN_H

#include "data/coding.h"
#include "data/table/table.h"

/* For each input the slot of each of its columns; for each target its first slot. */
struct nn_column_plan {
	size_t **slots;       /* [n_inputs]; NULL: columns lie in order from slot 0 */
	size_t *target_slots; /* [n_targets]: columns of a target follow each other */
	size_t n_inputs;
	size_t weight_slot; /* nn_plan_weight */
};
void nn_plan_free(struct nn_column_plan *plan);

struct nn_plan_options {
	bool inputs, targets; /* what this table has to give */
	const char
		*target; /* --target: the column of the only target, where it is not the schema's */
	int header;      /* as asked for: enum nn_header */
	bool grow;       /* labels that are not there are added (unless fixed) */
	const char *weight; /* --weight: a column with the weight of a row; NULL: none */
	bool weight_needed; /* else there may be none */
};
/* --weight: the slot of the column among the targets; SIZE_MAX: there is none. */
int nn_plan_weight(struct nn_table *table, const char *name, bool needed, size_t *slot,
		   struct nn_error *err);
/* For a schema that is known: its columns by name, or by position where there are none. */
int nn_plan_schema(struct nn_column_plan *plan, struct nn_table *table,
		   const struct nn_schema *schema, struct nn_coding *coding,
		   const struct nn_plan_options *options, struct nn_error *err);

/* ---- inside: column-order.c, columns that a schema knows by their positions ---- */

struct nn_plan_order {
	size_t *others, n_others;       /* the columns of the table but the targets */
	size_t *positions, n_positions; /* that the schema speaks of: distinct, ascending */
	size_t used;                    /* columns taken in order so far */
};
int nn_plan_order_init(struct nn_plan_order *order, const struct nn_table *table,
		       const struct nn_schema *schema, struct nn_error *err);
void nn_plan_order_fini(struct nn_plan_order *order);
/*
 * The column at this position of the training file; 0: the next one, since all that are there come
 * in order.
 */
int nn_plan_order_column(struct nn_plan_order *order, const struct nn_table *table, size_t position,
			 size_t *column, struct nn_error *err);
/* An error where the table has another number of columns than those wanted. */
int nn_plan_wrong_width(const struct nn_plan_order *order, const struct nn_table *table,
			size_t wanted, struct nn_error *err);

#endif
