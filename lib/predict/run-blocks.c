/* Blocks of rows: their memory, reading them, and whether the next one is read meanwhile. */

#include "base/memory.h"
#include "base/pool.h"
#include "predict/run.h"

static size_t row_values(const struct nn_run *r, size_t input)
{
	const struct nn_run_member *m = r->members;
	const struct nn_program *program;

	while (m + 1 < r->members + r->n_members && m[1].first_input <= input)
		m++;
	program = m->model->program;
	return nn_shape_count(&program->values[program->inputs[input - m->first_input]].shape);
}

size_t nn_run_input_bytes(const struct nn_run *r, size_t input)
{
	return row_values(r, input) * nn_dtype_size(r->model->device->dtype);
}

static int alloc_inputs(const struct nn_run *r, struct nn_run_block *block, struct nn_error *err)
{
	size_t real = nn_dtype_size(r->model->device->dtype), values;

	block->inputs = nn_alloc(nn_run_inputs(r), sizeof *block->inputs, err);
	block->bad = nn_alloc(block->max, sizeof *block->bad, err);
	if (!block->inputs || !block->bad)
		return -1;
	for (size_t i = 0; i < nn_run_inputs(r); i++) {
		if (!nn_mul(row_values(r, i), block->max, &values))
			return nn_fail(err, NN_ENOMEM, "%zu rows of input exceed the address space",
				       block->max);
		if (!(block->inputs[i] = nn_alloc(values, real, err)))
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

int nn_run_alloc_block(const struct nn_run *r, struct nn_run_block *block, size_t max,
		       struct nn_error *err)
{
	block->max = max;
	block->beside.kept = nn_rows_kept(r->rows, 0) ? &block->kept : NULL;
	if (alloc_inputs(r, block, err) < 0)
		return -1;
	if (nn_rows_weighs(r->rows) &&
	    !(block->beside.weights = nn_alloc(max, sizeof *block->beside.weights, err)))
		return -1;
	if (nn_program_lengths(r->model->program) >= 0 &&
	    !(block->beside.lengths = nn_alloc(max, sizeof *block->beside.lengths, err)))
		return -1;
	if (r->n_members > 1 && nn_run_alloc_why(block, err) < 0)
		return -1;
	return r->p->options.score ? alloc_targets(r, block, err) : 0;
}

void nn_run_free_block(const struct nn_run *r, struct nn_run_block *block)
{
	for (size_t i = 0; block->inputs && i < nn_run_inputs(r); i++)
		nn_free(block->inputs[i]);
	for (size_t o = 0; block->targets && o < nn_run_outputs(r); o++)
		nn_free(block->targets[o]);
	nn_free(block->inputs);
	nn_free(block->targets);
	nn_free(block->bad);
	nn_run_free_why(block);
	nn_free(block->beside.weights);
	nn_free(block->beside.lengths);
	nn_text_free(&block->kept);
}

void nn_run_read_block(struct nn_run *r, struct nn_run_block *block)
{
	block->n = 0;
	block->array_end = false;
	nn_text_clear(&block->kept);
	if (r->n_members > 1)
		nn_run_read_members(r, block);
	else
		block->status = nn_rows_next_beside(r->rows, block->max, block->inputs,
						    block->targets, &block->beside, block->bad,
						    &block->n, &block->array_end, &block->err);
	if (block->kept.failed)
		block->status = nn_fail(&block->err, NN_ENOMEM,
					"cannot allocate memory for columns that are kept");
}

/* ---- reading ahead ---- */

/*
 * A number of a table takes as long to read as this number of operations: with fewer, reading is
 * worth a thread that would compute.
 */
#define READ_FLOP 1000
/* of a block at most, where it is more than a batch: its pages are touched, to meet costs 10 us */
#define AHEAD_BYTES ((size_t)1 << 17)

static bool mostly_read(const struct nn_run *r)
{
	double flop = 0, numbers = 0;

	for (size_t k = 0; k < r->n_members; k++) {
		const struct nn_program *program = r->members[k].model->program;

		for (int i = 0; i < program->n_nodes; i++)
			flop += (double)program->nodes[i].flops;
	}
	for (size_t i = 0; i < nn_run_inputs(r); i++)
		numbers += (double)row_values(r, i);
	return flop < READ_FLOP * numbers;
}

/* Of a row. */
static size_t input_bytes(const struct nn_run *r)
{
	size_t bytes = 1;

	for (size_t i = 0; i < nn_run_inputs(r); i++)
		bytes += nn_run_input_bytes(r, i);
	return bytes;
}

int nn_run_read_ahead(struct nn_run *r, struct nn_error *err)
{
	/* marked rows keep their reasons in the reader until it goes on */
	if (!nn_rows_separator(r->rows) || nn_rows_is_pipe(r->rows) || r->blocks[0].n < r->batch ||
	    r->p->options.on_error == NN_ON_ERROR_MARK || nn_run_threads(r) == 1)
		return 0;
	for (int k = 1; k < 3; k++) {
		size_t batches = AHEAD_BYTES / (r->batch * input_bytes(r));

		if (nn_run_alloc_block(r, &r->blocks[k], r->batch * (batches ? batches : 1), err) <
		    0)
			return -1;
	}
	if (nn_pool_new(&r->ahead, 2, err) < 0)
		return -1;
	r->threads -= mostly_read(r);
	return 0;
}

int nn_run_threads(struct nn_run *r)
{
	if (r->threads == 0)
		r->threads = nn_cpu_count();
	return r->threads;
}
