/* Opening and closing a run of nn-predict: model, rows, output, and the graph between them. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "model/weights.h"
#include "predict/run.h"

/* Less than this every machine has: asking costs some reads of /proc and /sys, which is most of a
 * small prediction. */
#define WORTH_ASKING ((size_t)16 << 20)

/* Rows at once: --batch, fewer where their activations would not stay in reasonable memory. */
static int choose_batch(struct nn_run *r, struct nn_error *err)
{
	struct nn_graph_options options = { .device = r->model->device,
					    .max_rows = 1,
					    .share = r->model->weights };
	struct nn_graph_memory memory;
	size_t row, room, most;

	if (nn_graph_plan(r->model->program, &options, &memory, err) < 0)
		return -1;
	row = memory.activations_per_row + memory.input + 1;
	r->batch = r->p->options.batch;
	if (row <= WORTH_ASKING / r->batch)
		return 0;
	room = nn_memory_available() / 4;
	if (room > (size_t)256 << 20)
		room = (size_t)256 << 20;
	most = room / row;
	if (r->batch > most)
		r->batch = most ? most : 1;
	return 0;
}

static int alloc_inputs(const struct nn_run *r, struct nn_run_block *block, struct nn_error *err)
{
	size_t real = nn_dtype_size(r->model->device->dtype), bytes;

	block->inputs = nn_alloc(nn_run_inputs(r), sizeof *block->inputs, err);
	block->bad = nn_alloc(block->max, sizeof *block->bad, err);
	if (!block->inputs || !block->bad)
		return -1;
	for (size_t i = 0; i < nn_run_inputs(r); i++) {
		const struct nn_shape *shape =
			&r->model->program->values[r->model->program->inputs[i]].shape;

		if (!nn_shape_check(shape, real, &bytes))
			return nn_fail(err, NN_ENOMEM, "a row of input exceeds the address space");
		block->inputs[i] = nn_alloc(block->max, bytes, err);
		if (!block->inputs[i])
			return -1;
	}
	return 0;
}

static int alloc_targets(const struct nn_run *r, struct nn_run_block *block, struct nn_error *err)
{
	block->targets = nn_alloc(nn_run_outputs(r), sizeof *block->targets, err);
	for (size_t o = 0; block->targets && o < nn_run_outputs(r); o++)
		if (!(block->targets[o] =
			      nn_alloc(block->max, nn_rows_target_size(r->rows, o) * 8, err)))
			return -1;
	return block->targets ? 0 : -1;
}

static void free_block(const struct nn_run *r, struct nn_run_block *block)
{
	for (size_t i = 0; block->inputs && i < nn_run_inputs(r); i++)
		nn_free(block->inputs[i]);
	for (size_t o = 0; block->targets && o < nn_run_outputs(r); o++)
		nn_free(block->targets[o]);
	nn_free(block->inputs);
	nn_free(block->targets);
	nn_free(block->bad);
}

/* ---- reading ahead ---- */

/* A number of a table takes as long to read as so many operations: with fewer, reading is worth a
 * thread that would compute. */
#define READ_FLOP 1000
#define AHEAD_BYTES \
	((size_t)1 \
	 << 20) /* of a block at most, where it is more than a batch: to meet costs some 10 us */

static bool mostly_read(const struct nn_run *r)
{
	const struct nn_program *program = r->model->program;
	double flop = 0, numbers = 0;

	for (int i = 0; i < program->n_nodes; i++) {
		const struct nn_node *node = &program->nodes[i];
		const struct nn_op *op = nn_ops[node->op];

		if (node->n_in == 1 && op->flops)
			flop += (double)op->flops(node->attrs, &program->values[node->in[0]].shape,
						  1, &program->values[node->out].shape);
	}
	for (size_t i = 0; i < nn_run_inputs(r); i++)
		numbers += (double)nn_shape_count(&program->values[program->inputs[i]].shape);
	return flop < READ_FLOP * numbers;
}

/* Of a row. */
static size_t input_bytes(const struct nn_run *r)
{
	size_t bytes = 1;

	for (size_t i = 0; i < nn_run_inputs(r); i++)
		bytes += nn_shape_count(
				 &r->model->program->values[r->model->program->inputs[i]].shape) *
			 nn_dtype_size(r->model->device->dtype);
	return bytes;
}

/* What the machine has is asked where there are rows for more than one of them: a small prediction
 * is over before. */
static int threads(struct nn_run *r)
{
	if (r->threads == 0)
		r->threads = nn_cpu_count();
	return r->threads;
}

int nn_run_read_ahead(struct nn_run *r, struct nn_error *err)
{
	const char *family = nn_rows_family(r->rows);
	bool table = strcmp(family, "csv") == 0 || strcmp(family, "tsv") == 0;

	/* marked rows keep their reasons in the reader until it goes on */
	if (!table || nn_rows_is_pipe(r->rows) || r->blocks[0].n < r->batch ||
	    r->p->options.on_error == 2 || threads(r) == 1)
		return 0;
	for (int k = 1; k < 3; k++) {
		size_t batches = AHEAD_BYTES / (r->batch * input_bytes(r));

		r->blocks[k].max = r->batch * (batches ? batches : 1);
		if (alloc_inputs(r, &r->blocks[k], err) < 0 ||
		    (r->metrics && alloc_targets(r, &r->blocks[k], err) < 0))
			return -1;
	}
	if (nn_pool_new(&r->ahead, 2, err) < 0)
		return -1;
	r->threads -= mostly_read(r);
	return 0;
}

int nn_run_bind(struct nn_run *r, size_t n, struct nn_error *err)
{
	struct nn_graph_options options = {
		.device = r->model->device,
		.max_rows = n,
		.share = r->model->weights,
	};

	nn_graph_free(r->graph);
	r->graph = NULL;
	if (n == r->batch && !r->pool && nn_pool_new(&r->pool, threads(r), err) < 0)
		return -1;
	options.pool = r->pool;
	if (nn_graph_bind(&r->graph, r->model->program, &options, err) < 0)
		return -1;
	r->bound = n;
	for (size_t i = 0; i < nn_run_inputs(r); i++) {
		nn_door_fini(&r->doors[i]);
		if (nn_door_input(&r->doors[i], r->model, r->graph, i, err) < 0)
			return -1;
	}
	return 0;
}

static int find_output(const struct nn_run *r, const char *name, struct nn_error *err)
{
	const struct nn_program *program = r->model->program;
	struct nn_text known = { 0 };
	char quoted[NN_QUOTED];

	for (int o = 0; o < program->n_outputs; o++)
		if (program->outputs[o].name && strcmp(program->outputs[o].name, name) == 0)
			return o;
	for (int o = 0; o < program->n_outputs; o++)
		nn_text_addf(&known, "%s%s", o ? ", " : "",
			     program->outputs[o].name ? program->outputs[o].name
						      : "an unnamed one");
	nn_fail(err, NN_EFAIL, "--output-name=%s: the model's outputs are %s",
		nn_quote(quoted, name, strlen(name)), known.data ? known.data : "none");
	nn_text_free(&known);
	return -1;
}

static int choose_format(const struct nn_run *r, enum nn_to *to)
{
	const char *family = nn_rows_family(r->rows);

	if (r->p->options.to)
		*to = (enum nn_to)(r->p->options.to - 1);
	else if (strcmp(family, "npy") == 0 || strcmp(family, "safetensors") == 0 ||
		 strcmp(family, "zip") == 0)
		*to = NN_TO_NPY;
	else
		*to = strcmp(family, "tsv") == 0 ? NN_TO_TSV : NN_TO_CSV;
	return 0;
}

static int open_emitted(struct nn_run *r, struct nn_error *err)
{
	const char *name = r->p->options.output_name;
	int first = 0;

	r->n_emitted = nn_run_outputs(r);
	if (name) {
		if ((first = find_output(r, name, err)) < 0)
			return -1;
		r->n_emitted = 1;
	}
	r->emitted = nn_alloc(r->n_emitted, sizeof *r->emitted, err);
	if (!r->emitted)
		return -1;
	for (size_t i = 0; i < r->n_emitted; i++)
		if (nn_emitted_open(&r->emitted[i], r->model, first + (int)i, r->p->options.emit,
				    r->model->weights, r->batch, err) < 0)
			return -1;
	return 0;
}

static int open_writer(struct nn_run *r, struct nn_error *err)
{
	const char *family = nn_rows_family(r->rows);
	bool table = strcmp(family, "csv") == 0 || strcmp(family, "tsv") == 0;
	struct nn_writer_options options = { .total = nn_rows_total(r->rows) };

	choose_format(r, &options.to);
	options.header = r->p->options.to_header ? r->p->options.to_header == 1
						 : strcmp(family, "empty") != 0 &&
							   (!table || nn_rows_header(r->rows));
	if (r->p->options.on_error == 1)
		options.total = -1; /* rows may be left out */
	if (open_emitted(r, err) < 0)
		return -1;
	options.named = r->n_emitted > 1;
	if (options.named && options.to != NN_TO_JSONL)
		return nn_fail(
			err, NN_EFAIL,
			"%s: the model has %zu outputs; choose one with --output-name= or take all "
			"with --to=jsonl",
			r->p->model, r->n_emitted);
	if (options.to == NN_TO_NPY && nn_output_binary(r->output, err) < 0)
		return -1;
	return nn_writer_open(&r->writer, r->output, r->emitted, r->n_emitted, &options, err);
}

static int open_score(struct nn_run *r, struct nn_error *err)
{
	const struct nn_schema *schema = r->model->schema;

	if (schema->n_targets == 0)
		return nn_fail(err, NN_EFAIL,
			       "%s: --score: the model has no nn.target to compare with",
			       r->p->model);
	r->metrics = nn_alloc(nn_run_outputs(r), sizeof *r->metrics, err);
	if (!r->metrics)
		return -1;
	for (size_t o = 0; o < nn_run_outputs(r); o++) {
		size_t positions, columns, found = nn_rows_target_size(r->rows, o), wanted;

		nn_graph_output(r->model->weights, (int)o, &positions, &columns);
		wanted = nn_rows_target_classes(r->rows, o) ? positions : positions * columns;
		if (found != wanted && strcmp(nn_rows_family(r->rows), "empty") != 0)
			return nn_fail(
				err, NN_EFORMAT,
				"--score: found %zu target values per row, the model has %zu",
				found, wanted);
		if (nn_metrics_new(&r->metrics[o], &schema->targets[o], &r->model->losses[o],
				   r->model->device, positions, columns, r->batch, err) < 0)
			return -1;
	}
	return alloc_targets(r, &r->blocks[0], err);
}

/* Would -o overwrite that file? */
static bool is_input(const struct nn_predict *p, const char *path)
{
	return p->output && strcmp(p->output, "-") != 0 && path &&
	       (nn_same_file(p->output, path) ||
		(p->options.model_text && nn_weights_hold(path, nn_same_file, p->output)));
}

int nn_run_open(struct nn_run *r, struct nn_error *err)
{
	const struct nn_predict_options *o = &r->p->options;
	struct nn_model_source source = { .path = r->p->model,
					  .text = o->model_text,
					  .precision = r->p->precision,
					  .any_order = r->p->any_order,
					  .device_name = r->p->device,
					  .batch = r->p->device_batch };
	struct nn_rows_options rows = {
		.header = o->header,
		.on_error = o->on_error,
		.target = o->target,
		.want_target = o->score,
	};

	if (nn_is_stdin(r->p->model) && (!r->p->data || nn_is_stdin(r->p->data)))
		return nn_fail(err, NN_EUSAGE, "-: stdin can be MODEL or DATA, not both");
	if (is_input(r->p, r->p->model) || is_input(r->p, r->p->data) ||
	    is_input(r->p, o->score_targets))
		return nn_fail(err, NN_EUSAGE, "--output=%s: is an input of this command",
			       r->p->output);
	if (nn_output_open(&r->output, r->p->output, false, err) <
	    0) /* before the first row is waited for */
		return -1;
	if (nn_model_load(&r->model, &source, err) < 0)
		return -1;
	if (*r->model->note && r->p->note)
		r->p->note(r->p->arg, r->model->note);
	if (nn_rows_open(&r->rows, r->p->data ? r->p->data : "-", o->score_targets,
			 r->model->schema, &rows, r->model->device->dtype, err) < 0)
		return -1;
	r->threads = r->p->threads;
	r->doors = nn_alloc(nn_run_inputs(r), sizeof *r->doors, err);
	if (!r->doors || choose_batch(r, err) < 0)
		return -1;
	r->blocks[0].max = r->batch;
	if (alloc_inputs(r, &r->blocks[0], err) < 0)
		return -1;
	return o->score ? open_score(r, err) : open_writer(r, err);
}

void nn_run_close(struct nn_run *r)
{
	nn_writer_free(r->writer);
	nn_output_abort(r->output);
	for (size_t i = 0; r->emitted && i < r->n_emitted; i++)
		nn_emitted_close(&r->emitted[i]);
	nn_pool_free(r->ahead);
	for (size_t o = 0; r->metrics && o < nn_run_outputs(r); o++)
		nn_metrics_free(r->metrics[o]);
	for (size_t i = 0; r->doors && i < nn_run_inputs(r); i++)
		nn_door_fini(&r->doors[i]);
	for (int k = 0; k < 3; k++)
		free_block(r, &r->blocks[k]);
	nn_free(r->emitted);
	nn_free(r->metrics);
	nn_free(r->doors);
	nn_graph_free(r->graph);
	nn_pool_free(r->pool);
	nn_rows_close(r->rows);
	nn_model_close(r->model);
}
