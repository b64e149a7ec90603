/* Which column of a table feeds which input and target of a model. */
#ifndef NN_DATA_PLAN_H
#define NN_DATA_PLAN_H

#include "data/coding.h"
#include "data/table.h"

/* Names of a list as the user types it: separated by commas, one with a comma in quotes ("a,b" with "" for a quote). */
struct nn_columns {
	char *text;
	struct nn_field *name;
	size_t n;
};
int nn_columns_parse(struct nn_columns *names, const char *list, struct nn_error *err);
void nn_columns_free(struct nn_columns *names);

/* For each input the slot of each of its columns; for each target its first slot. */
struct nn_plan {
	size_t **slots;              /* [n_inputs]; NULL: columns lie in order from slot 0 */
	size_t *target_slots;        /* [n_targets]: columns of a target follow each other */
	size_t n_inputs;
};
void nn_plan_free(struct nn_plan *plan);

struct nn_plan_options {
	bool inputs, targets;        /* what this table has to give */
	const char *target;          /* --target: the column of the only target, where it is not the schema's */
	int header;                  /* as asked for: enum nn_header */
	bool grow;                   /* labels that are not there are added (unless fixed) */
};
/* For a schema that is known: its columns by name, or by position where there are none. */
int nn_plan_schema(struct nn_plan *plan, struct nn_table *table, const struct nn_schema *schema, struct nn_coding *coding,
		   const struct nn_plan_options *options, struct nn_error *err);

/* "did you mean" among the columns, or an empty text. */
const char *nn_plan_hint(const struct nn_table *table, const char *name, char buffer[NN_QUOTED]);

#endif
