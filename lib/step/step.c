/* The step: its memory, made and freed. */
#include <string.h>

#include "base/memory.h"
#include "step/step-inside.h"

/* Does this step compute the losses? */
static bool is_last(const struct nn_step_options *o)
{
	return o->part.stages == 0 || o->part.stage == o->part.stages - 1;
}

static int row_weights_new(struct nn_step *s, size_t batch, struct nn_error *err)
{
	if (!nn_dataset_source(s->options.dataset).ops->fill_weights)
		return 0;
	s->source_weights = nn_alloc(batch, sizeof *s->source_weights, err);
	return s->source_weights
		       ? nn_mirror_new(&s->row_weights, s->queue,
				       batch * nn_dtype_size(s->options.device->dtype), err)
		       : -1;
}

static int outputs_new(struct nn_step *s, struct nn_error *err)
{
	const struct nn_step_options *o = &s->options;
	size_t batch = s->cuts.full ? o->batch : o->rows;

	s->n_outputs = is_last(o) ? o->program->n_outputs : 0;
	s->outputs = nn_alloc((size_t)s->n_outputs, sizeof *s->outputs, err);
	if (!s->outputs || (s->n_outputs > 0 && row_weights_new(s, batch, err) < 0))
		return -1;
	for (int i = 0; i < s->n_outputs; i++) {
		struct nn_train_output *out = &s->outputs[i];

		out->device = o->device;
		out->queue = s->queue;
		out->number = (size_t)i;
		out->loss = o->losses[i];
		out->share = o->weights[i];
		out->row_weights = s->row_weights;
		out->classes = nn_augment_classes(o->augment, o->dataset, (size_t)i);
		out->masks = nn_augment_masks(o->augment, (size_t)i) ||
			     nn_dataset_target_steps(o->dataset, (size_t)i);
		out->target_size = nn_augment_target_size(o->augment, o->dataset, (size_t)i);
		out->schema = o->count && i == 0 ? o->target : NULL;
		nn_graph_output(s->graph, i, &out->positions, &out->columns);
		if (nn_train_output_init(out, batch, s->cuts.most_leaves, err) < 0)
			return -1;
	}
	return 0;
}

static int waiting_new(struct nn_step *s, struct nn_error *err)
{
	for (unsigned level = 0; s->cuts.waits >> level; level++)
		if ((s->cuts.waits >> level & 1) &&
		    !(s->sums.waiting[level] = nn_memory_new(s->queue, s->block_bytes, err)))
			return -1;
	for (size_t k = 0; k < s->cuts.kept; k++)
		if (s->place.kept)
			s->sums.kept[k] = s->place.kept + k * s->block_bytes;
		else if (!(s->sums.kept[k] = nn_memory_new(s->queue, s->block_bytes, err)))
			return -1;
	return 0;
}

static int figures_new(struct nn_step *s, struct nn_error *err)
{
	size_t bytes = s->cuts.most_leaves * ((size_t)s->n_outputs + NN_COUNTS) * sizeof(double);

	if (s->place.figures)
		return nn_mirror_of(&s->figures, s->queue, s->place.figures, bytes, err);
	if (nn_mirror_new(&s->figures, s->queue, bytes, err) < 0)
		return -1;
	return nn_mirror_double(&s->figures, s->queue, bytes, err);
}

static int asked_new(struct nn_step *s, struct nn_error *err)
{
	for (int i = 0; i < 2; i++)
		if (!(s->asked[i].weights =
			      nn_alloc((size_t)s->n_outputs, sizeof *s->asked[i].weights, err)))
			return -1;
	return 0;
}

static int tables_new(struct nn_step *s, struct nn_error *err)
{
	size_t outputs = (size_t)s->n_outputs, leaves = s->cuts.most_leaves;

	s->weights = s->place.weight_table;
	s->squares = nn_alloc(leaves, sizeof *s->squares, err);
	if (!s->weights)
		s->weights = nn_alloc(leaves * outputs, sizeof *s->weights, err);
	if (!s->weights || !s->squares || figures_new(s, err) < 0 || asked_new(s, err) < 0 ||
	    nn_mirror_new(&s->found, s->queue, outputs * sizeof(double), err) < 0)
		return -1;
	if (s->options.ranks <= 1 && !s->options.statistics)
		return 0;
	s->statistics_bytes =
		nn_graph_statistics(s->graph) * nn_dtype_size(s->options.device->dtype);
	if (s->statistics_bytes == 0)
		return 0;
	if (s->place.statistics)
		return nn_mirror_of(&s->statistics, s->queue, s->place.statistics, 0, err);
	return nn_mirror_new(&s->statistics, s->queue, s->cuts.most_groups * s->statistics_bytes,
			     err);
}

int nn_step_new(struct nn_step **step, const struct nn_step_options *options, struct nn_error *err)
{
	struct nn_step *s = nn_alloc(1, sizeof *s, err);
	struct nn_graph_options g;
	unsigned top;

	if (!s)
		return -1;
	s->options = *options;
	if (options->place)
		s->place = *options->place;
	s->place.optimizer.shard = options->shard;
	s->place.optimizer.shards = options->shards;
	if (nn_step_cuts_init(&s->cuts, options, err) < 0) {
		nn_free(s);
		return -1;
	}
	g = nn_step_graph_options(options, &s->cuts);
	if (nn_graph_bind(&s->graph, options->program, &g, err) < 0)
		goto fail;
	s->queue = nn_graph_queue(s->graph);
	s->block_bytes = nn_graph_block(s->graph) * nn_dtype_size(options->device->dtype);
	s->inputs = nn_alloc((size_t)options->program->n_inputs, sizeof *s->inputs, err);
	if (!s->inputs)
		goto fail;
	for (int i = 0; i < options->program->n_inputs; i++)
		nn_graph_input(s->graph, i, &s->inputs[i].size, &s->inputs[i].channels_last);
	if (outputs_new(s, err) < 0 || tables_new(s, err) < 0 ||
	    nn_step_resident_init(s, err) < 0 || nn_step_transfer_init(s, err) < 0 ||
	    waiting_new(s, err) < 0 ||
	    nn_optimizer_new(&s->optimizer, &options->optimizer, options->device, s->graph,
			     options->program, options->pool, &s->place.optimizer, err) < 0)
		goto fail;
	top = s->cuts.halves ? s->cuts.halves->levels : 0;
	s->sums.half = top > 0 && !s->sums.waiting[top - 1] ? &s->sums.waiting[top - 1] : NULL;
	if (s->sums.half)
		*s->sums.half = nn_optimizer_scratch(s->optimizer);
	if (nn_step_final_init(s, err) < 0)
		goto fail;
	*step = s;
	return 0;
fail:
	nn_step_free(s);
	return -1;
}

void nn_step_free(struct nn_step *s)
{
	if (!s)
		return;
	for (int i = 0; s->outputs && i < s->n_outputs; i++)
		nn_train_output_free(&s->outputs[i]);
	nn_free(s->outputs);
	nn_mirror_free(&s->row_weights, s->queue);
	nn_free(s->source_weights);
	if (s->sums.half)
		*s->sums.half = NULL;
	for (size_t level = 0; level < sizeof s->sums.waiting / sizeof *s->sums.waiting; level++)
		if (s->sums.waiting[level])
			nn_memory_free(s->queue, s->sums.waiting[level]);
	for (size_t k = 0; k < s->cuts.kept; k++)
		if (s->sums.kept[k] && !s->place.kept)
			nn_memory_free(s->queue, s->sums.kept[k]);
	if (!s->place.weight_table)
		nn_free(s->weights);
	nn_mirror_free(&s->figures, s->queue);
	nn_mirror_free(&s->found, s->queue);
	nn_mirror_free(&s->statistics, s->queue);
	for (struct nn_recording **r = **s->recordings; r < **s->recordings + 8; r++)
		if (*r)
			s->queue->remote->forget(*r);
	for (int i = 0; i < 2; i++)
		nn_free(s->asked[i].weights);
	nn_step_transfer_fini(s);
	nn_step_resident_fini(s);
	nn_free(s->squares);
	nn_step_final_fini(s);
	nn_optimizer_free(s->optimizer);
	nn_graph_free(s->graph);
	nn_free(s->inputs);
	nn_step_cuts_free(&s->cuts);
	nn_free(s);
}

struct nn_graph *nn_step_graph(struct nn_step *s)
{
	return s->graph;
}

struct nn_optimizer *nn_step_optimizer(struct nn_step *s)
{
	return s->optimizer;
}
