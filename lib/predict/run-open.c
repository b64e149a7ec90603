/* Opening and closing a run of nn-predict: model, rows, output, and what stands between them. */

#include "base/memory.h"
#include "predict/run.h"

/*
 * Less than this every machine has: asking costs some reads of /proc and /sys, which is most of a
 * small prediction.
 */
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

int nn_run_open(struct nn_run *r, struct nn_error *err)
{
	const struct nn_predict_options *o = &r->p->options;
	struct nn_shape sample;
	struct nn_weights_as as = { .text = o->model_text, .layout = o->layout };
	struct nn_model_source source = { .path = r->p->model,
					  .as = o->model_text ? &as : NULL,
					  .precision = r->p->precision,
					  .any_order = r->p->any_order,
					  .device_name = r->p->device,
					  .batch = r->p->device_batch };
	struct nn_rows_options rows = {
		.header = o->header,
		.separator = nn_separator_of(o->separator),
		.zero_based = o->zero_based,
		/* a place without a row is nothing to be scored */
		.on_error = o->score && o->on_error == NN_ON_ERROR_MARK ? NN_ON_ERROR_SKIP
									: o->on_error,
		.target = o->target,
		.want_target = o->score,
	};

	if (nn_is_stdin(r->p->model) && (!r->p->data || nn_is_stdin(r->p->data)))
		return nn_fail(err, NN_EUSAGE, "-: stdin can be MODEL or DATA, not both");
	if (nn_run_open_log(r, err) < 0)
		return -1;
	if (nn_output_open(&r->output, r->p->output, false, err) <
	    0) /* before the first row is waited for */
		return -1;
	if (o->model_text && r->p->data && nn_data_sample(r->p->data, &sample))
		as.sample = &sample;
	if (nn_model_load(&r->model, &source, err) < 0)
		return -1;
	rows.keep = o->keep;
	rows.weight = o->score ? r->model->weight : NULL;
	if (*r->model->note && r->p->note)
		r->p->note(r->p->arg, r->model->note);
	if (nn_rows_open(&r->rows, r->p->data ? r->p->data : "-", o->score_targets,
			 r->model->schema, &rows, r->model->device->dtype, err) < 0)
		return -1;
	r->threads = r->p->threads;
	if (choose_batch(r, err) < 0 || nn_run_alloc_block(r, &r->blocks[0], r->batch, err) < 0)
		return -1;
	if ((o->score ? nn_run_open_score(r, err) : nn_run_open_writer(r, err)) < 0)
		return -1;
	return nn_run_log_start(r, err);
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
	for (int k = 0; k < 3; k++)
		nn_run_free_block(r, &r->blocks[k]);
	nn_free(r->emitted);
	nn_free(r->metrics);
	nn_session_close(r->session);
	nn_pool_free(r->pool);
	nn_rows_close(r->rows);
	nn_model_close(r->model);
	nn_log_close(r->log);
}
