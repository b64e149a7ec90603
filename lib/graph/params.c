/* Parameters: their places in one flat block, and the way between canonical and packed order. */
#include <string.h>

#include "base/subnormal.h"
#include "base/memory.h"
#include "graph/instance.h"

/* Every parameter begins on a multiple of this number of elements: 64 bytes in f32. */
#define PARAM_ALIGN 16

static bool is_buffer(const struct nn_bound_param *param)
{
	return param->desc.role == NN_BUFFER;
}

static bool is_table(const struct nn_bound_param *param)
{
	return param->desc.role == NN_ROW_TABLE;
}

/* The parameters that the node's op asks for, and where the program has them. */
static void describe(struct nn_bound *b, int n)
{
	struct nn_bound_node *node = &b->nodes[n];
	const struct nn_node *from = &b->program->nodes[node->source];
	const struct nn_op *op = nn_ops[node->op];
	struct nn_op_param desc[NN_MAX_PARAMS];
	struct nn_site site = nn_bound_site(b, node);

	node->param = b->n_params;
	node->n_params = op->params ? op->params(site.attrs, site.in, site.n_in, desc) : 0;
	for (int k = 0; k < node->n_params; k++) {
		struct nn_bound_param *param = &b->params[b->n_params];

		*param = (struct nn_bound_param){
			.node = n, .index = k, .source = -1, .desc = desc[k]
		};
		if (k < from->n_params) {
			param->source = from->param + k;
			if (b->program->params[param->source].frozen)
				param->desc.role = NN_BUFFER;
			b->place[param->source] = b->n_params;
		}
		b->n_params++;
	}
}

/* Elements of the parameter as the device keeps it. */
static int measure(const struct nn_bound *b, struct nn_bound_param *param, struct nn_error *err)
{
	const struct nn_bound_node *node = &b->nodes[param->node];
	const struct nn_kernel *kernel = b->device->kernels[node->op];
	struct nn_site site = nn_bound_site(b, node);
	size_t bytes;

	if (!nn_shape_check(&param->desc.shape, sizeof(double), &bytes))
		return nn_fail(err, NN_ENOMEM,
			       "parameters of layer %d are larger than memory can be", node->line);
	param->packed = kernel->packed ? kernel->packed(&site, param->index) : 0;
	if (param->packed == 0)
		param->packed = nn_shape_count(&param->desc.shape);
	return 0;
}

static int find_tables(struct nn_bound *b, struct nn_error *err)
{
	b->table_params = nn_alloc((size_t)b->n_params, sizeof *b->table_params, err);
	for (int i = 0; b->table_params && i < b->n_params; i++)
		if (is_table(&b->params[i]))
			b->table_params[b->n_tables++] = i;
	return b->table_params ? 0 : -1;
}

int nn_bound_place(struct nn_bound *b, struct nn_error *err)
{
	const struct nn_program *program = b->program;
	int *home = nn_alloc((size_t)program->n_nodes, sizeof *home, err);

	b->params = nn_alloc((size_t)program->n_nodes * NN_MAX_PARAMS, sizeof *b->params, err);
	b->place = nn_alloc((size_t)program->n_params, sizeof *b->place, err);
	if (!home || !b->params || !b->place) {
		nn_free(home);
		return -1;
	}
	for (int i = 0; i < program->n_nodes; i++)
		home[i] = -1;
	for (int i = 0; i < program->n_params; i++)
		b->place[i] = -1;
	for (int i = 0; i < b->n_nodes; i++)
		if (b->nodes[i].source >= 0)
			home[b->nodes[i].source] = i;
	/* In the program's order, which fusion may have changed. */
	for (int i = 0; i < program->n_nodes; i++)
		if (home[i] >= 0)
			describe(b, home[i]);
	nn_free(home);
	if (find_tables(b, err))
		return -1;
	for (int i = 0; i < b->n_params; i++) {
		struct nn_bound_param *param = &b->params[i];
		size_t *end = is_buffer(param)  ? &b->buffers
			      : is_table(param) ? &b->tables
						: &b->block;

		if (measure(b, param, err))
			return -1;
		param->offset = *end;
		if (!nn_add(*end, param->packed, end) || !nn_add(*end, PARAM_ALIGN - 1, end) ||
		    *end > SIZE_MAX / sizeof(double) / 4)
			return nn_fail(err, NN_ENOMEM,
				       "the parameters are larger than memory can be");
		*end -= *end % PARAM_ALIGN;
	}
	for (int i = 0; i < b->n_tables; i++)
		b->params[b->table_params[i]].offset += b->block;
	return 0;
}

/* ---- canonical and packed ---- */

unsigned char *nn_graph_param_at(const struct nn_graph *graph, const void *block,
				 const struct nn_bound_param *param)
{
	return (unsigned char *)(uintptr_t)block +
	       param->offset * nn_dtype_size(graph->bound.device->dtype);
}

/* Packs or copies; to and from are whole parameters in device memory. */
static void pack(const struct nn_graph *graph, const struct nn_bound_param *param,
		 const void *canonical, void *packed)
{
	const struct nn_bound_node *node = &graph->bound.nodes[param->node];
	const struct nn_kernel *kernel = graph->bound.device->kernels[node->op];
	struct nn_site site = nn_bound_site(&graph->bound, node);

	if (kernel->packed && kernel->packed(&site, param->index))
		kernel->pack(&site, param->index, canonical, packed);
	else
		nn_queue_copy(site.queue, packed, canonical,
			      param->packed * nn_dtype_size(graph->bound.device->dtype));
}

static void unpack(const struct nn_graph *graph, const struct nn_bound_param *param,
		   const void *packed, void *canonical)
{
	const struct nn_bound_node *node = &graph->bound.nodes[param->node];
	const struct nn_kernel *kernel = graph->bound.device->kernels[node->op];
	struct nn_site site = nn_bound_site(&graph->bound, node);

	if (kernel->packed && kernel->packed(&site, param->index))
		kernel->unpack(&site, param->index, packed, canonical);
	else
		nn_queue_copy(site.queue, canonical, packed,
			      param->packed * nn_dtype_size(graph->bound.device->dtype));
}

static size_t bytes_of(const struct nn_graph *graph, const struct nn_bound_param *param)
{
	return nn_shape_count(&param->desc.shape) * nn_dtype_size(graph->bound.device->dtype);
}

/* To the device's canonical values, subnormals as zeros. */
static void write_flushed(const struct nn_graph *graph, const void *values, size_t bytes)
{
	enum nn_dtype dtype = graph->bound.device->dtype;
	_Alignas(64) char part[8192];

	for (size_t at = 0, n; at < bytes; at += n) {
		n = bytes - at < sizeof part ? bytes - at : sizeof part;
		memcpy(part, (const char *)values + at, n);
		nn_flush_values(part, n / nn_dtype_size(dtype), dtype);
		nn_queue_write(graph->bound.queue, (char *)graph->host.canonical + at, part, n);
	}
}

void nn_graph_put_param(const struct nn_graph *graph, const struct nn_bound_param *param,
		  const void *canonical, void *packed)
{
	if (graph->bound.queue) {
		write_flushed(graph, canonical, bytes_of(graph, param));
		pack(graph, param, graph->host.canonical, packed);
	} else {
		pack(graph, param, canonical, packed);
		nn_flush_values(packed, param->packed, graph->bound.device->dtype);
	}
}

/* The other way. */
static void get(const struct nn_graph *graph, const struct nn_bound_param *param,
		const void *packed, void *canonical)
{
	unpack(graph, param, packed, graph->bound.queue ? graph->host.canonical : canonical);
	if (graph->bound.queue)
		nn_queue_read(graph->bound.queue, canonical, graph->host.canonical,
			      bytes_of(graph, param));
}

size_t nn_bound_canonical(const struct nn_bound *b)
{
	size_t most = 1, n;

	for (int i = 0; i < b->n_params; i++)
		if ((n = nn_shape_count(&b->params[i].desc.shape)) > most)
			most = n;
	return most * nn_dtype_size(b->device->dtype);
}

int nn_graph_take_canonical(struct nn_graph *graph, struct nn_error *err)
{
	const struct nn_bound *b = &graph->bound;

	if (!b->queue)
		return 0;
	graph->host.canonical = nn_memory_new(b->queue, nn_bound_canonical(b), err);
	return graph->host.canonical ? 0 : -1;
}

bool nn_graph_has(const struct nn_graph *graph, int param)
{
	return graph->bound.place[param] >= 0;
}

/* The bound parameter that is parameter `param` of the program, unchanged by folding. */
static const struct nn_bound_param *find(const struct nn_graph *graph, int param)
{
	int place = graph->bound.place[param];

	if (place < 0)
		NN_BUG("parameter %s is not in this graph",
		       graph->bound.program->params[param].name);
	if (graph->bound.nodes[graph->bound.params[place].node].norm >= 0)
		NN_BUG("parameter %s is folded into another",
		       graph->bound.program->params[param].name);
	return &graph->bound.params[place];
}

bool nn_graph_trains(const struct nn_graph *graph, int param)
{
	return nn_graph_has(graph, param) && !is_buffer(find(graph, param));
}

size_t nn_graph_channels(const struct nn_graph *graph, int param)
{
	return nn_graph_has(graph, param) ? graph->bound.nodes[find(graph, param)->node].units : 0;
}

size_t nn_column_shard_slice(size_t count, size_t channels, int r, int n_ranks, size_t *from)
{
	size_t each = channels ? count / channels : 0;

	*from = channels * (size_t)r / (size_t)n_ranks * each;
	return channels ? channels * ((size_t)r + 1) / (size_t)n_ranks * each - *from : count;
}

size_t nn_graph_count(const struct nn_graph *graph, int param)
{
	return nn_graph_has(graph, param) ? nn_shape_count(&find(graph, param)->desc.shape) : 0;
}

size_t nn_graph_block(const struct nn_graph *graph)
{
	return graph->bound.block;
}

size_t nn_graph_trained(const struct nn_graph *graph)
{
	return graph->bound.block + graph->bound.tables;
}

static void check_all_there(const struct nn_graph *graph)
{
	if (graph->pending.arrive)
		NN_BUG("weights are read while they are on their way");
}

void *nn_graph_weights(struct nn_graph *graph)
{
	check_all_there(graph);
	return graph->weights;
}

void *nn_graph_gradients(struct nn_graph *graph)
{
	return graph->gradients;
}

bool nn_graph_place(const struct nn_graph *graph, int param, size_t *offset, size_t *packed)
{
	const struct nn_bound_param *found = nn_graph_has(graph, param) ? find(graph, param) : NULL;

	if (!found || is_buffer(found) || is_table(found))
		return false;
	*offset = found->offset;
	*packed = found->packed;
	return true;
}

void nn_graph_unpack(const struct nn_graph *graph, int param, const void *block, void *canonical)
{
	const struct nn_bound_param *found = find(graph, param);

	get(graph, found, nn_graph_param_at(graph, block, found), canonical);
}

void nn_graph_canonical(const struct nn_graph *graph, int param, const void *block, void *to)
{
	const struct nn_bound_param *found = find(graph, param);

	unpack(graph, found, nn_graph_param_at(graph, block, found), to);
}

void nn_graph_pack(const struct nn_graph *graph, int param, const void *canonical, void *block)
{
	const struct nn_bound_param *found = find(graph, param);

	nn_graph_put_param(graph, found, canonical, nn_graph_param_at(graph, block, found));
}

void nn_graph_save(const struct nn_graph *graph, void *const *params)
{
	check_all_there(graph);
	for (int i = 0; i < graph->bound.program->n_params; i++) {
		const struct nn_bound_param *found;

		if (!nn_graph_has(graph, i))
			continue;
		found = find(graph, i);
		get(graph, found,
		    nn_graph_param_at(graph, is_buffer(found) ? graph->buffers : graph->weights, found),
		    params[i]);
	}
}
