/* --score: metrics of what comes by in place of answers. */
#include <stdio.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "predict/run.h"

int nn_run_open_score(struct nn_run *r, struct nn_error *err)
{
	const struct nn_schema *schema = r->model->schema;

	r->metrics = nn_alloc(nn_run_outputs(r), sizeof *r->metrics, err);
	if (!r->metrics)
		return -1;
	for (size_t o = 0; o < nn_run_outputs(r); o++) {
		const struct nn_program *program = r->model->program;
		const struct nn_shape *shape = &program->values[program->outputs[o].value].shape;
		size_t columns = nn_shape_columns(shape), positions = nn_shape_positions(shape);
		size_t found = nn_rows_target_size(r->rows, o), wanted;

		wanted = nn_rows_target_classes(r->rows, o) ? positions : positions * columns;
		if (found != wanted && !nn_rows_none(r->rows))
			return nn_fail(
				err, NN_EFORMAT,
				"--score: found %zu target values per row, the model has %zu",
				found, wanted);
		if (nn_metrics_new(&r->metrics[o], &schema->targets[o], &r->model->losses[o],
				   r->model->host, positions, columns, r->batch, err) < 0)
			return -1;
	}
	return 0;
}

void nn_run_score(struct nn_run *r, const struct nn_run_batch *b)
{
	for (size_t o = 0; o < nn_run_outputs(r); o++) {
		bool classes = nn_rows_target_classes(r->rows, o);
		bool probabilities = r->model->losses[o].kind == NN_LOSS_CROSS_ENTROPY && !classes;
		size_t row = nn_rows_target_size(r->rows, o) *
			     (classes ? sizeof(int32_t) : nn_dtype_size(r->model->device->dtype));

		nn_metrics_add(r->metrics[o], nn_session_raw(r->session, o, 0),
			       (char *)b->block->targets[o] + b->first * row, probabilities, b->n);
	}
}

struct lines {
	struct nn_output *output;
	struct nn_error *err;
	const char *prefix;
	struct nn_text name;
};

/* A label may hold anything, a line break too: such a name is written as a JSON string. */
static const char *printable(struct lines *l, const char *name)
{
	nn_text_clear(&l->name);
	nn_text_addf(&l->name, "%s%s%s", l->prefix, *l->prefix ? "." : "", name);
	for (const char *c = l->name.data; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f) {
			struct nn_text plain = l->name;

			l->name = (struct nn_text){ 0 };
			nn_text_add_json(&l->name, plain.data, plain.length);
			nn_text_free(&plain);
			break;
		}
	return l->name.failed ? NULL : l->name.data;
}

static int print_line(void *arg, const char *name, double value, bool count)
{
	struct lines *l = arg;
	char number[NN_NUMBER];

	if (!(name = printable(l, name)))
		return nn_fail(l->err, NN_ENOMEM, "cannot allocate memory for a line of output");
	if (count)
		snprintf(number, sizeof number, "%.0f", value);
	else
		nn_format_f64(number, value);
	return nn_output_printf(l->output, l->err, "%s %s\n", name, number);
}

int nn_run_print_score(struct nn_run *r, struct nn_error *err)
{
	for (size_t o = 0; o < nn_run_outputs(r); o++) {
		const char *name = r->model->program->outputs[o].name;
		struct lines lines = { .output = r->output, .err = err };
		int status;

		lines.prefix = nn_run_outputs(r) > 1 && name ? name : "";
		status = nn_metrics_each(r->metrics[o], print_line, &lines);
		nn_text_free(&lines.name);
		if (status < 0)
			return -1;
	}
	return 0;
}
