/* Rows of a table: a record in, a row out. */
#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "data/rows/rows.h"
#include "data/table/svm.h"

static int open_table(struct nn_rows *r, bool targets, struct nn_error *err)
{
	struct nn_table_form given = { .header = r->options.header,
				       .separator = r->options.separator },
			     form = nn_dataset_form(&given, r->schema, true);
	struct nn_plan_options options = { true,  targets,   r->target, r->options.header,
					   false, r->weight, false };

	form.lines = r->format->lines ? 1 : 0;
	if (nn_table_open(&r->table, r->input, &form, r->dtype, err) < 0)
		return -1;
	if (r->table.empty) {
		r->ended = true;
		return 0;
	}
	if (nn_plan_schema(&r->plan, &r->table, r->schema, r->coding, &options, err) < 0)
		return -1;
	if (r->keep && nn_keep_init(&r->kept, &r->table, r->keep, err) < 0)
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
		struct nn_target_code code = r->coding->targets[t];
		void *to = out->targets[t];

		if (nn_rows_target_classes(r, t)) {
			((int32_t *)to)[out->n] =
				nn_code_class(&r->coding->targets[t], (int32_t)from[0]);
			continue;
		}
		to = (char *)to + out->n * size * nn_dtype_size(r->dtype);
		for (size_t i = 0; i < size; i++)
			nn_real_put(r->dtype, to, nn_code_place(&code, size, i), from[i]);
		code.channels = 0;
		nn_fill_numbers(&code, r->dtype, to, size, NULL, 1, to);
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

/* The first line of a file that has a header, where the model knows of none, is a bad row. */
static int next_row(struct nn_rows *r, struct nn_error *err)
{
	bool first = r->table.first_waits && r->options.header == NN_HEADER_AUTO &&
		     nn_schema_is_headerless(r->schema, true);
	int got = nn_table_next(&r->table, r->values, r->numbers, err);
	struct nn_error why = *err;

	if (got == 2 && first)
		nn_fail(err, why.code,
			"%s; the model was trained without a header, --header=yes skips a line",
			why.text);
	return got;
}

static int next_rows(struct nn_rows *r, struct nn_rows_out *out, struct nn_error *err)
{
	bool targets = out->targets && r->options.want_target;

	while (out->n < out->max) {
		int got = out->n ? nn_table_ready(&r->table, err) : 1, bad;

		if (got != 1)
			return got;
		got = next_row(r, err);
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
		if (out->beside && out->beside->kept)
			nn_keep_add(&r->kept, &r->table, out->beside->kept);
		if (!bad)
			put_inputs(r, out);
		if (!bad && targets && !r->scored)
			put_targets(r, out);
		if (!bad && out->beside && out->beside->weights && nn_rows_weighs(r))
			out->beside->weights[out->n] = r->numbers[r->plan.weight_slot];
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
	.table = true,
};

const struct nn_format nn_format_jsonl = {
	.id = NN_FORMAT_jsonl,
	.name = "JSON lines",
	.read = nn_dataset_read_table,
	.rows = &rows,
	.table = true,
	.lines = true,
};

/* ---- LIBSVM: the same rows, but without columns ---- */

static int check_inputs(const struct nn_rows *r, struct nn_error *err)
{
	const struct nn_input_schema *input = &r->schema->inputs[0];

	if (r->schema->n_inputs > 1)
		return nn_fail(err, NN_EFORMAT, "%s: LIBSVM has one input, the model has %zu",
			       nn_input_name(r->input), r->schema->n_inputs);
	if (input->rows)
		return nn_fail(err, NN_EFORMAT, "%s: is LIBSVM, but the model has categories",
			       nn_input_name(r->input));
	for (size_t c = 0; input->columns && c < input->n_columns; c++)
		if (input->columns[c].category || input->columns[c].hashed)
			return nn_fail(err, NN_EFORMAT,
				       "%s: is LIBSVM, but the model has columns of text",
				       nn_input_name(r->input));
	return 0;
}

static int open_svm(struct nn_rows *r, bool targets, struct nn_error *err)
{
	struct nn_plan_options options = { .targets = targets, .target = r->target };
	size_t width = r->coding->inputs[0].size;

	if (check_inputs(r, err) < 0 ||
	    nn_svm_open(&r->table, r->input, width,
			!(r->options.zero_based || r->schema->inputs[0].zero_based), r->dtype,
			err) < 0 ||
	    nn_plan_schema(&r->plan, &r->table, r->schema, r->coding, &options, err) < 0)
		return -1;
	r->values = nn_alloc(width, nn_dtype_size(r->dtype), err);
	r->numbers = nn_alloc(r->table.n_targets, sizeof *r->numbers, err);
	return r->values && r->numbers ? 0 : -1;
}

static const struct nn_rows_ops svm_rows = { open_svm, next_rows, ready, total };

const struct nn_format nn_format_libsvm = {
	.id = NN_FORMAT_libsvm,
	.name = "LIBSVM",
	.fits = nn_svm_fits,
	.read = nn_dataset_read_svm,
	.rows = &svm_rows,
};
