/* The loop of nn-predict: a block of rows that lie ready, forward, write; never waiting for a second row. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "data/data.h"
#include "predict/predict.h"

struct run {
	const struct nn_predict *p;
	struct nn_model *model;
	struct nn_rows *rows;
	struct nn_pool *pool;
	struct nn_graph *graph;
	size_t bound;                        /* rows the graph is bound for */
	size_t batch;
	struct nn_door *doors;               /* inputs */
	void **inputs, **targets;            /* what the reader fills, [batch] rows each */
	const char **bad;
	struct nn_emitted *emitted;
	size_t n_emitted;
	struct nn_metrics **metrics;         /* --score: one for each output */
	struct nn_output *output;
	struct nn_writer *writer;
};

static size_t n_inputs(const struct run *r)
{
	return (size_t)r->model->program->n_inputs;
}

static size_t n_outputs(const struct run *r)
{
	return (size_t)r->model->program->n_outputs;
}

/* ---- opening ---- */

/* Rows at once: --batch, fewer where their activations would not stay in reasonable memory. */
static int choose_batch(struct run *r, struct nn_error *err)
{
	struct nn_graph_options options = { .device = r->model->device, .max_rows = 1, .share = r->model->weights };
	struct nn_graph_memory memory;
	size_t room = nn_memory_available() / 4, most;

	if (nn_graph_plan(r->model->program, &options, &memory, err) < 0)
		return -1;
	if (room > (size_t)256 << 20)
		room = (size_t)256 << 20;
	most = room / (memory.activations_per_row + memory.input + 1);
	r->batch = r->p->options.batch;
	if (r->batch > most)
		r->batch = most ? most : 1;
	return 0;
}

static int alloc_inputs(struct run *r, struct nn_error *err)
{
	size_t real = nn_dtype_size(r->model->device->dtype), bytes;

	r->inputs = nn_alloc(n_inputs(r), sizeof *r->inputs, err);
	r->doors = nn_alloc(n_inputs(r), sizeof *r->doors, err);
	r->bad = nn_alloc(r->batch, sizeof *r->bad, err);
	if (!r->inputs || !r->doors || !r->bad)
		return -1;
	for (size_t i = 0; i < n_inputs(r); i++) {
		const struct nn_shape *shape = &r->model->program->values[r->model->program->inputs[i]].shape;

		if (!nn_shape_check(shape, real, &bytes))
			return nn_fail(err, NN_ENOMEM, "a row of input exceeds the address space");
		r->inputs[i] = nn_alloc(r->batch, bytes, err);
		if (!r->inputs[i])
			return -1;
	}
	return 0;
}

/* (Re)bind for n rows; the weights are shared, so this costs little. */
static int bind(struct run *r, size_t n, struct nn_error *err)
{
	struct nn_graph_options options = {
		.device = r->model->device, .max_rows = n, .share = r->model->weights,
	};

	nn_graph_free(r->graph);
	r->graph = NULL;
	if (n == r->batch && r->p->threads > 1 && !r->pool && nn_pool_new(&r->pool, r->p->threads, err) < 0)
		return -1;
	options.pool = r->pool;
	if (nn_graph_bind(&r->graph, r->model->program, &options, err) < 0)
		return -1;
	r->bound = n;
	for (size_t i = 0; i < n_inputs(r); i++) {
		nn_door_fini(&r->doors[i]);
		if (nn_door_input(&r->doors[i], r->model, r->graph, i, err) < 0)
			return -1;
	}
	return 0;
}

static int find_output(const struct run *r, const char *name, struct nn_error *err)
{
	const struct nn_program *program = r->model->program;
	struct nn_text known = {0};
	char quoted[NN_QUOTED];

	for (int o = 0; o < program->n_outputs; o++) {
		if (program->outputs[o].name && strcmp(program->outputs[o].name, name) == 0)
			return o;
		nn_text_addf(&known, "%s%s", o ? ", " : "", program->outputs[o].name ? program->outputs[o].name
										   : "an unnamed one");
	}
	nn_fail(err, NN_EFAIL, "--output-name=%s: the model's outputs are %s", nn_quote(quoted, name, strlen(name)),
		known.data ? known.data : "none");
	nn_text_free(&known);
	return -1;
}

static int choose_format(const struct run *r, enum nn_to *to)
{
	const char *family = nn_rows_family(r->rows);

	if (r->p->options.to)
		*to = (enum nn_to)(r->p->options.to - 1);
	else if (strcmp(family, "npy") == 0 || strcmp(family, "safetensors") == 0)
		*to = NN_TO_NPY;
	else
		*to = strcmp(family, "tsv") == 0 ? NN_TO_TSV : NN_TO_CSV;
	return 0;
}

static int open_emitted(struct run *r, struct nn_error *err)
{
	const char *name = r->p->options.output_name;
	int first = 0;

	r->n_emitted = n_outputs(r);
	if (name) {
		if ((first = find_output(r, name, err)) < 0)
			return -1;
		r->n_emitted = 1;
	}
	r->emitted = nn_alloc(r->n_emitted, sizeof *r->emitted, err);
	if (!r->emitted)
		return -1;
	for (size_t i = 0; i < r->n_emitted; i++)
		if (nn_emitted_open(&r->emitted[i], r->model, first + (int)i, r->p->options.emit, r->model->weights,
				    r->batch, err) < 0)
			return -1;
	return 0;
}

static int open_writer(struct run *r, struct nn_error *err)
{
	const char *family = nn_rows_family(r->rows);
	bool table = strcmp(family, "csv") == 0 || strcmp(family, "tsv") == 0;
	struct nn_writer_options options = { .total = nn_rows_total(r->rows) };

	choose_format(r, &options.to);
	options.header = r->p->options.to_header ? r->p->options.to_header == 1
						 : strcmp(family, "empty") != 0 && (!table || nn_rows_header(r->rows));
	if (r->p->options.on_error == 1)
		options.total = -1;              /* rows may be left out */
	if (open_emitted(r, err) < 0)
		return -1;
	options.named = r->n_emitted > 1;
	if (options.named && options.to != NN_TO_JSONL)
		return nn_fail(err, NN_EFAIL, "%s: the model has %zu outputs; choose one with --output-name= or take all "
			       "with --to=jsonl", r->p->model, r->n_emitted);
	if (options.to == NN_TO_NPY && nn_output_binary(r->output, err) < 0)
		return -1;
	return nn_writer_open(&r->writer, r->output, r->emitted, r->n_emitted, &options, err);
}

static int open_score(struct run *r, struct nn_error *err)
{
	const struct nn_schema *schema = r->model->schema;

	if (schema->n_targets == 0)
		return nn_fail(err, NN_EFAIL, "%s: --score: the model has no nn.target to compare with", r->p->model);
	r->metrics = nn_alloc(n_outputs(r), sizeof *r->metrics, err);
	r->targets = nn_alloc(n_outputs(r), sizeof *r->targets, err);
	if (!r->metrics || !r->targets)
		return -1;
	for (size_t o = 0; o < n_outputs(r); o++) {
		size_t positions, columns;

		nn_graph_output(r->model->weights, (int)o, &positions, &columns);
		if (nn_metrics_new(&r->metrics[o], &schema->targets[o], &r->model->loss, r->model->device, positions,
				   columns, r->batch, err) < 0)
			return -1;
		r->targets[o] = nn_alloc(r->batch, nn_rows_target_size(r->rows, o) * 8, err);
		if (!r->targets[o])
			return -1;
	}
	return 0;
}

static int open_all(struct run *r, struct nn_error *err)
{
	const struct nn_predict_options *o = &r->p->options;
	struct nn_model_source source = { .path = r->p->model, .text = o->model_text, .precision = r->p->precision,
					  .any_order = r->p->any_order };
	struct nn_rows_options rows = {
		.header = o->header, .on_error = o->on_error, .target = o->target, .want_target = o->score,
	};

	if (r->p->output && strcmp(r->p->output, "-") != 0 &&
	    (nn_same_file(r->p->output, r->p->model) || (r->p->data && nn_same_file(r->p->output, r->p->data))))
		return nn_fail(err, NN_EUSAGE, "--output=%s: is an input of this command", r->p->output);
	if (nn_output_open(&r->output, r->p->output, false, err) < 0)    /* before the first row is waited for */
		return -1;
	if (nn_model_load(&r->model, &source, err) < 0)
		return -1;
	if (nn_rows_open(&r->rows, r->p->data ? r->p->data : "-", o->score_targets, r->model->schema, &rows,
			 r->model->device->dtype, err) < 0)
		return -1;
	if (choose_batch(r, err) < 0 || alloc_inputs(r, err) < 0)
		return -1;
	return o->score ? open_score(r, err) : open_writer(r, err);
}

/* ---- running ---- */

static int forward(struct run *r, size_t n, struct nn_error *err)
{
	struct nn_span span = { .rows = n };
	enum nn_dtype dtype = r->model->device->dtype;
	bool channels_last;
	size_t size;

	if (n > r->bound && bind(r, n > r->batch / 2 ? r->batch : n, err) < 0)
		return -1;
	for (size_t i = 0; i < n_inputs(r); i++)
		nn_door_in(&r->doors[i], r->inputs[i], dtype, n,
			   nn_graph_input(r->graph, (int)i, &size, &channels_last));
	nn_graph_forward(r->graph, &span);
	return 0;
}

static void score(struct run *r, size_t n)
{
	for (size_t o = 0; o < n_outputs(r); o++) {
		size_t positions, columns;
		const void *outputs = nn_graph_output(r->graph, (int)o, &positions, &columns);
		bool probabilities = r->model->loss.kind == NN_LOSS_CROSS_ENTROPY &&
				     !nn_rows_target_classes(r->rows, o);

		nn_metrics_add(r->metrics[o], outputs, r->targets[o], probabilities, n);
	}
}

static int emit(struct run *r, size_t n, bool array_end, struct nn_error *err)
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

static int loop(struct run *r, struct nn_error *err)
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

static int print_score(struct run *r, struct nn_error *err)
{
	for (size_t o = 0; o < n_outputs(r); o++) {
		const char *name = r->model->program->outputs[o].name;
		struct lines lines = { .output = r->output, .err = err };

		lines.prefix = n_outputs(r) > 1 && name ? name : "";
		if (nn_metrics_each(r->metrics[o], print_line, &lines) < 0)
			return -1;
	}
	return 0;
}

static void give_notices(const struct run *r)
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

static void close_all(struct run *r)
{
	nn_writer_free(r->writer);
	nn_output_abort(r->output);
	for (size_t i = 0; r->emitted && i < r->n_emitted; i++)
		nn_emitted_close(&r->emitted[i]);
	for (size_t o = 0; r->model && o < n_outputs(r); o++) {
		if (r->metrics)
			nn_metrics_free(r->metrics[o]);
		if (r->targets)
			nn_free(r->targets[o]);
	}
	for (size_t i = 0; r->model && i < n_inputs(r); i++) {
		if (r->inputs)
			nn_free(r->inputs[i]);
		if (r->doors)
			nn_door_fini(&r->doors[i]);
	}
	nn_free(r->emitted);
	nn_free(r->metrics);
	nn_free(r->targets);
	nn_free(r->inputs);
	nn_free(r->doors);
	nn_free(r->bad);
	nn_graph_free(r->graph);
	nn_pool_free(r->pool);
	nn_rows_close(r->rows);
	nn_model_close(r->model);
}

static int finish(struct run *r, struct nn_error *err)
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
	struct run r = { .p = predict };
	int status = open_all(&r, err);

	if (status == 0)
		status = loop(&r, err);
	if (status == 0)
		status = finish(&r, err);
	else if (r.writer && r.output && !nn_output_is_regular(r.output))
		nn_output_flush(r.output, NULL);     /* what was answered before the failure is the user's */
	close_all(&r);
	return status;
}
