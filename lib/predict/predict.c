/* The loop of nn-predict: a block of rows that lie ready, forward, write; never waiting for a
 * second row. */
#include <stdio.h>

#include "base/number.h"
#include "base/pool.h"
#include "predict/run.h"

/* Rows of a block that are run together. */
struct batch {
	const struct nn_run_block *block;
	size_t first, n;
};

static int forward(struct nn_run *r, const struct batch *b, struct nn_error *err)
{
	struct nn_span span = { .rows = b->n };
	enum nn_dtype dtype = r->model->device->dtype;
	bool channels_last;
	size_t size, n = b->n;

	if (n > r->bound && nn_run_bind(r, n > r->batch / 2 ? r->batch : n, err) < 0)
		return -1;
	for (size_t i = 0; i < nn_run_inputs(r); i++) {
		size_t row =
			nn_shape_count(
				&r->model->program->values[r->model->program->inputs[i]].shape) *
			nn_dtype_size(dtype);

		nn_door_in(&r->doors[i], (char *)b->block->inputs[i] + b->first * row, dtype, n,
			   nn_graph_input(r->graph, (int)i, &size, &channels_last));
	}
	nn_graph_forward(r->graph, &span);
	return 0;
}

static void score(struct nn_run *r, const struct batch *b)
{
	for (size_t o = 0; o < nn_run_outputs(r); o++) {
		size_t positions, columns;
		const void *outputs = nn_graph_output(r->graph, (int)o, &positions, &columns);
		bool classes = nn_rows_target_classes(r->rows, o);
		bool probabilities = r->model->losses[o].kind == NN_LOSS_CROSS_ENTROPY && !classes;
		size_t row = nn_rows_target_size(r->rows, o) *
			     (classes ? sizeof(int32_t) : nn_dtype_size(r->model->device->dtype));

		nn_metrics_add(r->metrics[o], outputs,
			       (char *)b->block->targets[o] + b->first * row, probabilities, b->n);
	}
}

static int emit(struct nn_run *r, const struct batch *b, struct nn_error *err)
{
	for (size_t i = 0; i < r->n_emitted; i++)
		nn_emitted_take(&r->emitted[i], r->model, r->graph, b->n);
	return nn_writer_rows(r->writer, b->n, b->block->bad + b->first, err);
}

/* Whoever drives us through a pipe gets its answers before we wait for more. */
static int flush(struct nn_run *r, struct nn_error *err)
{
	if (r->p->options.flush == 1 ||
	    (r->p->options.flush == 0 && !r->ahead && nn_rows_would_block(r->rows)))
		return nn_output_flush(r->output, err);
	return 0;
}

static int answer(struct nn_run *r, const struct nn_run_block *block, struct nn_error *err)
{
	struct batch b = { .block = block };

	for (; b.first < block->n; b.first += b.n) {
		b.n = block->n - b.first < r->batch ? block->n - b.first : r->batch;
		if (forward(r, &b, err) < 0)
			return -1;
		if (r->metrics)
			score(r, &b);
		else if (emit(r, &b, err) < 0)
			return -1;
	}
	if (r->metrics)
		return 0;
	if (block->array_end && nn_writer_end_array(r->writer, err) < 0)
		return -1;
	return flush(r, err);
}

static void read_block(struct nn_run *r, struct nn_run_block *block)
{
	block->n = 0;
	block->array_end = false;
	block->status = nn_rows_next(r->rows, block->max, block->inputs, block->targets, block->bad,
				     &block->n, &block->array_end, &block->err);
}

/* A block is answered by the caller while the next one is read. */
struct overlap {
	struct nn_run *run;
	struct nn_run_block *now, *next;
	int status;
	struct nn_error *err;
};

static void overlap_piece(void *arg, size_t i, int thread)
{
	struct overlap *o = arg;

	(void)thread;
	if (i == 0)
		o->status = answer(o->run, o->now, o->err);
	else if (o->run->ahead || o->status == 0)
		read_block(o->run, o->next);
}

static int loop(struct nn_run *r, struct nn_error *err)
{
	struct overlap o = { .run = r, .now = &r->blocks[0], .next = &r->blocks[0], .err = err };

	read_block(r, o.now);
	if (nn_run_read_ahead(r, err) < 0)
		return -1;
	if (r->ahead)
		o.next = &r->blocks[1];
	for (;;) {
		struct nn_run_block *now = o.now;

		/* What was read before a bad row is still answered. */
		if (now->status < 0) {
			*err = now->err;
			return -1;
		}
		if (now->n == 0 && !now->array_end)
			return 0;
		nn_pool_run(r->ahead, 2, overlap_piece, &o);
		if (o.status < 0)
			return -1;
		o.now = o.next;
		if (r->ahead)
			o.next = o.now == &r->blocks[1] ? &r->blocks[2] : &r->blocks[1];
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
	return nn_output_printf(l->output, l->err, "%s%s%s %s\n", l->prefix, *l->prefix ? "." : "",
				name, number);
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
		nn_output_flush(r.output,
				NULL); /* what was answered before the failure is the user's */
	nn_run_close(&r);
	return status;
}
