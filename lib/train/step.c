/* The step: fill, forward, loss, backward span by span; partial gradients wait in a stack until their neighbour is there. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "train/cut.h"
#include "train/fill.h"
#include "train/optimizer-table.h"
#include "train/output.h"
#include "train/step.h"

#define MAX_LEVELS 32
#define COPY_BYTES 65536             /* a piece of a block for one thread */

struct nn_step_input {
	char *staged;                    /* on their way to a device with memory of its own; NULL: to the host's */
	size_t size;
	bool channels_last;
};

/* The ways batches of this training are cut: full ones, and the smaller one that ends an epoch; NULL where there is none. */
struct cuts {
	struct nn_cut *full, *rest;
	struct nn_cut *halves;               /* a full batch, or the only one, in two spans for measured steps; NULL: it has more anyway */
	size_t max_rows, max_leaves, most_leaves;    /* of a span; of a batch */
	size_t most_groups;                  /* of batch norm, of a batch */
	unsigned waits;                      /* bit l: a sum waits at level l */
	size_t kept;                         /* sums of whole subtrees of the run that are kept beside the last one */
};

struct nn_step {
	struct nn_step_options options;
	struct nn_step_place place;
	struct cuts cuts;
	struct nn_graph *graph;
	struct nn_optimizer *optimizer;
	struct nn_train_output *outputs;
	int n_outputs;
	struct nn_step_input *inputs;
	size_t block_bytes;
	char *waiting[MAX_LEVELS];                   /* [level]: the left half of a sum, until the right half is there */
	char **half;                                 /* a place in waiting that is the optimizer's scratch, for cuts.halves; else NULL */
	char *kept[NN_CUT_NODES];                    /* [k]: the sum over the k-th subtree of the run, but the last */
	double *weights, *figures;                   /* tables by leaf */
	double *squares;                             /* on their way along the tree */
	char *statistics;                            /* of batch norm, by group: of ranks, or where they were asked for */
	size_t statistics_bytes;
	bool alone;

	/* the batch under way */
	const struct nn_cut *cut;
	const uint64_t *rows;
	bool measures;
	struct nn_noise_sums noise;
	size_t n_sums;                               /* of subtrees that are complete */
};

/* ---- cuts and plan ---- */

static void cuts_free(struct cuts *cuts)
{
	nn_cut_free(cuts->full);
	nn_cut_free(cuts->rest);
	nn_cut_free(cuts->halves);
}

/* The node that is complete with this span; false: it waits for no neighbour, but is a sum of the run. */
static bool waits_at(const struct nn_cut *cut, const struct nn_cut_span *span, struct nn_cut_node *node)
{
	*node = (struct nn_cut_node){ span->level, span->node };
	while ((node->node & 1) && !nn_cut_tops(cut->run, *node))
		*node = (struct nn_cut_node){ node->level + 1, node->node >> 1 };
	return !nn_cut_tops(cut->run, *node);
}

static struct nn_cut *cut_new(struct cuts *cuts, const struct nn_step_options *o, size_t rows, size_t leaves,
			      struct nn_error *err)
{
	size_t group = nn_program_group(o->program), groups = group ? nn_group_count(rows, group) : 0;
	struct nn_cut *cut = nn_cut_new(rows, leaves, group, o->micro, nn_cut_share(leaves, o->rank, o->ranks ? o->ranks : 1), err);
	struct nn_cut_node node;

	if (!cut)
		return NULL;
	if (groups > cuts->most_groups)
		cuts->most_groups = groups;
	if (cut->max_rows > cuts->max_rows)
		cuts->max_rows = cut->max_rows;
	if (cut->max_leaves > cuts->max_leaves)
		cuts->max_leaves = cut->max_leaves;
	if (leaves > cuts->most_leaves)
		cuts->most_leaves = leaves;
	for (size_t i = 0; i < cut->n_spans; i++)
		if (cut->spans[i].last && waits_at(cut, &cut->spans[i], &node))
			cuts->waits |= 1u << node.level;
	return cut;
}

static size_t rest_leaves(const struct nn_step_options *o)
{
	return o->device->leaves(o->rows % o->batch, nn_program_group(o->program), o->leaves);
}

size_t nn_step_kept(const struct nn_step_options *o, int rank)
{
	struct nn_cut_node nodes[NN_CUT_NODES];
	size_t full = 0, rest = 0;

	if (o->rows >= o->batch)
		full = nn_cut_nodes(nn_cut_share(o->leaves, rank, o->ranks ? o->ranks : 1), nodes);
	if (o->rows % o->batch)
		rest = nn_cut_nodes(nn_cut_share(rest_leaves(o), rank, o->ranks ? o->ranks : 1), nodes);
	full = full > rest ? full : rest;
	return full > 0 ? full - 1 : 0;
}

/* The usual batch in two spans: more, as groups of batch norm may have it, would need more places to wait in. */
static int halve(struct cuts *cuts, const struct nn_step_options *o, struct nn_error *err)
{
	const struct nn_cut *whole = cuts->full ? cuts->full : cuts->rest;
	size_t rows = whole->rows, middle = whole->n_leaves > 1 ? whole->leaf[whole->n_leaves / 2] : rows / 2;
	struct nn_cut *cut;

	if (!o->noise || o->device->copy_in || o->ranks > 1 || o->part.stages || whole->n_spans != 1)
		return 0;
	cut = nn_cut_new(rows, whole->n_leaves, nn_program_group(o->program), middle > rows - middle ? middle : rows - middle, whole->run, err);
	if (!cut)
		return -1;
	if (cut->n_spans == 2)
		cuts->halves = cut;
	else
		nn_cut_free(cut);
	return 0;
}

static int cuts_init(struct cuts *cuts, const struct nn_step_options *o, struct nn_error *err)
{
	size_t rest = o->rows % o->batch, group = nn_program_group(o->program);

	*cuts = (struct cuts){0};
	if (o->rows >= o->batch && !(cuts->full = cut_new(cuts, o, o->batch, o->leaves, err)))
		goto fail;
	if (rest && !(cuts->rest = cut_new(cuts, o, rest, rest_leaves(o), err)))
		goto fail;
	if (halve(cuts, o, err) < 0)
		goto fail;
	cuts->kept = nn_step_kept(o, o->rank);
	if (cuts->max_rows == 0) {           /* a rank without leaves */
		cuts->max_rows = group ? group : 1;
		cuts->max_leaves = 1;
	}
	return 0;
fail:
	cuts_free(cuts);
	return -1;
}

static size_t most_spans(const struct cuts *cuts)
{
	size_t full = cuts->full ? cuts->full->n_spans : 0, rest = cuts->rest ? cuts->rest->n_spans : 0;

	return full > rest ? full : rest;
}

static struct nn_graph_options graph_options(const struct nn_step_options *o, const struct cuts *cuts)
{
	size_t spans = most_spans(cuts);

	return (struct nn_graph_options){
		.device = o->device, .pool = o->pool, .max_rows = cuts->max_rows, .max_leaves = cuts->max_leaves,
		.batch = cuts->full ? o->batch : o->rows,
		.training = true, .seed = o->seed, .first = o->part.first, .last = o->part.last,
		.slots = o->part.stages && spans ? nn_pipeline_slots(o->part.schedule, o->part.stage, o->part.stages, spans) : 1,
		.weights = o->place ? o->place->weights : NULL, .gradients = o->place ? o->place->gradients : NULL,
	};
}

size_t nn_step_least_rows(const struct nn_step_options *o)
{
	size_t group = nn_program_group(o->program);

	return group ? group : 1;
}

/*
 * What rows at once may fill by default for each thread, inputs and activations, and the leaves that a span then keeps, so that threads
 * share them. Measured for ResNet-8 with batches of 128 and 256 samples: 32 rows (21 MB) on one thread, 64 on two were fastest;
 * networks with less per row did not care.
 */
#define SPAN_BYTES ((size_t)24 << 20)
#define SPAN_MOST ((size_t)64 << 20)
#define SPAN_LEAVES 2                /* for each of several threads; one takes them one by one */

size_t nn_step_suiting(size_t micro, size_t batch, size_t leaves, int threads, size_t row_bytes)
{
	size_t n = (size_t)threads, keeps = n > 1 ? SPAN_LEAVES * n : 1, bytes = SPAN_BYTES * n < SPAN_MOST ? SPAN_BYTES * n : SPAN_MOST;
	size_t least = leaves > keeps ? batch / leaves * keeps : batch;

	while (micro / 2 >= least && row_bytes > bytes / micro)
		micro /= 2;
	return micro;
}

int nn_step_plan(const struct nn_step_options *o, struct nn_step_memory *m, struct nn_error *err)
{
	struct nn_graph_options g;
	struct cuts cuts;
	int status;

	*m = (struct nn_step_memory){0};
	if (cuts_init(&cuts, o, err) < 0)
		return -1;
	g = graph_options(o, &cuts);
	status = nn_graph_plan(o->program, &g, &m->graph, err);
	if (status == 0) {
		size_t block = m->graph.block * nn_dtype_size(o->device->dtype);
		struct nn_optimizer_shard kept = nn_optimizer_shard(m->graph.block, o->shards ? o->shard : 0, o->shards ? o->shards : 1);

		m->optimizer = nn_optimizer_bytes(&o->optimizer, m->graph.block, kept.to - kept.from, o->device->dtype) +
			nn_table_steps_bytes(o->optimizer.kind, nn_optimizer_count(&o->optimizer), m->graph.trained - m->graph.block,
					     o->device->dtype);
		m->partial = (size_t)__builtin_popcount(cuts.waits) * block + cuts.kept * block;
		m->total = m->graph.parameters + m->graph.gradients + m->graph.activations + m->graph.workspace
			+ m->graph.input + m->graph.derived + m->optimizer + m->partial;
	}
	cuts_free(&cuts);
	return status;
}

int nn_step_sizes(const struct nn_step_options *o, struct nn_step_sizes *sizes, struct nn_error *err)
{
	size_t outputs = (size_t)o->program->n_outputs, group = nn_program_group(o->program), rows = o->rows < o->batch ? o->rows : o->batch;
	struct nn_step_memory m;

	if (nn_step_plan(o, &m, err) < 0)
		return -1;
	*sizes = (struct nn_step_sizes){
		.weights = m.graph.parameters, .block = m.graph.block * nn_dtype_size(o->device->dtype), .elements = m.graph.block,
		.slots = nn_optimizer_count(&o->optimizer), .weight_table = o->leaves * outputs * sizeof(double),
		.figures = o->leaves * (outputs + NN_COUNTS) * sizeof(double),
		.statistics = group ? nn_group_count(rows, group) * m.graph.statistics : 0,
	};
	return 0;
}

/* ---- new and free ---- */

/* Does this step compute the losses? */
static bool is_last(const struct nn_step_options *o)
{
	return o->part.stages == 0 || o->part.stage == o->part.stages - 1;
}

static int outputs_new(struct nn_step *s, struct nn_error *err)
{
	const struct nn_step_options *o = &s->options;
	size_t batch = s->cuts.full ? o->batch : o->rows;

	s->n_outputs = is_last(o) ? o->program->n_outputs : 0;
	s->outputs = nn_alloc((size_t)s->n_outputs, sizeof *s->outputs, err);
	if (!s->outputs)
		return -1;
	for (int i = 0; i < s->n_outputs; i++) {
		struct nn_train_output *out = &s->outputs[i];

		out->device = o->device;
		out->dataset = o->dataset;
		out->number = (size_t)i;
		out->loss = o->losses[i];
		out->share = o->weights[i];
		out->classes = nn_dataset_target_classes(o->dataset, (size_t)i);
		out->target_size = nn_dataset_target_size(o->dataset, (size_t)i);
		nn_graph_output(s->graph, i, &out->positions, &out->columns);
		if (nn_train_output_init(out, batch, s->cuts.most_leaves, err) < 0)
			return -1;
	}
	return 0;
}

static int waiting_new(struct nn_step *s, struct nn_error *err)
{
	for (unsigned level = 0; s->cuts.waits >> level; level++)
		if ((s->cuts.waits >> level & 1)
		    && !(s->waiting[level] = s->options.device->alloc(s->block_bytes, err)))
			return -1;
	for (size_t k = 0; k < s->cuts.kept; k++)
		if (s->place.kept)
			s->kept[k] = s->place.kept + k * s->block_bytes;
		else if (!(s->kept[k] = s->options.device->alloc(s->block_bytes, err)))
			return -1;
	return 0;
}

static int tables_new(struct nn_step *s, struct nn_error *err)
{
	size_t outputs = (size_t)s->n_outputs, leaves = s->cuts.most_leaves;

	s->weights = s->place.weight_table;
	s->figures = s->place.figures;
	s->squares = nn_alloc(leaves, sizeof *s->squares, err);
	if (!s->weights)
		s->weights = nn_alloc(leaves * outputs, sizeof *s->weights, err);
	if (!s->figures)
		s->figures = nn_alloc(leaves * (outputs + NN_COUNTS), sizeof *s->figures, err);
	if (!s->weights || !s->figures || !s->squares)
		return -1;
	if (s->options.ranks <= 1 && !s->options.statistics)
		return 0;
	s->statistics_bytes = nn_graph_statistics(s->graph) * nn_dtype_size(s->options.device->dtype);
	s->statistics = s->place.statistics;
	if (s->statistics_bytes > 0 && !s->statistics && !(s->statistics = nn_alloc(s->cuts.most_groups, s->statistics_bytes, err)))
		return -1;
	return 0;
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
	if (cuts_init(&s->cuts, options, err) < 0) {
		nn_free(s);
		return -1;
	}
	g = graph_options(options, &s->cuts);
	if (nn_graph_bind(&s->graph, options->program, &g, err) < 0)
		goto fail;
	s->block_bytes = nn_graph_block(s->graph) * nn_dtype_size(options->device->dtype);
	s->inputs = nn_alloc((size_t)options->program->n_inputs, sizeof *s->inputs, err);
	if (!s->inputs)
		goto fail;
	for (int i = 0; i < options->program->n_inputs; i++) {
		nn_graph_input(s->graph, i, &s->inputs[i].size, &s->inputs[i].channels_last);
		if (options->device->copy_in && !(s->inputs[i].staged = nn_alloc(s->cuts.max_rows * s->inputs[i].size,
										 nn_dtype_size(options->device->dtype), err)))
			goto fail;
	}
	if (outputs_new(s, err) < 0 || tables_new(s, err) < 0 || waiting_new(s, err) < 0
	    || nn_optimizer_new(&s->optimizer, &options->optimizer, options->device, s->graph, options->program,
				options->pool, &s->place.optimizer, err) < 0)
		goto fail;
	top = s->cuts.halves ? s->cuts.halves->levels : 0;
	s->half = top > 0 && !s->waiting[top - 1] ? &s->waiting[top - 1] : NULL;
	if (s->half)
		*s->half = nn_optimizer_scratch(s->optimizer);
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
	if (s->half)
		*s->half = NULL;
	for (size_t level = 0; level < sizeof s->waiting / sizeof *s->waiting; level++)
		if (s->waiting[level])
			s->options.device->free(s->waiting[level]);
	for (size_t k = 0; k < s->cuts.kept; k++)
		if (s->kept[k] && !s->place.kept)
			s->options.device->free(s->kept[k]);
	if (!s->place.weight_table)
		nn_free(s->weights);
	if (!s->place.figures)
		nn_free(s->figures);
	if (!s->place.statistics)
		nn_free(s->statistics);
	nn_free(s->squares);
	nn_optimizer_free(s->optimizer);
	nn_graph_free(s->graph);
	for (int i = 0; s->inputs && i < s->options.program->n_inputs; i++)
		nn_free(s->inputs[i].staged);
	nn_free(s->inputs);
	cuts_free(&s->cuts);
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

/* ---- a batch ---- */

struct copy {
	char *to;
	const char *from;
	size_t bytes;
};

static void copy_piece(void *arg, size_t i, int thread)
{
	const struct copy *c = arg;
	size_t at = i * COPY_BYTES, left = c->bytes - at;

	(void)thread;
	memcpy(c->to + at, c->from + at, left < COPY_BYTES ? left : COPY_BYTES);
}

static void copy_block(struct nn_step *s, char *to)
{
	struct copy c = { to, nn_graph_gradients(s->graph), s->block_bytes };

	nn_pool_run(s->options.pool, (c.bytes + COPY_BYTES - 1) / COPY_BYTES, copy_piece, &c);
}

/* What lies in the gradients is the sum over rows [from, to) of the batch. */
static void measure(struct nn_step *s, size_t from, size_t to)
{
	if (s->measures && !s->options.device->copy_in)
		nn_noise_part(&s->noise, (double)(to - from), nn_optimizer_squares(s->optimizer, nn_graph_gradients(s->graph)));
}

/* Halves of the batch are measured, or what of it is computed here. */
static void measure_node(struct nn_step *s, struct nn_cut_node node)
{
	const struct nn_cut *cut = s->cut;

	if (node.level + 1 == cut->levels || (node.level < cut->levels && nn_cut_tops(cut->run, node)))
		measure(s, cut->leaf[node.node << node.level], cut->leaf[(node.node + 1) << node.level]);
}

/* Of a single leaf its first half, while the rest is not yet added. */
static void measure_leaf(struct nn_step *s, const struct nn_cut_span *span)
{
	size_t end = span->row + span->span.rows;

	if (s->cut->n_leaves == 1 && !span->last && s->noise.part_rows == 0 && 2 * end >= s->cut->rows)
		measure(s, 0, end);
}

/* The gradient of a finished node: added to its left neighbours where they wait, then left to wait for its right one, or for other ranks. */
static void merge(struct nn_step *s, const struct nn_cut_span *span)
{
	void *gradients = nn_graph_gradients(s->graph);
	struct nn_cut_node node;
	bool waits = waits_at(s->cut, span, &node);

	for (unsigned level = span->level; level < node.level; level++) {
		measure_node(s, (struct nn_cut_node){ level, span->node >> (level - span->level) });
		s->options.device->add(gradients, s->waiting[level], nn_graph_block(s->graph), s->options.pool);
	}
	measure_node(s, node);
	if (waits)
		copy_block(s, s->waiting[node.level]);
	else if ((node.node + 1) << node.level < s->cut->run.to)
		copy_block(s, s->kept[s->n_sums++]);
}

void *nn_step_sum(struct nn_step *s, size_t k)
{
	return k < s->n_sums ? s->kept[k] : nn_graph_gradients(s->graph);
}

void nn_step_alone(struct nn_step *s, bool alone)
{
	s->alone = alone;
}

void nn_step_join(struct nn_step *s)
{
	for (size_t k = s->n_sums; k-- > 0;)
		s->options.device->add(nn_graph_gradients(s->graph), s->kept[k], nn_graph_block(s->graph), s->options.pool);
	nn_graph_sum_tables(s->graph, 0, s->cut->n_leaves);
}

static size_t n_figures(const struct nn_step *s)
{
	return (size_t)s->n_outputs + NN_COUNTS;
}

/* What the first output says of the rows of a span, leaf by leaf. */
static void count(struct nn_step *s, const struct nn_cut_span *at)
{
	const size_t *leaf = s->cut->leaf;
	size_t end = at->row + at->span.rows, first = at->node << at->level;

	for (size_t i = first; i < first + ((size_t)1 << at->level); i++) {
		size_t from = leaf[i] > at->row ? leaf[i] : at->row, to = leaf[i + 1] < end ? leaf[i + 1] : end;

		nn_train_output_count(&s->outputs[0], s->graph, at->row, from - at->row, to - from, s->options.target,
				      &s->figures[i * n_figures(s) + (size_t)s->n_outputs]);
	}
}

static void fill_inputs(struct nn_step *s, const struct nn_cut_span *at)
{
	const struct nn_step_options *o = &s->options;

	for (int i = 0; i < o->program->n_inputs; i++) {
		const struct nn_step_input *in = &s->inputs[i];
		size_t row_bytes = in->size * nn_dtype_size(o->device->dtype);
		char *values = nn_graph_input(s->graph, i, &s->inputs[i].size, &s->inputs[i].channels_last);

		if (!nn_graph_reads(s->graph, i))
			continue;
		nn_fill(o->dataset, (size_t)i, s->rows + at->row, at->span.rows, in->channels_last,
			in->staged ? in->staged : values, row_bytes, o->pool);
		if (in->staged)
			o->device->copy_in(values, in->staged, at->span.rows * row_bytes);
	}
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
	return most_spans(&s->cuts);
}

size_t nn_step_slots(const struct nn_step *s)
{
	return graph_options(&s->options, &s->cuts).slots;
}

static struct nn_span span_of(const struct nn_step *s, const struct nn_cut_span *at, uint64_t sample)
{
	struct nn_span span = at->span;

	span.sample = sample + at->row;
	if (s->statistics)
		span.statistics = s->statistics + at->group * s->statistics_bytes;
	return span;
}

bool nn_step_forward(struct nn_step *s, size_t i, uint64_t sample, struct nn_step_result *result)
{
	const struct nn_cut_span *at = &s->cut->spans[i];
	struct nn_span span = span_of(s, at, sample);
	double start = nn_now_s(), filled;
	bool finite = true;

	fill_inputs(s, at);
	filled = nn_now_s();
	result->input_s += filled - start;
	nn_graph_forward(s->graph, &span);
	if (s->options.count && s->n_outputs > 0)
		count(s, at);
	for (int k = 0; k < s->n_outputs; k++)
		finite &= nn_train_output_loss(&s->outputs[k], s->graph, at->row, span.rows, s->options.pool);
	result->compute_s += nn_now_s() - filled;
	return finite;
}

void nn_step_backward(struct nn_step *s, size_t i, uint64_t sample, struct nn_step_result *result)
{
	const struct nn_cut_span *at = &s->cut->spans[i];
	struct nn_span span = span_of(s, at, sample);
	double start = nn_now_s();

	nn_graph_backward(s->graph, &span, NULL, NULL);
	if (at->last)
		merge(s, at);
	else
		measure_leaf(s, at);
	result->compute_s += nn_now_s() - start;
}

void nn_step_begin(struct nn_step *s, const uint64_t *rows, size_t n, struct nn_step_tables *tables)
{
	size_t outputs = (size_t)s->n_outputs;

	s->cut = n == s->options.batch ? s->cuts.full : s->cuts.rest;
	if (s->measures && s->cuts.halves && s->cuts.halves->rows == n)
		s->cut = s->cuts.halves;
	s->rows = rows;
	s->noise = (struct nn_noise_sums){ .rows = (double)n };
	s->n_sums = 0;
	nn_graph_begin(s->graph);
	for (size_t i = 0; i < s->cut->n_leaves; i++)       /* those of other ranks may be there already */
		if (!s->place.figures || (i >= s->cut->run.from && i < s->cut->run.to))
			memset(s->figures + i * n_figures(s), 0, n_figures(s) * sizeof *s->figures);
	*tables = (struct nn_step_tables){
		.cut = s->cut, .weights = s->weights, .n_weights = outputs, .figures = s->figures, .n_figures = n_figures(s),
		.statistics = s->statistics, .statistics_bytes = s->statistics_bytes,
	};
	for (size_t i = 0; i < outputs; i++) {
		nn_train_output_fill(&s->outputs[i], s->cut, rows, s->weights + i, outputs);
		tables->weighs |= nn_train_output_weighs(&s->outputs[i]) && !s->alone;
	}
	for (size_t i = 0; s->alone && i < s->cut->n_leaves; i++)
		if (i < s->cut->run.from || i >= s->cut->run.to)
			memset(s->weights + i * outputs, 0, outputs * sizeof *s->weights);
}

void nn_step_scale(struct nn_step *s, struct nn_step_result *result)
{
	*result = (struct nn_step_result){ .loss = NAN, .norm = NAN, .bad_line = -1 };
	for (int i = 0; i < s->n_outputs; i++)
		nn_train_output_scale(&s->outputs[i], s->cut, s->weights + i, (size_t)s->n_outputs);
	if (s->n_outputs > 0)
		result->weight = s->outputs[0].weight;
}

void nn_step_measure(struct nn_step *s)
{
	nn_graph_sum_tables(s->graph, s->cut->run.from, s->cut->run.to);
	for (int i = 0; i < s->n_outputs; i++)
		nn_train_output_losses(&s->outputs[i], s->cut, s->figures + i, n_figures(s));
}

bool nn_step_run(struct nn_step *s, uint64_t sample, struct nn_step_result *result)
{
	nn_step_scale(s, result);
	for (size_t i = 0; i < s->cut->n_spans; i++) {
		if (!nn_step_forward(s, i, sample, result)) {
			result->bad_line = nn_graph_first_bad(s->graph, s->cut->spans[i].span.rows);
			return false;
		}
		nn_step_backward(s, i, sample, result);
	}
	nn_step_measure(s);
	return true;
}

/* Squares along the tree of leaves, as all sums of numbers. */
static double squares(struct nn_step *s)
{
	size_t leaves = s->cut->n_leaves;

	for (size_t i = 0; i < leaves; i++)
		s->squares[i] = s->figures[i * n_figures(s) + (size_t)s->n_outputs + NN_COUNT_SQUARES];
	for (size_t n = 1; n < leaves; n *= 2)
		for (size_t i = 0; i < leaves; i += 2 * n)
			s->squares[i] += s->squares[i + n];
	return s->squares[0];
}

bool nn_step_finish(struct nn_step *s, struct nn_step_result *result)
{
	size_t width = n_figures(s);

	result->loss = 0;
	for (int i = 0; i < s->n_outputs; i++)
		result->loss += s->outputs[i].share * nn_train_output_mean(&s->outputs[i], s->cut, s->figures + i, width);
	for (size_t i = 0; i < s->cut->n_leaves; i++) {
		const double *counts = &s->figures[i * width + (size_t)s->n_outputs];

		result->hits += (uint64_t)counts[NN_COUNT_HITS];
		result->counted += (uint64_t)counts[NN_COUNT_ALL];
	}
	result->squares = squares(s);
	if (s->statistics && !s->place.follows) {
		struct nn_cut_run run = s->alone ? s->cut->run : (struct nn_cut_run){ 0, s->cut->n_leaves };
		size_t from = s->cut->group_of_leaf[run.from];

		nn_graph_advance(s->graph, s->statistics + from * s->statistics_bytes, s->cut->group_of_leaf[run.to] - from);
	}
	return result->finite = isfinite(result->loss);
}

bool nn_step_gradient(struct nn_step *s, const uint64_t *rows, size_t n, uint64_t sample, struct nn_step_result *result)
{
	struct nn_step_tables tables;

	nn_step_begin(s, rows, n, &tables);
	return nn_step_run(s, sample, result) && nn_step_finish(s, result);
}

struct nn_noise_sums *nn_step_parts(struct nn_step *s)
{
	return &s->noise;
}

void nn_step_noise(struct nn_step *s)
{
	s->measures = true;
}

void nn_step_noise_of(struct nn_step *s, const void *gradients, struct nn_step_result *result)
{
	if (s->noise.part_rows > 0) {
		s->noise.squares = nn_optimizer_squares(s->optimizer, gradients);
		result->noise = s->noise;
	}
	s->measures = false;
}

int nn_step_update(struct nn_step *s, uint64_t number, double lr, bool want_norm, struct nn_step_result *result, struct nn_error *err)
{
	double start = nn_now_s();
	int status;

	nn_step_noise_of(s, nn_graph_gradients(s->graph), result);
	status = nn_optimizer_update(s->optimizer, number, lr, want_norm ? &result->norm : NULL, err);
	result->compute_s += nn_now_s() - start;
	return status;
}
