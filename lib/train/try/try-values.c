/* --try as text: OPTION=V1,V2,... a line each. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "train/try/try-values.h"

/* What decides which model comes out, by its heading; the rest says where it goes or who computes.
 */
static bool may_be_tried(const struct nn_opt_list *list, const struct nn_opt *row)
{
	static const char *const topics[] = { "Training", "Data" };
	const struct nn_opt *other;

	for (size_t t = 0; t < sizeof topics / sizeof *topics; t++)
		for (size_t i = 0; (other = nn_opt_of_topic(list, topics[t], i)); i++)
			if (other == row)
				return true;
	return strcmp(row->name, "seed") == 0 || strcmp(row->name, "patience") == 0;
}

static int read_values(struct nn_try_axis *axis, const char *at, struct nn_error *err)
{
	size_t length = strcspn(at, "\n"), room = 1;

	for (size_t i = 0; i < length; i++)
		room += at[i] == ',';
	axis->values = nn_alloc(room, sizeof *axis->values, err);
	while (axis->values && at) {
		char *value = nn_alloc(length + 1, 1, err);

		if (!value)
			return -1;
		at = nn_next_tried(at, value, &length);
		value[length] = '\0';
		axis->values[axis->n++] = value;
		length = at ? strcspn(at, "\n") : 0;
	}
	return axis->values ? 0 : -1;
}

static int read_axis(struct nn_try_axes *axes, const struct nn_train_setup *setup, const char *line,
		     struct nn_error *err)
{
	struct nn_try_axis *axis = &axes->axes[axes->n];
	size_t name = strcspn(line, "=");

	if (axes->n == NN_MOST_AXES)
		return nn_fail(err, NN_EUSAGE, "--try: more than %d options", NN_MOST_AXES);
	axis->row = nn_opt_find(setup->list, line, name, &axis->table, err);
	if (!axis->row)
		return nn_fail_at(err, "--try=%.*s", (int)(name < 80 ? name : 80), line);
	axes->n++;
	if (!may_be_tried(setup->list, axis->row))
		return nn_fail(err, NN_EUSAGE,
			       "--try=%s: this option does not change what is learned",
			       axis->row->name);
	for (size_t i = 0; i + 1 < axes->n; i++)
		if (axes->axes[i].row == axis->row)
			return nn_fail(err, NN_EUSAGE, "--try=%s: given twice", axis->row->name);
	return read_values(axis, line + name + 1, err);
}

int nn_try_axes_read(struct nn_try_axes *axes, const struct nn_train_setup *setup,
		     struct nn_error *err)
{
	*axes = (struct nn_try_axes){ .combinations = 1 };
	for (const char *line = setup->train->tries; line;) {
		if (read_axis(axes, setup, line, err) < 0)
			return -1;
		axes->combinations *= axes->axes[axes->n - 1].n;
		if (axes->combinations > NN_MOST_TRIES)
			return nn_fail(err, NN_EUSAGE, "--try: more than %d combinations",
				       NN_MOST_TRIES);
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return 0;
}

void nn_try_axes_free(struct nn_try_axes *axes)
{
	for (size_t i = 0; i < axes->n; i++) {
		for (size_t v = 0; v < axes->axes[i].n; v++)
			nn_free(axes->axes[i].values[v]);
		nn_free(axes->axes[i].values);
	}
}

const char *nn_try_value(const struct nn_try_axes *axes, size_t i, size_t k)
{
	for (size_t a = axes->n; --a > i;)
		k /= axes->axes[a].n;
	return axes->axes[i].values[k % axes->axes[i].n];
}

int nn_try_put(const struct nn_try_axes *axes, const struct nn_train_setup *setup, size_t k,
	       struct nn_error *err)
{
	for (size_t i = 0; i < axes->n; i++) {
		const struct nn_try_axis *axis = &axes->axes[i];
		const struct nn_opt_table *table = &setup->list->tables[axis->table];
		const char *value = nn_try_value(axes, i, k);
		char origin[NN_QUOTED + 80], quoted[NN_QUOTED];

		snprintf(origin, sizeof origin, "--try=%s=%s", axis->row->name,
			 nn_quote(quoted, value, strlen(value)));
		if (nn_opt_set(table, axis->row, value, origin, err) < 0)
			return -1;
		if (table->given)
			*table->given |= UINT64_C(1) << (axis->row - table->rows);
	}
	return 0;
}
