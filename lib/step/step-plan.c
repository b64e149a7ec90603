/* The step before it is made: how batches are cut, and the memory that takes. */
#include <string.h>

#include "base/memory.h"
#include "step/optimizer-table.h"
#include "step/step-inside.h"

void nn_step_cuts_free(struct nn_step_cuts *cuts)
{
	nn_cut_free(cuts->full);
	nn_cut_free(cuts->rest);
	nn_cut_free(cuts->halves);
}

/* A batch of `rows` is cut so: what that takes joins what others do. */
static void measure(struct nn_step_cuts *cuts, const struct nn_step_options *o, size_t rows,
		    size_t leaves)
{
	size_t group = nn_program_group(o->program),
	       groups = group ? nn_group_count(rows, group) : 0;
	struct nn_cut_size size =
		nn_cut_measure(rows, leaves, group, o->micro,
			       nn_cut_share(leaves, o->rank, o->ranks ? o->ranks : 1));

	if (groups > cuts->most_groups)
		cuts->most_groups = groups;
	if (size.max_rows > cuts->max_rows)
		cuts->max_rows = size.max_rows;
	if (size.max_leaves > cuts->max_leaves)
		cuts->max_leaves = size.max_leaves;
	if (size.n_spans > cuts->most_spans)
		cuts->most_spans = size.n_spans;
	if (leaves > cuts->most_leaves)
		cuts->most_leaves = leaves;
	cuts->waits |= size.waits;
}

static struct nn_cut *cut_new(const struct nn_step_options *o, size_t rows, size_t leaves,
			      struct nn_error *err)
{
	return nn_cut_new(rows, leaves, nn_program_group(o->program), o->micro,
			  nn_cut_share(leaves, o->rank, o->ranks ? o->ranks : 1), err);
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
		rest = nn_cut_nodes(nn_cut_share(rest_leaves(o), rank, o->ranks ? o->ranks : 1),
				    nodes);
	full = full > rest ? full : rest;
	return full > 0 ? full - 1 : 0;
}

size_t nn_step_others(const struct nn_step_options *o, int rank)
{
	size_t n = 0;

	for (int r = 0; r < o->ranks; r++)
		n += r == rank ? 0 : nn_step_kept(o, r) + 1;
	return n;
}

/*
 * The usual batch in two spans: more, as groups of batch norm may have it, would need more places
 * to wait in.
 */
static int halve(struct nn_step_cuts *cuts, const struct nn_step_options *o, struct nn_error *err)
{
	const struct nn_cut *whole = cuts->full ? cuts->full : cuts->rest;
	size_t rows = whole->rows,
	       middle = whole->n_leaves > 1 ? whole->leaf[whole->n_leaves / 2] : rows / 2;
	struct nn_cut *cut;

	if (!o->noise || o->ranks > 1 || o->part.stages || whole->n_spans != 1)
		return 0;
	cut = nn_cut_new(rows, whole->n_leaves, nn_program_group(o->program),
			 middle > rows - middle ? middle : rows - middle, whole->run, err);
	if (!cut)
		return -1;
	if (cut->n_spans == 2)
		cuts->halves = cut;
	else
		nn_cut_free(cut);
	return 0;
}

/* All but the cuts themselves. */
static void measure_cuts(struct nn_step_cuts *cuts, const struct nn_step_options *o)
{
	size_t rest = o->rows % o->batch, group = nn_program_group(o->program);

	*cuts = (struct nn_step_cuts){ 0 };
	if (o->rows >= o->batch)
		measure(cuts, o, o->batch, o->leaves);
	if (rest)
		measure(cuts, o, rest, rest_leaves(o));
	cuts->kept = nn_step_kept(o, o->rank);
	if (cuts->max_rows == 0) { /* a rank without leaves */
		cuts->max_rows = group ? group : 1;
		cuts->max_leaves = 1;
	}
}

int nn_step_cuts_init(struct nn_step_cuts *cuts, const struct nn_step_options *o,
		      struct nn_error *err)
{
	size_t rest = o->rows % o->batch;

	measure_cuts(cuts, o);
	if ((o->rows >= o->batch && !(cuts->full = cut_new(o, o->batch, o->leaves, err))) ||
	    (rest && !(cuts->rest = cut_new(o, rest, rest_leaves(o), err))) ||
	    halve(cuts, o, err) < 0) {
		nn_step_cuts_free(cuts);
		return -1;
	}
	return 0;
}

bool nn_step_updates_behind(const struct nn_step_options *o, size_t n_spans)
{
	return n_spans == 1 && o->ranks <= 1 && o->part.stages == 0 && !o->columns &&
	       o->shards == 0 && !(o->statistics && nn_program_group(o->program)) &&
	       nn_optimizer_is_elementwise(&o->optimizer);
}

struct nn_graph_options nn_step_graph_options(const struct nn_step_options *o,
					      const struct nn_step_cuts *cuts)
{
	size_t spans = cuts->most_spans;
	bool bytes = o->dataset !=
		     NULL; /* whose conversion is so little work that threads may do it each */

	for (int i = 0; bytes && i < o->program->n_inputs; i++)
		bytes = nn_dataset_is_bytes(o->dataset, (size_t)i);
	return (struct nn_graph_options){
		.device = o->device,
		.pool = o->pool,
		.max_rows = cuts->max_rows,
		.max_leaves = cuts->max_leaves,
		.batch = o->rows < o->batch ? o->rows : o->batch,
		.training = true,
		.states = o->goes_on ? o->batch : 0,
		.copies = bytes,
		.seed = o->seed,
		.recompute = o->recompute,
		.offload = o->offload,
		.offload_folder = o->offload_folder,
		.columns = o->columns,
		.first = o->part.first,
		.last = o->part.last,
		.slots = o->part.stages && spans
				 ? nn_pipeline_slots(o->part.schedule, o->part.stage,
						     o->part.stages, spans)
				 : 1,
		.weights = o->place ? o->place->weights : NULL,
		.gradients = o->place ? o->place->gradients : NULL,
	};
}

size_t nn_step_least_rows(const struct nn_step_options *o)
{
	size_t group = nn_program_group(o->program);

	return group ? group : 1;
}

/*
 * What rows at once may fill by default for each thread, inputs and activations, and the leaves
 * that a span then keeps, so that threads share them. Measured for ResNet-8 with batches of 128 and
 * 256 samples: 32 rows (21 MB) on one thread, 64 on two were fastest; networks with less per row
 * did not care.
 */
#define SPAN_BYTES ((size_t)24 << 20)
#define SPAN_MOST ((size_t)64 << 20)
#define SPAN_LEAVES 2 /* for each of several threads; one takes them one by one */

size_t nn_step_default_micro_batch(size_t micro, size_t batch, size_t leaves, int threads,
				   size_t row_bytes)
{
	size_t n = (size_t)threads, keeps = n > 1 ? SPAN_LEAVES * n : 1,
	       bytes = SPAN_BYTES * n < SPAN_MOST ? SPAN_BYTES * n : SPAN_MOST;
	size_t least = leaves > keeps ? batch / leaves * keeps : batch;

	while (micro / 2 >= least && row_bytes > bytes / micro)
		micro /= 2;
	return micro;
}

int nn_step_plan(const struct nn_step_options *o, struct nn_step_memory *m, struct nn_error *err)
{
	struct nn_graph_options g;
	struct nn_step_cuts cuts;
	int status;

	*m = (struct nn_step_memory){ 0 };
	measure_cuts(&cuts, o);
	g = nn_step_graph_options(o, &cuts);
	status = nn_graph_plan(o->program, &g, &m->graph, err);
	if (status == 0) {
		size_t block = m->graph.block * nn_dtype_size(o->device->dtype);
		struct nn_shard kept = nn_shard_of(m->graph.block, o->shards ? o->shard : 0,
						   o->shards ? o->shards : 1);

		m->optimizer =
			nn_optimizer_bytes(&o->optimizer, m->graph.block, kept.n,
					   o->device->dtype) +
			nn_table_steps_bytes(o->optimizer.kind, nn_optimizer_count(&o->optimizer),
					     m->graph.trained - m->graph.block, o->device->dtype);
		m->partial = (size_t)__builtin_popcount(cuts.waits) * block + cuts.kept * block;
		m->total = m->graph.parameters + m->graph.gradients + m->graph.activations +
			   m->graph.workspace + m->graph.input + m->graph.derived + m->optimizer +
			   m->partial;
		m->untouched = !o->device->remote && nn_step_updates_behind(o, cuts.most_spans)
				       ? m->graph.untouched
				       : 0;
		m->rows = g.max_rows;
		m->slots = g.slots;
	}
	return status;
}

int nn_step_relieved(const struct nn_step_options *o, struct nn_relief *lines, int n,
		     struct nn_error *err)
{
	struct nn_step_cuts cuts;
	struct nn_graph_options g;

	measure_cuts(&cuts, o);
	g = nn_step_graph_options(o, &cuts);
	return nn_graph_relieved(o->program, &g, lines, n, err);
}

int nn_step_sizes(const struct nn_step_options *o, struct nn_step_sizes *sizes,
		  struct nn_error *err)
{
	size_t outputs = (size_t)o->program->n_outputs, group = nn_program_group(o->program),
	       rows = o->rows < o->batch ? o->rows : o->batch;
	struct nn_step_memory m;

	if (nn_step_plan(o, &m, err) < 0)
		return -1;
	*sizes = (struct nn_step_sizes){
		.weights = m.graph.parameters,
		.block = m.graph.block * nn_dtype_size(o->device->dtype),
		.elements = m.graph.block,
		.slots = nn_optimizer_count(&o->optimizer),
		.weight_table = o->leaves * outputs * sizeof(double),
		.figures = o->leaves * (outputs + NN_COUNTS) * sizeof(double),
		.statistics = group ? nn_group_count(rows, group) * m.graph.statistics : 0,
	};
	return 0;
}
