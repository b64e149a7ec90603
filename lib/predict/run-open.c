/* Opening and closing a run of nn-predict: model, rows, output, and what stands between them. */

#include "base/memory.h"
#include "predict/run.h"

/*
 * Less than this every machine has: asking costs some reads of /proc and /sys, which is most of a
 * small prediction.
 */
#define WORTH_ASKING ((size_t)16 << 20)

/* Bytes that a row takes in all members. */
static int row_bytes(const struct nn_run *r, size_t *bytes, struct nn_error *err)
{
	*bytes = 1;
	for (size_t k = 0; k < r->n_members; k++) {
		const struct nn_model *model = r->members[k].model;
		struct nn_graph_options options = { .device = model->device,
						    .max_rows = 1,
						    .share = model->weights };
		struct nn_graph_memory memory;

		if (nn_graph_plan(model->program, &options, &memory, err) < 0)
			return -1;
		*bytes += memory.activations_per_row + memory.input;
	}
	return 0;
}

/* Rows at once: --batch, fewer where their activations would not stay in reasonable memory. */
static int choose_batch(struct nn_run *r, struct nn_error *err)
{
	size_t row, room, most;

	if (row_bytes(r, &row, err) < 0)
		return -1;
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

int nn_run_open(struct nn_run *r, struct nn_error *err)
{
	const struct nn_predict_options *o = &r->p->options;

	if (nn_is_stdin(r->p->model) && (!r->p->data || nn_is_stdin(r->p->data)))
		return nn_fail(err, NN_EUSAGE, "-: stdin can be MODEL or DATA, not both");
	if (nn_run_open_log(r, err) < 0)
		return -1;
	/* before the first row is waited for */
	if (!(o->to == NN_TO_PNG && nn_pictures_is_folder(r->p->output)) &&
	    nn_output_open(&r->output, r->p->output, false, err) < 0)
		return -1;
	r->threads = r->p->threads;
	if (nn_run_load_members(r, err) < 0 || choose_batch(r, err) < 0 ||
	    nn_run_open_ensemble(r, err) < 0 || nn_run_open_rows(r, err) < 0 ||
	    nn_run_alloc_block(r, &r->blocks[0], r->batch, err) < 0)
		return -1;
	if (nn_run_find_outputs(r, err) < 0 ||
	    (o->score ? nn_run_open_score(r, err) : nn_run_open_writer(r, err)) < 0)
		return -1;
	return nn_run_log_start(r, err);
}

void nn_run_close(struct nn_run *r)
{
	nn_writer_free(r->writer);
	nn_output_abort(r->output);
	for (size_t i = 0; r->emitted && i < r->n_asked; i++)
		nn_emitted_close(&r->emitted[i]);
	nn_pool_free(r->ahead);
	for (size_t o = 0; r->metrics && o < nn_run_outputs(r); o++)
		nn_metrics_free(r->metrics[o]);
	for (size_t o = 0; r->against && o < nn_run_outputs(r); o++)
		nn_metrics_free(r->against[o]);
	for (int k = 0; k < 3; k++)
		nn_run_free_block(r, &r->blocks[k]);
	nn_free(r->emitted);
	nn_free(r->metrics);
	nn_free(r->against);
	nn_run_close_members(r);
	nn_pool_free(r->pool);
	nn_log_close(r->log);
}
