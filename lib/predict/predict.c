/* The loop of nn-predict: a block of rows that lie ready, forward, write; never waiting for a second row. */
#include <stdio.h>

#include "base/number.h"
#include "predict/run.h"

static int forward(struct nn_run *r, size_t n, struct nn_error *err)
{
	struct nn_span span = { .rows = n };
	enum nn_dtype dtype = r->model->device->dtype;
	bool channels_last;
	size_t size;

	if (n > r->bound && nn_run_bind(r, n > r->batch / 2 ? r->batch : n, err) < 0)
		return -1;
	for (size_t i = 0; i < nn_run_inputs(r); i++)
		nn_door_in(&r->doors[i], r->inputs[i], dtype, n,
			   nn_graph_input(r->graph, (int)i, &size, &channels_last));
	nn_graph_forward(r->graph, &span);
	return 0;
}

static void score(struct nn_run *r, size_t n)
{
	for (size_t o = 0; o < nn_run_outputs(r); o++) {
		size_t positions, columns;
		const void *outputs = nn_graph_output(r->graph, (int)o, &positions, &columns);
		bool probabilities = r->model->losses[o].kind == NN_LOSS_CROSS_ENTROPY &&
				     !nn_rows_target_classes(r->rows, o);

		nn_metrics_add(r->metrics[o], outputs, r->targets[o], probabilities, n);
	}
}

static int emit(struct nn_run *r, size_t n, bool array_end, struct nn_error *err)
{
	for (size_t i = 0; i < r->n_emitted && n > 0; i++)
		nn_emitted_take(&r->emitted[i], r->model, r->graph, n);
	if (n > 0 && nn_writer_rows(r->writer, n, r->bad, err) < 0)
		return -1;
	if (array_end && nn_writer_end_array(r->writer, err) < 0)
		return -1;
	/* Whoever drives us through a pipe gets its answers before we wait for more. */
	if (r->p->options.flush == 1 || (r->p->options.flush == 0 && nn_rows_would_block(r->rows)))
		return nn_output_flush(r->output, err);
	return 0;
}

static int loop(struct nn_run *r, struct nn_error *err)
{
	for (;;) {
		bool array_end = false;
		size_t n = 0;
		/* What was read before a bad row is still answered. */
		int status = nn_rows_next(r->rows, r->batch, r->inputs, r->targets, r->bad, &n, &array_end, err);

		if (n > 0 && forward(r, n, err) < 0)
			return -1;
		if (r->metrics && n > 0)
			score(r, n);
		if (!r->metrics && (n > 0 || array_end) && emit(r, n, array_end, err) < 0)
			return -1;
		if (status < 0)
			return -1;
		if (n == 0 && !array_end)
			return 0;
	}
}

/* ---- closing ---- */

struct lines {
	struct nn_output *output;
	struct nn_error *err;
	const char *prefix;
};

static int print_line(void *arg, const char *name, double value, bool count)
{
	struct lines *l = arg;
	char number[NN_NUMBER];

	if (count)
		snprintf(number, sizeof number, "%.0f", value);
	else
		nn_format_f64(number, value);
	return nn_output_printf(l->output, l->err, "%s%s%s %s\n", l->prefix, *l->prefix ? "." : "", name, number);
}

static int print_score(struct nn_run *r, struct nn_error *err)
{
	for (size_t o = 0; o < nn_run_outputs(r); o++) {
		const char *name = r->model->program->outputs[o].name;
		struct lines lines = { .output = r->output, .err = err };

		lines.prefix = nn_run_outputs(r) > 1 && name ? name : "";
		if (nn_metrics_each(r->metrics[o], print_line, &lines) < 0)
			return -1;
	}
	return 0;
}

static void give_notices(const struct nn_run *r)
{
	char text[160];
	const char *notice;

	for (size_t i = 0; (notice = nn_rows_notice(r->rows, i)); i++)
		r->p->warn(r->p->arg, notice);
	if (nn_rows_bad(r->rows)) {
		snprintf(text, sizeof text, "%llu rows could not be read and were %s",
			 (unsigned long long)nn_rows_bad(r->rows),
			 r->p->options.on_error == 1 ? "left out" : "marked");
		r->p->warn(r->p->arg, text);
	}
	if (r->writer && nn_writer_not_finite(r->writer)) {
		snprintf(text, sizeof text, "the outputs of %llu rows are not finite",
			 (unsigned long long)nn_writer_not_finite(r->writer));
		r->p->warn(r->p->arg, text);
	}
}

static int finish(struct nn_run *r, struct nn_error *err)
{
	struct nn_output *output = r->output;

	if ((r->metrics ? print_score(r, err) : nn_writer_close(r->writer, err)) < 0)
		return -1;
	give_notices(r);
	r->output = NULL;
	return nn_output_commit(output, err);
}

int nn_predict_run(const struct nn_predict *predict, struct nn_error *err)
{
	struct nn_run r = { .p = predict };
	int status = nn_run_open(&r, err);

	if (status == 0)
		status = loop(&r, err);
	if (status == 0)
		status = finish(&r, err);
	else if (r.writer && r.output && !nn_output_is_regular(r.output))
		nn_output_flush(r.output, NULL);     /* what was answered before the failure is the user's */
	nn_run_close(&r);
	return status;
}
