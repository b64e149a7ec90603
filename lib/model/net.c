/* A net: what it says of itself, and its end. */
#include <string.h>

#include "base/memory.h"
#include "model/net.h"

void nn_net_free(struct nn_net *net)
{
	if (!net)
		return;
	for (size_t i = 0; i < net->n_statements; i++)
		nn_statement_fini(&net->statements[i]);
	for (int i = 0; i < net->n_lines; i++) {
		nn_free(net->lines[i].name);
		nn_free(net->lines[i].from);
	}
	nn_free(net->statements);
	nn_free(net->lines);
	nn_free(net->layer_lines);
	nn_free(net->inputs);
	nn_free(net->input_lines);
	nn_free(net->outputs);
	nn_free(net->output_lines);
	nn_free(net->place);
	nn_program_free(net->program);
	nn_text_free(&net->text);
	nn_free(net);
}

size_t nn_net_n_inputs(const struct nn_net *net)
{
	return net->n_inputs;
}

const struct nn_net_input *nn_net_input(const struct nn_net *net, size_t i)
{
	return &net->inputs[i];
}

size_t nn_net_n_outputs(const struct nn_net *net)
{
	return net->n_outputs;
}

const struct nn_net_output *nn_net_output(const struct nn_net *net, size_t i)
{
	return &net->outputs[i];
}

const struct nn_program *nn_net_program(const struct nn_net *net)
{
	return net->program;
}

const char *nn_net_text(const struct nn_net *net)
{
	return net->program ? net->text.data : NULL;
}

int nn_net_n_lines(const struct nn_net *net)
{
	return net->n_layers;
}

void nn_net_take_keras(struct nn_net *net)
{
	for (size_t i = 0; i < net->n_statements; i++) {
		struct nn_statement *statement = &net->statements[i];
		const struct nn_layer_arg *args = statement->layer ? statement->layer->args : NULL;
		struct nn_error ignored; /* what the table says can be read */

		for (const struct nn_layer_arg *arg = args; arg && arg->name; arg++)
			if (arg->keras && !(statement->given & 1u << (arg - args)))
				nn_arg_parse(arg, arg->keras, strlen(arg->keras), statement->values,
					     &ignored);
	}
}

int nn_net_freeze(struct nn_net *net, int line)
{
	int n = 0;

	for (int p = 0; p < net->program->n_params; p++) {
		struct nn_program_param *param = &net->program->params[p];

		if (param->line != line)
			continue;
		param->frozen = true;
		param->was = param->desc.role;
		param->desc.role = NN_BUFFER;
		n++;
	}
	return n;
}
