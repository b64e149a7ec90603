/* The evaluator: a session of its own, loaded with the weights of the moment. */
#include <string.h>

#include "base/memory.h"
#include "data/loader.h"
#include "predict/session.h"
#include "step/cut.h"
#include "step/evaluate.h"
#include "step/step.h"

#define MAX_ROWS 256

struct nn_evaluator {
	struct nn_evaluator_options options;
	size_t max_rows;
	struct nn_loader loader;
	struct nn_session *session;
	struct nn_mirror numbers; /* uint32 [max_rows], of rows on the device; none: rows are sent */
	const struct nn_device *host; /* computes metrics */
	struct nn_metrics **metrics;  /* [n_outputs] */
	void **targets;               /* [n_outputs] [max_rows] */
	double *weights;              /* [max_rows], NULL: rows weigh 1 */
	bool *probabilities;
	char **blocks; /* [n_outputs] of ranks: sums of all blocks of rows */
	int n_outputs;
	bool ran;
};

static int output_new(struct nn_evaluator *e, int i, struct nn_error *err)
{
	const struct nn_evaluator_options *o = &e->options;
	bool classes = nn_dataset_target_classes(o->dataset, (size_t)i);
	const struct nn_shape *shape = &o->program->values[o->program->outputs[i].value].shape;
	size_t size = nn_dataset_target_size(o->dataset, (size_t)i);

	e->probabilities[i] = !classes && o->losses[i].kind == NN_LOSS_CROSS_ENTROPY;
	e->targets[i] = nn_alloc(e->max_rows * size,
				 classes ? sizeof(int32_t) : nn_dtype_size(o->device->dtype), err);
	if (!e->targets[i])
		return -1;
	if (nn_metrics_new(&e->metrics[i], &o->schema->targets[i], &o->losses[i], e->host, shape,
			   e->max_rows, err) < 0)
		return -1;
	return e->weights ? nn_metrics_take_weights(e->metrics[i], err) : 0;
}

static size_t n_blocks(const struct nn_evaluator *e)
{
	return (e->options.n_rows + NN_METRICS_BLOCK - 1) / NN_METRICS_BLOCK;
}

/* Blocks of rows go to ranks as leaves do. */
static struct nn_cut_run share_of(const struct nn_evaluator *e, int rank)
{
	return nn_cut_share(n_blocks(e), rank, e->options.comm->size);
}

/* Are its rows on the device, as its graph has them? */
static bool on_device(const struct nn_evaluator *e)
{
	const struct nn_resident *r = e->options.resident;
	bool same = r && r->source.data == nn_dataset_source(e->options.dataset).data, last;

	for (size_t i = 0; same && i < (size_t)e->options.program->n_inputs; i++) {
		nn_session_place(e->session, i, 0, &last);
		same = last == r->inputs[i].channels_last;
	}
	return same;
}

static int session_new(struct nn_evaluator *e, struct nn_error *err)
{
	const struct nn_session_setup setup = { .program = e->options.program,
						.device = e->options.device,
						.pool = e->options.pool,
						.max_rows = e->max_rows };

	if (nn_session_new(&e->session, &setup, err) < 0)
		return -1;
	return on_device(e) ? nn_mirror_new(&e->numbers, nn_session_queue(e->session),
					    e->max_rows * sizeof(uint32_t), err)
			    : 0;
}

/* Its rows, or this rank's share of them. */
static int loader_new(struct nn_evaluator *e, struct nn_error *err)
{
	const struct nn_evaluator_options *o = &e->options;
	struct nn_cut_run mine =
		o->comm ? share_of(e, o->comm->rank) : (struct nn_cut_run){ 0, n_blocks(e) };
	size_t from = mine.from * NN_METRICS_BLOCK, end = mine.to * NN_METRICS_BLOCK;
	const struct nn_loader_options drawn = {
		.source = nn_dataset_source(o->dataset),
		.rows = o->rows + from,
		.n = (end < o->n_rows ? end : o->n_rows) - from,
		.batch = e->max_rows,
	};

	return nn_loader_init(&e->loader, &drawn, err);
}

static int blocks_new(struct nn_evaluator *e, struct nn_error *err)
{
	e->blocks = nn_alloc((size_t)e->n_outputs, sizeof *e->blocks, err);
	for (int i = 0; e->blocks && i < e->n_outputs; i++)
		if (!(e->blocks[i] = nn_alloc(n_blocks(e), nn_metrics_bytes(e->metrics[i]), err)))
			return -1;
	return e->blocks ? 0 : -1;
}

int nn_evaluator_new(struct nn_evaluator **evaluator, const struct nn_evaluator_options *options,
		     struct nn_error *err)
{
	struct nn_evaluator *e = nn_alloc(1, sizeof *e, err);

	if (!e)
		return -1;
	e->options = *options;
	e->max_rows = options->n_rows < MAX_ROWS ? options->n_rows : MAX_ROWS;
	e->n_outputs = options->program->n_outputs;
	e->metrics = nn_alloc((size_t)e->n_outputs, sizeof *e->metrics, err);
	e->targets = nn_alloc((size_t)e->n_outputs, sizeof *e->targets, err);
	e->probabilities = nn_alloc((size_t)e->n_outputs, sizeof *e->probabilities, err);
	if (!e->metrics || !e->targets || !e->probabilities)
		goto fail;
	e->host = nn_device_host(options->device);
	if (nn_dataset_source(options->dataset).ops->fill_weights &&
	    !(e->weights = nn_alloc(e->max_rows, sizeof *e->weights, err)))
		goto fail;
	if (loader_new(e, err) < 0 || session_new(e, err) < 0)
		goto fail;
	for (int i = 0; i < e->n_outputs; i++)
		if (output_new(e, i, err) < 0)
			goto fail;
	if (options->comm && blocks_new(e, err) < 0)
		goto fail;
	*evaluator = e;
	return 0;
fail:
	nn_evaluator_free(e);
	return -1;
}

void nn_evaluator_free(struct nn_evaluator *e)
{
	if (!e)
		return;
	for (int i = 0; i < e->n_outputs; i++) {
		if (e->metrics)
			nn_metrics_free(e->metrics[i]);
		if (e->targets)
			nn_free(e->targets[i]);
		if (e->blocks)
			nn_free(e->blocks[i]);
	}
	nn_free(e->blocks);
	nn_free(e->metrics);
	nn_free(e->targets);
	nn_free(e->probabilities);
	nn_free(e->weights);
	if (e->numbers.host)
		nn_mirror_free(&e->numbers, nn_session_queue(e->session));
	nn_session_close(e->session);
	nn_loader_fini(&e->loader);
	nn_free(e);
}

static void gather(struct nn_evaluator *e, const struct nn_batch *batch)
{
	const struct nn_resident *r = e->options.resident;
	struct nn_queue *queue = nn_session_queue(e->session);
	uint32_t *numbers = nn_mirror_write(&e->numbers, queue);

	for (size_t k = 0; k < batch->n; k++)
		numbers[k] = (uint32_t)batch->rows[k];
	nn_mirror_send(&e->numbers, queue, 0, batch->n * sizeof *numbers);
	for (size_t i = 0; i < (size_t)e->options.program->n_inputs; i++)
		nn_session_gather(e->session, i, r->there + r->inputs[i].at, e->numbers.there,
				  batch->n);
}

static int send(struct nn_evaluator *e, const struct nn_batch *batch, struct nn_error *err)
{
	const struct nn_evaluator_options *o = &e->options;

	for (size_t i = 0; i < (size_t)o->program->n_inputs; i++) {
		struct nn_place place = { .copies = 1 };

		place.values = nn_session_place(e->session, i, 0, &place.channels_last);
		place.row_bytes =
			nn_session_input_size(e->session, i) * nn_dtype_size(o->device->dtype);
		if (nn_batch_input(batch, i, 0, batch->n, &place, o->pool, err) < 0)
			return -1;
	}
	return 0;
}

/* Through the session, which has their outputs then. */
static int forward(struct nn_evaluator *e, const struct nn_batch *batch, struct nn_error *err)
{
	if (e->numbers.host)
		gather(e, batch);
	else if (send(e, batch, err) < 0)
		return -1;
	if (batch->lengths)
		nn_session_set_lengths(e->session, 0, batch->n, batch->lengths);
	return nn_session_run(e->session, batch->n, err);
}

static int run_rows(struct nn_evaluator *e, const struct nn_batch *batch, struct nn_error *err)
{
	if (forward(e, batch, err) < 0 ||
	    (e->weights && nn_batch_weights(batch, 0, batch->n, e->weights, err) < 0))
		return -1;
	for (size_t i = 0; i < (size_t)e->n_outputs; i++) {
		if (nn_batch_target(batch, i, 0, batch->n, e->targets[i], err) < 0)
			return -1;
		nn_metrics_add(e->metrics[i], nn_session_raw(e->session, i, 0), e->targets[i],
			       e->weights, e->probabilities[i], batch->n);
	}
	return 0;
}

static int run_all(struct nn_evaluator *e, struct nn_error *err)
{
	struct nn_batch batch;

	for (uint64_t i = 0; i < nn_loader_batches(&e->loader); i++)
		if (nn_loader_draw(&e->loader, i, &batch, err) < 0 || run_rows(e, &batch, err) < 0)
			return -1;
	for (int i = 0; i < e->n_outputs; i++)
		nn_metrics_close(e->metrics[i]);
	return 0;
}

/* ---- ranks ---- */

/* Every rank's blocks to all, and what was counted, summed. */
static int join(struct nn_evaluator *e, int output, struct nn_error *err)
{
	struct nn_comm *c = e->options.comm;
	struct nn_metrics *m = e->metrics[output];
	size_t bytes = nn_metrics_bytes(m), n = 0, n_counts;
	struct nn_cut_run mine = share_of(e, c->rank);
	struct nn_message sends[c->size], receives[c->size];
	const struct nn_reduce sum = { NN_F64, NN_REDUCE_SUM, (size_t)c->size };
	double *counts;

	for (int r = 0; r < c->size; r++) {
		struct nn_cut_run theirs = share_of(e, r);

		if (r == c->rank)
			continue;
		sends[n] = (struct nn_message){ r, e->blocks[output] + mine.from * bytes,
						(mine.to - mine.from) * bytes };
		receives[n++] = (struct nn_message){ r, e->blocks[output] + theirs.from * bytes,
						     (theirs.to - theirs.from) * bytes };
	}
	if (nn_comm_exchange(c, sends, n, receives, n, err) < 0)
		return -1;
	nn_metrics_keep(m, NULL);
	for (size_t i = 0; i < n_blocks(e); i++)
		nn_metrics_add_block(m, e->blocks[output] + i * bytes);
	counts = nn_metrics_counts(m, &n_counts);
	return n_counts ? nn_comm_allreduce(c, &sum, NN_ALGORITHM_AUTO, counts, counts, n_counts,
					    NULL, err)
			: 0;
}

static int run_share(struct nn_evaluator *e, struct nn_error *err)
{
	struct nn_cut_run mine = share_of(e, e->options.comm->rank);

	for (int i = 0; i < e->n_outputs; i++)
		nn_metrics_keep(e->metrics[i],
				e->blocks[i] + mine.from * nn_metrics_bytes(e->metrics[i]));
	if (run_all(e, err) < 0)
		return -1;
	for (int i = 0; i < e->n_outputs; i++)
		if (join(e, i, err) < 0)
			return -1;
	return 0;
}

int nn_evaluator_run(struct nn_evaluator *e, const void *const *params, struct nn_error *err)
{
	if (nn_session_load(e->session, params, err) < 0)
		return -1;
	e->ran = true;
	for (int i = 0; i < e->n_outputs; i++)
		nn_metrics_reset(e->metrics[i]);
	if (e->options.comm)
		return run_share(e, err);
	return run_all(e, err);
}

int nn_evaluator_set_threshold(struct nn_evaluator *e, double threshold, struct nn_error *err)
{
	return nn_metrics_set_threshold(e->metrics[0], threshold, err);
}

const struct nn_metrics *nn_evaluator_metrics(const struct nn_evaluator *e, int output)
{
	return e->metrics[output];
}

bool nn_evaluator_ran(const struct nn_evaluator *e)
{
	return e->ran;
}

int nn_evaluator_find_classes(struct nn_evaluator *e, int output, const uint64_t *rows, size_t n,
			      int32_t *classes, struct nn_error *err)
{
	const struct nn_source source = nn_dataset_source(e->options.dataset);
	const struct nn_batch batch = nn_batch_of(&source, rows, n);

	if (forward(e, &batch, err) < 0)
		return -1;
	nn_metrics_find_classes(e->metrics[output], nn_session_raw(e->session, (size_t)output, 0),
				n, classes);
	return 0;
}

bool nn_evaluator_get(const struct nn_evaluator *e, const char *name, double *value)
{
	double loss = 0;

	if (e->n_outputs == 1)
		return nn_metrics_get(e->metrics[0], name, value);
	if (strcmp(name, "loss") == 0) {
		for (int i = 0; i < e->n_outputs; i++) {
			nn_metrics_get(e->metrics[i], "loss", value);
			loss += e->options.weights[i] * *value;
		}
		*value = loss;
		return true;
	}
	for (int i = 0; i < e->n_outputs; i++) {
		const char *output = e->options.program->outputs[i].name;
		size_t n = output ? strlen(output) : 0;

		if (n && strncmp(name, output, n) == 0 && name[n] == '.')
			return nn_metrics_get(e->metrics[i], name + n + 1, value);
	}
	return nn_metrics_get(e->metrics[0], name, value);
}
