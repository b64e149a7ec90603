/*
 * A batch: fill, forward, loss, backward span by span; partial gradients wait in a stack until
 * their neighbour is there.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/real.h"
#include "step/step-inside.h"

#define COPY_BYTES 65536 /* a piece of a block for one thread */

struct block_copy {
	char *to;
	const char *from;
	size_t bytes;
};

static void copy_piece(void *arg, size_t i, int thread)
{
	const struct block_copy *c = arg;
	size_t at = i * COPY_BYTES, left = c->bytes - at;

	(void)thread;
	memcpy(c->to + at, c->from + at, left < COPY_BYTES ? left : COPY_BYTES);
}

static void copy_block(struct nn_step *s, char *to)
{
	struct block_copy c = { to, nn_graph_gradients(s->graph), s->block_bytes };

	if (s->queue)
		nn_queue_copy(s->queue, c.to, c.from, c.bytes);
	else
		nn_pool_run(s->options.pool, (c.bytes + COPY_BYTES - 1) / COPY_BYTES, copy_piece,
			    &c);
}

/* What lies in the gradients is the sum over rows [from, to) of the batch. */
static void measure(struct nn_step *s, size_t from, size_t to)
{
	if (s->measures)
		nn_noise_part(&s->noise, (double)(to - from),
			      nn_optimizer_squares(s->optimizer, nn_graph_gradients(s->graph)));
}

/* Halves of the batch are measured, or what of it is computed here. */
static void measure_node(struct nn_step *s, struct nn_cut_node node)
{
	const struct nn_cut *cut = s->cut;

	if (node.level + 1 == cut->levels ||
	    (node.level < cut->levels && nn_cut_tops(cut->run, node)))
		measure(s, cut->leaf[node.node << node.level],
			cut->leaf[(node.node + 1) << node.level]);
}

/* Of a single leaf its first half, while the rest is not yet added. */
static void measure_leaf(struct nn_step *s, const struct nn_cut_span *span)
{
	size_t end = span->row + span->span.rows;

	if (s->cut->n_leaves == 1 && !span->last && s->noise.part_rows == 0 &&
	    2 * end >= s->cut->rows)
		measure(s, 0, end);
}

/*
 * The gradient of a finished node: added to its left neighbours where they wait, then left to wait
 * for its right one, or for other ranks.
 */
static void merge(struct nn_step *s, const struct nn_cut_span *span)
{
	void *gradients = nn_graph_gradients(s->graph);
	struct nn_cut_node node;
	bool waits = nn_cut_waits_at(s->cut->run, span, &node),
	     ends = (node.node + 1) << node.level == s->cut->run.to;

	for (unsigned level = span->level; level < node.level; level++) {
		measure_node(s, (struct nn_cut_node){ level, span->node >> (level - span->level) });
		s->options.device->add(s->queue, gradients, s->sums.waiting[level],
				       nn_graph_block(s->graph), s->options.pool);
	}
	measure_node(s, node);
	if (waits)
		copy_block(s, s->sums.waiting[node.level]);
	else if (!ends)
		copy_block(s, s->sums.kept[s->sums.n++]);
	if (!waits)
		nn_step_report_whole(s, ends ? s->sums.n : s->sums.n - 1);
}

void *nn_step_sum(struct nn_step *s, size_t k)
{
	return k < s->sums.n ? s->sums.kept[k] : nn_graph_gradients(s->graph);
}

void nn_step_set_local(struct nn_step *s, bool alone)
{
	s->alone = alone;
}

void nn_step_join(struct nn_step *s)
{
	for (size_t k = s->sums.n; k-- > 0;)
		s->options.device->add(s->queue, nn_graph_gradients(s->graph), s->sums.kept[k],
				       nn_graph_block(s->graph), s->options.pool);
	nn_graph_sum_tables(s->graph, 0, s->cut->n_leaves);
}

static int fill_inputs(struct nn_step *s, const struct nn_cut_span *at, struct nn_error *err)
{
	const struct nn_step_options *o = &s->options;
	bool fetch = true; /* once for all inputs */

	if (s->queue)
		nn_step_transfer_put(s, at);
	for (int i = 0; !s->queue && i < o->program->n_inputs; i++) {
		const struct nn_step_input *in = &s->inputs[i];
		char *values = nn_graph_input(s->graph, i, &s->inputs[i].size,
					      &s->inputs[i].channels_last);
		struct nn_place place = {
			.values = values,
			.row_bytes = in->size * nn_dtype_size(o->device->dtype),
			.channels_last = in->channels_last,
		};

		if (!nn_graph_reads(s->graph, i))
			continue;
		place.copies = nn_graph_copies(s->graph, i, &place.step);
		place.fetch = fetch;
		fetch = false;
		if (nn_batch_input(&s->batch, (size_t)i, at->row, at->span.rows, &place, o->pool,
				   err) < 0)
			return -1;
	}
	return 0;
}

size_t nn_step_spans(const struct nn_step *s)
{
	return s->cut->n_spans;
}

size_t nn_step_span_rows(const struct nn_step *s, size_t i)
{
	return s->cut->spans[i].span.rows;
}

size_t nn_step_most_spans(const struct nn_step *s)
{
	return s->cuts.most_spans;
}

size_t nn_step_most_rows(const struct nn_step *s)
{
	return s->cuts.max_rows;
}

size_t nn_step_slots(const struct nn_step *s)
{
	return nn_step_graph_options(&s->options, &s->cuts).slots;
}

struct nn_span nn_step_span(struct nn_step *s, const struct nn_cut_span *at)
{
	struct nn_span span = at->span;

	span.sample = at->row;
	span.lengths = s->queue           ? nn_step_transfer_lengths(s, at)
		       : s->batch.lengths ? s->batch.lengths + at->row
					  : NULL;
	if (s->statistics.there)
		span.statistics = (char *)s->statistics.there + at->group * s->statistics_bytes;
	return span;
}

int nn_step_ask_forward(struct nn_step *s, const struct nn_cut_span *at, bool found,
			struct nn_step_result *result, struct nn_error *err)
{
	struct nn_span span = nn_step_span(s, at);
	double start = nn_now_s(), filled;

	if (fill_inputs(s, at, err) < 0)
		return -1;
	filled = nn_now_s();
	result->input_s += filled - start;
	nn_graph_forward(s->graph, &span);
	if (s->options.count && s->n_outputs > 0)
		nn_train_output_count(&s->outputs[0], s->graph, at->row, &span,
				      nn_step_figures(s, at->node << at->level) + s->n_outputs,
				      nn_step_n_figures(s));
	for (int k = 0; k < s->n_outputs; k++)
		nn_train_output_loss(&s->outputs[k], s->graph, at->row, span.rows, s->options.pool,
				     found ? (double *)s->found.there + k : NULL);
	result->compute_s += nn_now_s() - filled;
	return nn_graph_check(s->graph, err);
}

bool nn_step_is_found_finite(struct nn_step *s)
{
	bool finite = true;

	nn_mirror_fetch(&s->found, s->queue, 0, (size_t)s->n_outputs * sizeof(double));
	nn_queue_wait(s->queue, NULL);
	for (int k = 0; k < s->n_outputs; k++)
		finite &= isfinite(((const double *)s->found.host)[k]) != 0;
	return finite;
}

int nn_step_forward(struct nn_step *s, size_t i, struct nn_step_result *result,
		    struct nn_error *err)
{
	double start;

	if (nn_step_ask_forward(s, &s->cut->spans[i], true, result, err) < 0)
		return -1;
	start = nn_now_s();
	result->finite = nn_step_is_found_finite(s);
	result->compute_s += nn_now_s() - start;
	return 0;
}

int nn_step_backward(struct nn_step *s, size_t i, struct nn_step_result *result,
		     struct nn_error *err)
{
	const struct nn_cut_span *at = &s->cut->spans[i];
	struct nn_span span = nn_step_span(s, at);
	double start = nn_now_s();

	if (s->final_sums.final && !s->measures && i + 1 == s->cut->n_spans) {
		nn_step_backward_telling(s, at, &span);
		result->compute_s += nn_now_s() - start;
		return nn_graph_check(s->graph, err);
	}
	nn_graph_backward(s->graph, &span, NULL, NULL);
	if (at->last)
		merge(s, at);
	else
		measure_leaf(s, at);
	result->compute_s += nn_now_s() - start;
	return nn_graph_check(s->graph, err);
}

/* What the rows of the run weigh, here and on the device. */
static int fill_weights(struct nn_step *s, size_t from, size_t to, struct nn_error *err)
{
	enum nn_dtype dtype = s->options.device->dtype;

	if (!s->source_weights)
		return 0;
	if (nn_batch_weights(&s->batch, from, to - from, s->source_weights, err) < 0)
		return -1;
	for (size_t r = from; r < to; r++)
		nn_real_put(dtype, s->row_weights.host, r, s->source_weights[r - from]);
	nn_mirror_send(&s->row_weights, s->queue, from * nn_dtype_size(dtype),
		       (to - from) * nn_dtype_size(dtype));
	return 0;
}

int nn_step_begin(struct nn_step *s, const struct nn_batch *batch, struct nn_step_tables *tables,
		  struct nn_error *err)
{
	size_t outputs = (size_t)s->n_outputs, n = batch->n, width = nn_step_n_figures(s);

	s->cut = n == s->options.batch ? s->cuts.full : s->cuts.rest;
	if (s->measures && s->cuts.halves && s->cuts.halves->rows == n)
		s->cut = s->cuts.halves;
	s->batch = *batch;
	if (s->queue && nn_step_transfer_begin(s, batch, err) < 0)
		return -1;
	nn_mirror_use(&s->figures, s->transfer.now);
	s->noise = (struct nn_noise_sums){ .rows = (double)n };
	s->sums.n = 0;
	for (size_t i = 0; i < s->cut->n_leaves;
	     i++) /* those of other ranks may be there already */
		if (!s->place.figures || (i >= s->cut->run.from && i < s->cut->run.to))
			memset((double *)s->figures.host + i * width, 0, width * sizeof(double));
	*tables = (struct nn_step_tables){
		.cut = s->cut,
		.weights = s->weights,
		.n_weights = outputs,
		.figures = s->figures.host,
		.n_figures = width,
		.statistics = s->statistics.host,
		.statistics_bytes = s->statistics_bytes,
	};
	if (fill_weights(s, s->cut->leaf[s->cut->run.from], s->cut->leaf[s->cut->run.to], err) < 0)
		return -1;
	for (size_t i = 0; i < outputs; i++) {
		struct nn_train_output *out = &s->outputs[i];

		if (!s->queue &&
		    nn_train_output_fill(out, batch, s->cut->leaf[s->cut->run.from],
					 s->cut->leaf[s->cut->run.to], out->targets.host, err) < 0)
			return -1;
		nn_train_output_weights(out, s->cut, s->weights + i, outputs);
		tables->weighs |= nn_train_output_weighs(&s->outputs[i]) && !s->alone;
	}
	for (size_t i = 0; s->alone && i < s->cut->n_leaves; i++)
		if (i < s->cut->run.from || i >= s->cut->run.to)
			memset(s->weights + i * outputs, 0, outputs * sizeof *s->weights);
	return 0;
}
