/*
 * Memory, planned once: what lives from when to when, what may lie in another's place, and offsets
 * for all in one block.
 *
 * Times: forward of node i of n is i, the caller between forward and backward n, backward of node i
 * 2n - i, the caller after it 2n + 1.
 */
#include "base/memory.h"
#include "graph/bound.h"

struct planner {
	struct nn_bound *b;
	const struct nn_graph_options *options;
	struct nn_arena_item *items; /* values, gradients, saved */
	struct nn_arena_item *value, *gradient, *saved;
	bool *is_input; /* by root */
	int n;          /* nodes */
};

static int backward_time(const struct planner *p, int node)
{
	return 2 * p->n - node;
}

static void need(struct nn_arena_item *item, int time)
{
	if (item->last < item->first)
		item->first = item->last = time;
	if (time < item->first)
		item->first = time;
	if (time > item->last)
		item->last = time;
}

static bool has_residual(const struct nn_bound_node *node)
{
	const struct nn_epilogue *epilogue = nn_bound_epilogue(node);

	return epilogue && epilogue->residual;
}

/* What comes is there before forward and goes back after backward; what goes does so between them,
 * and its gradient comes then. */
static void find_edge_times(struct planner *p)
{
	const struct nn_bound *b = p->b;

	for (int i = 0; i < b->n_edges[NN_COMING]; i++) {
		int root = b->edges[NN_COMING][i];

		need(&p->value[root], 0);
		if (b->values[root].learns)
			need(&p->gradient[root], 2 * p->n + 1);
	}
	for (int i = 0; i < b->n_edges[NN_GOING]; i++) {
		int root = b->edges[NN_GOING][i];

		need(&p->value[root], p->n);
		if (b->values[root].learns)
			need(&p->gradient[root], p->n);
	}
}

/* Values from the node that makes them to the last that reads them; gradients the other way. */
static void find_times(struct planner *p)
{
	const struct nn_bound *b = p->b;

	for (int i = 0; i < p->n; i++) {
		const struct nn_bound_node *node = &b->nodes[i];
		unsigned needs = nn_bound_needs(node);
		int out = nn_bound_root(b, node->out), back = backward_time(p, i);

		need(&p->value[out], i);
		if (node->backward) {
			if (needs & NN_OP_NEEDS_Y)
				need(&p->value[out], back);
			need(&p->gradient[out], back);
			need(&p->saved[i], back);
		}
		need(&p->saved[i], i);
		for (int k = 0; k < node->n_in; k++) {
			int in = nn_bound_root(b, node->in[k]);
			bool residual = has_residual(node) && k == node->n_in - 1;

			need(&p->value[in], i);
			if (node->backward && (needs & NN_OP_NEEDS_X) && !residual)
				need(&p->value[in], back);
			if (node->backward && b->values[in].learns)
				need(&p->gradient[in], back);
		}
	}
	for (int i = 0; i < b->n_outputs; i++) {
		int root = nn_bound_root(b, b->outputs[i]);

		need(&p->value[root], 2 * p->n + 1);
		if (b->training)
			need(&p->gradient[root], p->n);
	}
	find_edge_times(p);
}

/* Is input k the node's only input of that root, and as large as its output? */
static bool can_share(const struct nn_bound *b, const struct nn_bound_node *node, int k)
{
	int root = nn_bound_root(b, node->in[k]);

	for (int i = 0; i < node->n_in; i++)
		if (i != k && nn_bound_root(b, node->in[i]) == root)
			return false;
	return nn_bound_count(b, node->in[k]) == nn_bound_count(b, node->out);
}

/* The input in whose memory the output may be written (nn_call), or -1. In training batchnorm reads
 * its input again. */
static int in_place(const struct nn_bound_node *node)
{
	switch (node->op) {
	case NN_OP_activation:
	case NN_OP_dropout:
	case NN_OP_add:
	case NN_OP_mul:
	case NN_OP_batchnorm:
		return 0;
	case NN_OP_dense:
	case NN_OP_conv2d:
		return has_residual(node) ? node->n_in - 1 : -1;
	default:
		return -1;
	}
}

static void share_values(struct planner *p)
{
	for (int i = 0; i < p->n; i++) {
		const struct nn_bound_node *node = &p->b->nodes[i];
		int k = in_place(node), in;

		if (k < 0)
			continue;
		in = nn_bound_root(p->b, node->in[k]);
		if (!p->is_input[in] && p->value[in].last == i && can_share(p->b, node, k))
			p->value[nn_bound_root(p->b, node->out)].same = in;
	}
}

/* May the gradient of input k take the place of the output's (nn_call)? */
static bool takes_dy(const struct nn_bound_node *node, int k)
{
	switch (node->op) {
	case NN_OP_activation:
	case NN_OP_dropout:
	case NN_OP_add:
	case NN_OP_batchnorm:
		return true;
	case NN_OP_dense:
	case NN_OP_conv2d:
		return has_residual(node) && k == node->n_in - 1;
	default:
		return false;
	}
}

/* Where this node is the first to write an input's gradient (the caller is, for outputs); a
 * residual rather than x. */
static void share_gradients(struct planner *p)
{
	for (int i = 0; i < p->n; i++) {
		const struct nn_bound_node *node = &p->b->nodes[i];
		int out = nn_bound_root(p->b, node->out);

		for (int k = node->n_in; node->backward && k-- > 0;) {
			int in = nn_bound_root(p->b, node->in[k]);

			if (takes_dy(node, k) && p->b->values[in].learns &&
			    p->gradient[in].first == backward_time(p, i) &&
			    can_share(p->b, node, k)) {
				p->gradient[in].same = p->b->n_values + out;
				break;
			}
		}
	}
}

/* Bytes of max_rows rows of every value and gradient that has a time, and of what kernels save. */
static int measure(struct planner *p, struct nn_error *err)
{
	const struct nn_bound *b = p->b;
	size_t size = nn_dtype_size(b->device->dtype), bytes;
	char text[NN_SHAPE_TEXT];

	for (int i = 0; i < b->n_values; i++) {
		if (!nn_mul(nn_bound_count(b, i), size, &bytes) ||
		    !nn_mul(bytes, p->options->max_rows, &bytes))
			return nn_fail(err, NN_ENOMEM,
				       "a batch of %zu rows of %s is larger than memory can be",
				       p->options->max_rows,
				       nn_shape_text(text, &b->values[i].shape));
		if (p->value[i].last >= p->value[i].first)
			p->value[i].bytes = bytes;
		if (p->gradient[i].last >= p->gradient[i].first)
			p->gradient[i].bytes = bytes;
	}
	for (int i = 0; i < p->n; i++) {
		const struct nn_kernel *kernel = b->device->kernels[b->nodes[i].op];
		struct nn_site site = nn_bound_site(b, &b->nodes[i]);

		if (b->nodes[i].split)
			p->saved[i].bytes = nn_split_saved(b, &b->nodes[i], p->options->max_rows);
		else if (kernel->saved)
			p->saved[i].bytes = kernel->saved(&site, p->options->max_rows);
	}
	return 0;
}

int nn_plan_append(size_t *end, size_t bytes, size_t *offset, struct nn_error *err)
{
	size_t begin = *end;

	if (!nn_add(begin, bytes, end) || !nn_add(*end, NN_ALIGN - 1, end))
		return nn_fail(err, NN_ENOMEM, "the batch is larger than memory can be");
	*end -= *end % NN_ALIGN;
	if (offset)
		*offset = begin;
	return 0;
}

/* Scratch of the product over dy; of a convolution the gradient of the input alone needs none. */
static size_t back_work(const struct planner *p, const struct nn_bound_node *node)
{
	const struct nn_kernel *kernel = p->b->device->kernels[node->op];
	struct nn_site site = nn_split_back_site(node);

	if (!node->want_dx || !kernel->work || node->op == NN_OP_conv2d)
		return 0;
	return kernel->work(&site, p->options->max_rows, p->options->max_leaves,
			    nn_pool_threads(p->options->pool));
}

/* Scratch for the hungriest kernel, and what kernels derive from weights. */
static int plan_kernels(struct planner *p, struct nn_plan *plan, struct nn_error *err)
{
	const struct nn_graph_options *options = p->options;
	size_t work = 0, room = 0, parcels = 0, begin = plan->bytes;

	for (int i = 0; i < p->n; i++) {
		const struct nn_kernel *kernel = p->b->device->kernels[p->b->nodes[i].op];
		struct nn_site site = nn_bound_site(p->b, &p->b->nodes[i]);
		size_t bytes = !kernel->work
				       ? 0
				       : kernel->work(&site, options->max_rows, options->max_leaves,
						      nn_pool_threads(options->pool));

		work = bytes > work ? bytes : work;
		if (!p->b->nodes[i].split)
			continue;
		bytes = back_work(p, &p->b->nodes[i]);
		work = bytes > work ? bytes : work;
		bytes = nn_split_room(p->b, &p->b->nodes[i], options->max_rows);
		room = bytes > room ? bytes : room;
		bytes = nn_split_parcels(p->b, &p->b->nodes[i]);
		parcels = bytes > parcels ? bytes : parcels;
	}
	if (nn_plan_append(&plan->bytes, work, &plan->work, err) ||
	    nn_plan_append(&plan->bytes, room, &plan->room, err) ||
	    nn_plan_append(&plan->bytes, parcels, &plan->parcels, err))
		return -1;
	plan->memory.workspace = plan->bytes - begin;
	begin = plan->bytes;
	for (int i = 0; i < p->n; i++) {
		const struct nn_kernel *kernel = p->b->device->kernels[p->b->nodes[i].op];
		struct nn_site site = nn_bound_site(p->b, &p->b->nodes[i]);
		size_t bytes =
			p->b->nodes[i].backward && kernel->derived ? kernel->derived(&site) : 0;

		plan->derived[i] = NN_NOWHERE;
		if (bytes && nn_plan_append(&plan->bytes, bytes, &plan->derived[i], err))
			return -1;
		if (p->b->nodes[i].split && p->b->nodes[i].want_dx &&
		    nn_plan_append(&plan->bytes, nn_split_weights(p->b, &p->b->nodes[i]),
				   &p->b->nodes[i].split->weights, err))
			return -1;
	}
	plan->memory.derived = plan->bytes - begin;
	return 0;
}

/* Inputs have memory of their own: the caller may fill them early, and run forward again. */
static int plan_inputs(struct planner *p, struct nn_plan *plan, struct nn_error *err)
{
	size_t begin = plan->bytes;

	for (int i = 0; i < p->b->program->n_inputs; i++) {
		int value = p->b->inputs[i];
		size_t copies = nn_plan_copies(p->b, p->options, value);

		for (size_t c = 0; c < copies; c++) {
			if (nn_plan_append(&plan->bytes, p->value[value].bytes,
					   c == 0 ? &plan->value[value] : NULL, err))
				return -1;
			if (c == 0 && copies > 1)
				plan->copy_step[value] = plan->bytes - plan->value[value];
		}
		p->value[value].bytes = 0;
	}
	plan->memory.input = plan->bytes - begin;
	return 0;
}

static int plan_arena(struct planner *p, struct nn_plan *plan, struct nn_error *err)
{
	struct nn_bound *b = p->b;
	size_t begin = 0, arena;

	for (int i = 0; i < b->n_values; i++)
		plan->kept[i] = p->value[i].last >= p->n;
	if (nn_arena_place(p->items, 2 * b->n_values + p->n, &arena, err) ||
	    nn_plan_append(&plan->bytes, arena, &begin, err))
		return -1;
	for (int i = 0; i < b->n_values; i++) {
		if (!p->is_input[i])
			plan->value[i] =
				p->value[i].last < 0 ? NN_NOWHERE : begin + p->value[i].offset;
		plan->gradient[i] =
			p->gradient[i].last < 0 ? NN_NOWHERE : begin + p->gradient[i].offset;
	}
	for (int i = 0; i < p->n; i++)
		plan->saved[i] = p->saved[i].bytes ? begin + p->saved[i].offset : NN_NOWHERE;
	plan->memory.activations = plan->bytes - begin;
	plan->memory.activations_per_row =
		p->options->max_rows ? (arena + p->options->max_rows - 1) / p->options->max_rows
				     : 0;
	return 0;
}

/* From here on each slot has its own: inputs, activations and gradients. */
static int plan_slots(struct planner *p, struct nn_plan *plan, struct nn_error *err)
{
	size_t slots = p->options->slots ? p->options->slots : 1;

	plan->slot = plan->bytes;
	if (plan_inputs(p, plan, err) || plan_arena(p, plan, err))
		return -1;
	plan->slot_bytes = plan->bytes - plan->slot;
	if (!nn_mul(plan->slot_bytes, slots, &plan->bytes) ||
	    !nn_add(plan->bytes, plan->slot, &plan->bytes))
		return nn_fail(err, NN_ENOMEM, "the batch is larger than memory can be");
	plan->memory.input *= slots;
	plan->memory.activations *= slots;
	return 0;
}

static int take_room(struct planner *p, struct nn_plan *plan, struct nn_error *err)
{
	size_t n_values = (size_t)p->b->n_values, n_nodes = (size_t)p->n;

	p->items = nn_alloc(2 * n_values + n_nodes, sizeof *p->items, err);
	p->is_input = nn_alloc(n_values, sizeof *p->is_input, err);
	plan->value = nn_alloc(n_values, sizeof *plan->value, err);
	plan->gradient = nn_alloc(n_values, sizeof *plan->gradient, err);
	plan->kept = nn_alloc(n_values, sizeof *plan->kept, err);
	plan->copy_step = nn_alloc(n_values, sizeof *plan->copy_step, err);
	plan->saved = nn_alloc(n_nodes, sizeof *plan->saved, err);
	plan->derived = nn_alloc(n_nodes, sizeof *plan->derived, err);
	if (!p->items || !p->is_input || !plan->value || !plan->gradient || !plan->kept ||
	    !plan->copy_step || !plan->saved || !plan->derived)
		return -1;
	p->value = p->items;
	p->gradient = p->items + n_values;
	p->saved = p->gradient + n_values;
	for (size_t i = 0; i < 2 * n_values + n_nodes; i++)
		p->items[i] = (struct nn_arena_item){ .first = 0, .last = -1, .same = -1 };
	for (int i = 0; i < p->b->program->n_inputs; i++)
		p->is_input[p->b->inputs[i]] = true;
	return 0;
}

int nn_plan_make(struct nn_plan *plan, struct nn_bound *b, const struct nn_graph_options *options,
		 struct nn_error *err)
{
	struct planner p = { .b = b, .options = options, .n = b->n_nodes };
	size_t size = nn_dtype_size(b->device->dtype);
	int result = take_room(&p, plan, err);

	if (result == 0) {
		find_times(&p);
		share_values(&p);
		share_gradients(&p);
		result = measure(&p, err) || plan_kernels(&p, plan, err) ||
					 (b->training && nn_plan_lists(plan, b, options, err)) ||
					 plan_slots(&p, plan, err)
				 ? -1
				 : 0;
	}
	if (!options->share)
		plan->memory.parameters = (b->block + b->tables + b->buffers) * size;
	plan->memory.block = b->block;
	plan->memory.trained = b->block + b->tables;
	if (b->training)
		plan->memory.gradients = b->block * size + plan->memory.rows;
	nn_free(p.items);
	nn_free(p.is_input);
	return result;
}

void nn_plan_fini(struct nn_plan *plan)
{
	nn_free(plan->value);
	nn_free(plan->gradient);
	nn_free(plan->kept);
	nn_free(plan->copy_step);
	nn_free(plan->saved);
	nn_free(plan->derived);
	nn_free(plan->lists);
}
