/* A network layer by layer: what is computed, and what is kept of it. */
#include <math.h>

#include "base/memory.h"
#include "model/model.h"
#include "plan/layers.h"

static uint64_t more(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t times(uint64_t a, uint64_t n)
{
	uint64_t product;

	return __builtin_mul_overflow(a, n, &product) ? UINT64_MAX : product;
}

/*
 * Backward of a product is one towards its weights, where these are trained, and, where something
 * before it learns, one towards its input; of any other op as much as forward.
 */
static uint64_t train_flops(const struct nn_program *program, const struct nn_node *node,
			    const bool *learns)
{
	bool trains = nn_node_trains(program, node);
	bool input_learns = false;

	for (int k = 0; k < node->n_in; k++)
		input_learns |= learns[node->in[k]];
	if (nn_op_is_product(node->op))
		return times(node->flops, 1 + input_learns + trains);
	return times(node->flops, input_learns || trains ? 2 : 1);
}

/* A view has no memory of its own. */
static size_t activation_bytes(const struct nn_task *task, const struct nn_node *node)
{
	return nn_op_is_view(node->op, node->attrs, true)
		       ? 0
		       : nn_shape_count(&task->program->values[node->out].shape) *
				 nn_dtype_size(task->device->dtype);
}

/* [n_nodes] operations of forward and backward together. */
static uint64_t *node_flops(const struct nn_program *program, struct nn_error *err)
{
	bool *learns = nn_alloc((size_t)program->n_values, sizeof *learns, err);
	uint64_t *flops = nn_alloc((size_t)program->n_nodes, sizeof *flops, err);

	for (int i = 0; learns && flops && i < program->n_nodes; i++) {
		const struct nn_node *node = &program->nodes[i];

		flops[i] = train_flops(program, node, learns);
		learns[node->out] = nn_node_trains(program, node);
		for (int k = 0; k < node->n_in; k++)
			learns[node->out] |= learns[node->in[k]];
	}
	if (!learns) {
		nn_free(flops);
		flops = NULL;
	}
	nn_free(learns);
	return flops;
}

static int add_nodes(struct nn_layers *l, const struct nn_task *task, struct nn_error *err)
{
	const struct nn_program *program = task->program;
	uint64_t *flops = node_flops(program, err);

	for (int i = 0; flops && i < program->n_nodes; i++) {
		const struct nn_node *node = &program->nodes[i];
		struct nn_layer_cost *layer = &l->layer[node->line];

		if (node->line < 0 || node->line >= l->n)
			continue;
		layer->forward_flops = more(layer->forward_flops, node->flops);
		layer->train_flops = more(layer->train_flops, flops[i]);
		layer->activation_bytes += activation_bytes(task, node);
	}
	nn_free(flops);
	return flops ? 0 : -1;
}

int nn_layers_make(struct nn_layers *l, const struct nn_task *task, struct nn_error *err)
{
	*l = (struct nn_layers){ .n = nn_net_n_lines(task->net) };
	l->layer = nn_alloc((size_t)l->n, sizeof *l->layer, err);
	if (!l->layer)
		return -1;
	for (int i = 0; i < l->n; i++) {
		struct nn_net_line line = nn_net_line(task->net, i);

		l->layer[i] = (struct nn_layer_cost){
			.line = i, .name = line.name, .layer = line.layer, .output = line.shape
		};
	}
	for (int p = 0; p < task->program->n_params; p++) {
		const struct nn_program_param *param = &task->program->params[p];
		uint64_t n = nn_shape_count(&param->desc.shape);

		if ((param->frozen ? param->was : param->desc.role) == NN_BUFFER)
			continue;
		l->layer[param->line].parameters += n;
		l->parameters += n;
	}
	return add_nodes(l, task, err);
}

void nn_layers_free(struct nn_layers *l)
{
	nn_free(l->layer);
}

double nn_layers_flops(const struct nn_program *program, bool training)
{
	uint64_t *flops = node_flops(program, NULL);
	double sum = flops ? 0 : NAN;

	for (int i = 0; flops && i < program->n_nodes; i++)
		sum += (double)(training ? flops[i] : program->nodes[i].flops);
	nn_free(flops);
	return sum;
}
