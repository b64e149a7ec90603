/* Rows of a table: a record in, a row out. */
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "data/rows.h"

static int open_table(struct nn_rows *r, bool targets, struct nn_error *err)
{
	struct nn_plan_options options = { true, targets, r->target, r->options.header, false };

	if (nn_table_open(&r->table, r->input, r->options.header, r->dtype, err) < 0)
		return -1;
	if (r->table.empty) {
		r->ended = true;
		return 0;
	}
	if (nn_plan_schema(&r->plan, &r->table, r->schema, r->coding, &options, err) < 0)
		return -1;
	r->values = nn_alloc(r->table.n_values, nn_dtype_size(r->dtype), err);
	r->numbers = nn_alloc(r->table.n_targets, sizeof *r->numbers, err);
	return r->values && r->numbers ? 0 : -1;
}

static void put_targets(struct nn_rows *r, struct nn_rows_out *out)
{
	for (size_t t = 0; t < r->schema->n_targets; t++) {
		size_t size = nn_rows_target_size(r, t);
		const double *from = r->numbers + r->plan.target_slots[t];
		void *to = out->targets[t];

		if (nn_rows_target_classes(r, t)) {
			((int32_t *)to)[out->n] = (int32_t)from[0];
			continue;
		}
		to = (char *)to + out->n * size * nn_dtype_size(r->dtype);
		for (size_t i = 0; i < size; i++)
			nn_real_put(r->dtype, to, i, from[i]);
		nn_fill_numbers(&r->coding->targets[t], r->dtype, to, size, NULL, 1, to);
	}
}

static void put_inputs(struct nn_rows *r, struct nn_rows_out *out)
{
	struct nn_row_block source = { r->values, r->dtype, r->table.n_values, NULL, false };

	for (size_t i = 0; i < r->schema->n_inputs; i++) {
		const struct nn_input_code *code = &r->coding->inputs[i];

		source.slots = r->plan.slots[i];
		nn_fill_input(
			code, r->dtype, &source, NULL, 1, r->channels_last && r->channels_last[i],
			(char *)out->inputs[i] + out->n * code->size * nn_dtype_size(r->dtype));
	}
}

static int next_rows(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	bool targets = out->targets && r->options.want_target;

	while (out->n < out->max) {
		int got = out->n ? nn_table_ready(&r->table, err) : 1, bad;

		if (got != 1)
			return got;
		got = nn_table_next(&r->table, r->values, r->numbers, err);
		r->ended = got == 0;
		if (got <= 0)
			return got;
		bad = got == 2 ? nn_rows_take_bad(r, out, err) : 0;
		if (bad < 0)
			return -1;
		if (r->scored && nn_rows_put_scored(r, bad ? NULL : out, err) < 0)
			return -1;
		if (bad == 1)
			continue;
		if (!bad)
			put_inputs(r, out);
		if (!bad && targets && !r->scored)
			put_targets(r, out);
		out->n++;
	}
	return 0;
}

static int ready(struct nn_rows *r, struct nn_error *err)
{
	return nn_table_ready(&r->table, err);
}

static int64_t total(const struct nn_rows *r)
{
	(void)r;
	return -1;
}

static const struct nn_rows_ops rows = { open_table, next_rows, ready, total };

const struct nn_format nn_format_text = {
	.id = NN_FORMAT_text,
	.name = "CSV or TSV",
	.read = nn_dataset_read_table,
	.rows = &rows,
};
