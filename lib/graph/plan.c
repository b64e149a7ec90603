/*
 * Memory, planned once: what lives from when to when, what may lie in another's place, and offsets
 * for all in one block. A time is a step's place in the list.
 */
#include "base/memory.h"
#include "graph/arena.h"
#include "graph/plan.h"

struct planner {
	struct nn_bound *b;
	const struct nn_graph_options *options;
	struct nn_arena_item *items; /* by enum nn_step_block, one behind the other */
	struct nn_arena_item *block[NN_STEP_BLOCKS], *value, *gradient;
	/* by node: its last step forward, its first backward, its last when computed again */
	int *forward, *backward, *again;
	bool *is_input; /* by root */
	int n;          /* nodes */
	const struct nn_steps *steps, *after;
};

static void need(struct nn_arena_item *item, int time)
{
	if (item->last < item->first)
		item->first = item->last = time;
	if (time < item->first)
		item->first = time;
	if (time > item->last)
		item->last = time;
}

static void find_times(struct planner *p)
{
	const struct nn_steps *s = p->steps;

	for (int t = 0; t < s->n; t++) {
		const struct nn_planned_step *step = &s->step[t];

		if (step->saved)
			p->block[NN_STEP_SAVED][step->node].bytes = step->saved;
		for (int u = step->use; u < step->use + step->n_uses; u++) {
			const struct nn_step_use *use = &s->uses[u];

			need(&p->block[use->memory][use->index], t);
			if (use->memory == NN_STEP_SAVED_AGAIN)
				p->block[use->memory][use->index].bytes =
					p->block[NN_STEP_SAVED][use->index].bytes;
		}
		if (step->node >= 0 && !step->backward)
			(step->again ? p->again : p->forward)[step->node] = t;
		else if (step->node >= 0 && p->backward[step->node] < 0)
			p->backward[step->node] = t;
	}
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

/* Of values as steps at these times have them. */
static void share_values(struct planner *p, struct nn_arena_item *value, const int *times)
{
	for (int i = 0; i < p->n; i++) {
		const struct nn_bound_node *node = &p->b->nodes[i];
		int k = nn_op_in_place(node->op, node->attrs, node->n_in), in;

		if (k < 0 || times[i] < 0)
			continue;
		in = nn_bound_root(p->b, node->in[k]);
		if (!p->is_input[in] && value[in].last == times[i] && can_share(p->b, node, k))
			value[nn_bound_root(p->b, node->out)].same = (int)(&value[in] - p->items);
	}
}

/*
 * Where this node is the first to write an input's gradient (the caller is, for outputs); a
 * residual rather than x.
 */
static void share_gradients(struct planner *p)
{
	for (int i = 0; i < p->n; i++) {
		const struct nn_bound_node *node = &p->b->nodes[i];
		int out = nn_bound_root(p->b, node->out);

		for (int k = node->n_in; node->backward && k-- > 0;) {
			int in = nn_bound_root(p->b, node->in[k]);

			if (nn_op_takes_dy(node->op, node->attrs, node->n_in, k) &&
			    p->b->values[in].learns && p->gradient[in].first == p->backward[i] &&
			    can_share(p->b, node, k)) {
				p->gradient[in].same = p->b->n_values + out;
				break;
			}
		}
	}
}

/* Bytes of max_rows rows of every value and gradient that has a time. */
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
		for (int k = NN_STEP_VALUE; k <= NN_STEP_AGAIN; k++)
			if (p->block[k][i].last >= p->block[k][i].first)
				p->block[k][i].bytes = bytes;
	}
	return 0;
}

static void find_most(const struct nn_steps *steps, size_t most[NN_N_SCRATCH])
{
	for (int t = 0; t < steps->n; t++)
		for (int k = 0; k < NN_N_SCRATCH; k++)
			if (steps->step[t].scratch[k] > most[k])
				most[k] = steps->step[t].scratch[k];
}

/* Scratch for the hungriest step of each kind. */
static int plan_scratch(struct planner *p, struct nn_memory_plan *plan, struct nn_error *err)
{
	size_t most[NN_N_SCRATCH] = { 0 }, begin = plan->bytes;

	find_most(p->steps, most);
	find_most(p->after, most);
	for (int k = 0; k < NN_N_SCRATCH; k++)
		if (nn_arena_append(&plan->bytes, most[k], &plan->scratch[k], err))
			return -1;
	plan->memory.workspace = plan->bytes - begin;
	return 0;
}

static int keep(const struct nn_steps *steps, struct nn_memory_plan *plan, struct nn_error *err)
{
	for (int t = 0; t < steps->n; t++) {
		const struct nn_planned_step *step = &steps->step[t];

		if (step->kept && nn_arena_append(&plan->bytes, step->keeps, step->kept, err))
			return -1;
	}
	return 0;
}

/* Values that live from step to step: of weights, between updates; carried states. */
static int plan_kept(struct planner *p, struct nn_memory_plan *plan, struct nn_error *err)
{
	size_t begin = plan->bytes;

	if (keep(p->after, plan, err) || keep(p->steps, plan, err))
		return -1;
	plan->memory.derived = plan->bytes - begin;
	return 0;
}

/* Inputs have memory of their own: the caller may fill them early, and run forward again. */
static int plan_inputs(struct planner *p, struct nn_memory_plan *plan, struct nn_error *err)
{
	size_t begin = plan->bytes;

	for (int i = 0; i < p->b->program->n_inputs; i++) {
		int value = p->b->inputs[i];
		size_t copies = nn_memory_plan_copies(p->b, p->options, value);

		for (size_t c = 0; c < copies; c++) {
			if (nn_arena_append(&plan->bytes, p->value[value].bytes,
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

static int plan_arena(struct planner *p, struct nn_memory_plan *plan, struct nn_error *err)
{
	struct nn_bound *b = p->b;
	size_t begin = 0, arena;

	for (int i = 0; i < b->n_values; i++)
		plan->kept[i] = p->value[i].last >= p->steps->turn;
	if (nn_arena_place(p->items, 3 * b->n_values + 2 * p->n, &arena, err) ||
	    nn_arena_append(&plan->bytes, arena, &begin, err))
		return -1;
	for (int i = 0; i < b->n_values; i++) {
		if (!p->is_input[i])
			plan->value[i] =
				p->value[i].last < 0 ? NN_NOWHERE : begin + p->value[i].offset;
		plan->gradient[i] =
			p->gradient[i].last < 0 ? NN_NOWHERE : begin + p->gradient[i].offset;
		plan->again[i] = p->block[NN_STEP_AGAIN][i].last < 0
					 ? NN_NOWHERE
					 : begin + p->block[NN_STEP_AGAIN][i].offset;
	}
	for (int i = 0; i < 2 * p->n; i++) {
		const struct nn_arena_item *saved = &p->block[NN_STEP_SAVED][i];

		plan->saved[i] = saved->bytes ? begin + saved->offset : NN_NOWHERE;
	}
	plan->memory.activations = plan->bytes - begin;
	plan->memory.activations_per_row =
		p->options->max_rows ? (arena + p->options->max_rows - 1) / p->options->max_rows
				     : 0;
	return 0;
}

/* From here on each slot has its own: inputs, activations and gradients. */
static int plan_slots(struct planner *p, struct nn_memory_plan *plan, struct nn_error *err)
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

static int take_room(struct planner *p, struct nn_memory_plan *plan, struct nn_error *err)
{
	size_t n_values = (size_t)p->b->n_values, n_nodes = (size_t)p->n,
	       n_items = 3 * n_values + 2 * n_nodes;

	p->items = nn_alloc(n_items, sizeof *p->items, err);
	p->is_input = nn_alloc(n_values, sizeof *p->is_input, err);
	plan->value = nn_alloc(n_values, sizeof *plan->value, err);
	plan->gradient = nn_alloc(n_values, sizeof *plan->gradient, err);
	plan->kept = nn_alloc(n_values, sizeof *plan->kept, err);
	plan->copy_step = nn_alloc(n_values, sizeof *plan->copy_step, err);
	plan->again = nn_alloc(n_values, sizeof *plan->again, err);
	plan->saved = nn_alloc(2 * n_nodes, sizeof *plan->saved, err);
	p->forward = nn_alloc(3 * n_nodes, sizeof *p->forward, err);
	if (!p->items || !p->is_input || !plan->value || !plan->gradient || !plan->kept ||
	    !plan->copy_step || !plan->again || !plan->saved || !p->forward)
		return -1;
	for (int k = NN_STEP_VALUE; k <= NN_STEP_SAVED; k++)
		p->block[k] = p->items + (size_t)k * n_values;
	p->block[NN_STEP_SAVED_AGAIN] = p->block[NN_STEP_SAVED] + n_nodes;
	p->value = p->block[NN_STEP_VALUE];
	p->gradient = p->block[NN_STEP_GRADIENT];
	p->backward = p->forward + n_nodes;
	p->again = p->backward + n_nodes;
	for (size_t i = 0; i < 3 * n_nodes; i++)
		p->forward[i] = -1;
	for (size_t i = 0; i < n_items; i++)
		p->items[i] = (struct nn_arena_item){ .first = 0, .last = -1, .same = -1 };
	for (int i = 0; i < p->b->program->n_inputs; i++)
		p->is_input[p->b->inputs[i]] = true;
	return 0;
}

int nn_memory_plan_make(struct nn_memory_plan *plan, struct nn_bound *b,
			const struct nn_graph_options *options, const struct nn_steps *steps,
			const struct nn_steps *after, struct nn_error *err)
{
	struct planner p = {
		.b = b, .options = options, .n = b->n_nodes, .steps = steps, .after = after
	};
	size_t size = nn_dtype_size(b->device->dtype);
	int result = take_room(&p, plan, err);

	if (result == 0) {
		find_times(&p);
		share_values(&p, p.value, p.forward);
		share_values(&p, p.block[NN_STEP_AGAIN], p.again);
		share_gradients(&p);
		result = measure(&p, err) || plan_scratch(&p, plan, err) ||
					 plan_kept(&p, plan, err) ||
					 (b->training &&
					  nn_memory_plan_lists(plan, b, options, err)) ||
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
	nn_free(p.forward);
	return result;
}

void nn_memory_plan_fini(struct nn_memory_plan *plan)
{
	nn_free(plan->value);
	nn_free(plan->gradient);
	nn_free(plan->kept);
	nn_free(plan->copy_step);
	nn_free(plan->again);
	nn_free(plan->saved);
	nn_free(plan->lists);
}
