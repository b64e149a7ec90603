/* A network layer by layer: what is computed, and what is kept of it. */
#include "base/memory.h"
#include "train/job.h"
#include "train/plan/layers.h"

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

static uint64_t forward_flops(const struct nn_program *program, const struct nn_node *node,
			      struct nn_shape *in)
{
	const struct nn_shape *out = &program->values[node->out].shape;

	for (int k = 0; k < node->n_in; k++)
		in[k] = program->values[node->in[k]].shape;
	return nn_ops[node->op]->flops ? nn_ops[node->op]->flops(node->attrs, in, node->n_in, out)
				       : nn_shape_count(out);
}

static bool is_product(enum nn_op_id op)
{
	return op == NN_OP_dense || op == NN_OP_conv2d;
}

/*
 * Backward of a product is one towards its weights and, where something before it learns, one
 * towards its input; of any other op as much as forward.
 */
static uint64_t train_flops(const struct nn_node *node, uint64_t forward, const bool *learns)
{
	bool input_learns = false;

	for (int k = 0; k < node->n_in; k++)
		input_learns |= learns[node->in[k]];
	if (is_product(node->op))
		return times(forward, input_learns ? 3 : 2);
	return times(forward, input_learns || node->n_params ? 2 : 1);
}

/* A view has no memory of its own. */
static size_t activation_bytes(const struct nn_train *t, const struct nn_node *node)
{
	return node->op == NN_OP_reshape ? 0
					 : nn_shape_count(&t->program->values[node->out].shape) *
						   nn_dtype_size(t->device->dtype);
}

static int add_nodes(struct nn_layers *l, const struct nn_train *t, struct nn_error *err)
{
	const struct nn_program *program = t->program;
	bool *learns = nn_alloc((size_t)program->n_values, sizeof *learns, err);
	struct nn_shape *in;
	int widest = 1;

	for (int i = 0; i < program->n_nodes; i++)
		widest = program->nodes[i].n_in > widest ? program->nodes[i].n_in : widest;
	in = nn_alloc((size_t)widest, sizeof *in, err);
	for (int i = 0; learns && in && i < program->n_nodes; i++) {
		const struct nn_node *node = &program->nodes[i];
		uint64_t forward = forward_flops(program, node, in);

		if (node->line >= 0 && node->line < l->n) {
			struct nn_layer_cost *layer = &l->layer[node->line];

			layer->forward_flops = more(layer->forward_flops, forward);
			layer->train_flops =
				more(layer->train_flops, train_flops(node, forward, learns));
			layer->activation_bytes += activation_bytes(t, node);
			layer->product |= is_product(node->op);
		}
		learns[node->out] = node->n_params > 0;
		for (int k = 0; k < node->n_in; k++)
			learns[node->out] |= learns[node->in[k]];
	}
	nn_free(learns);
	nn_free(in);
	return learns && in ? 0 : -1;
}

int nn_layers_make(struct nn_layers *l, const struct nn_train *t, struct nn_error *err)
{
	*l = (struct nn_layers){ .n = nn_net_n_lines(t->net) };
	l->layer = nn_alloc((size_t)l->n, sizeof *l->layer, err);
	if (!l->layer)
		return -1;
	for (int i = 0; i < l->n; i++) {
		struct nn_net_line line = nn_net_line(t->net, i);

		l->layer[i] = (struct nn_layer_cost){
			.line = i, .name = line.name, .layer = line.layer, .output = line.shape
		};
	}
	for (int p = 0; p < t->program->n_params; p++) {
		const struct nn_program_param *param = &t->program->params[p];
		uint64_t n = nn_shape_count(&param->desc.shape);

		if (param->desc.role == NN_BUFFER)
			continue;
		l->layer[param->line].parameters += n;
		l->parameters += n;
	}
	return add_nodes(l, t, err);
}

void nn_layers_free(struct nn_layers *l)
{
	nn_free(l->layer);
}
