/* The tensors of a model as clients name them: those of its text, or the columns of its table. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "predict/encode.h"
#include "serve/models/version.h"

/* ---- is it a table? ---- */

/*
 * Columns of numbers without names, a file of nothing but numbers, say no more than an array does.
 */
static bool is_table(const struct nn_schema *schema)
{
	bool names = false;

	for (size_t i = 0; i < schema->n_inputs; i++) {
		const struct nn_input_schema *input = &schema->inputs[i];

		if (!input->columns)
			return false;
		for (size_t c = 0; c < input->n_columns; c++) {
			const struct nn_column *column = &input->columns[c];

			names |= column->name || column->category || column->hashed;
		}
	}
	return names;
}

/* ---- ports ---- */

static struct nn_port shaped(const char *name, const struct nn_value *value)
{
	const struct nn_shape *shape = &value->shape;
	size_t size = nn_shape_count(shape);

	return (struct nn_port){ .name = name,
				 .fixed = size != 1 || shape->rank > 1 || value->lengths,
				 .shape = *shape,
				 .size = size,
				 .steps = value->lengths ? shape->dim[0] : 0 };
}

static struct nn_port single(const char *name, bool text)
{
	return (struct nn_port){ .name = name, .text = text, .shape = nn_shape1(1), .size = 1 };
}

/* Model: opened here alone, and not shared yet. */
static int table_inputs(struct nn_served *served, struct nn_model *model, struct nn_error *err)
{
	struct nn_port *ports;
	size_t n = 0;

	if (nn_encoder_new(&model->encoder, model->schema, err) < 0)
		return -1;
	while (nn_model_column(model, n))
		n++;
	served->inputs = ports = nn_alloc(n, sizeof *ports, err);
	if (!ports)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *name = nn_model_column(model, i);
		char number[24];

		snprintf(number, sizeof number, "%zu", i + 1);
		ports[i] = single(nn_strdup(*name ? name : number, err),
				  nn_encoder_field_is_text(model->encoder, i));
		served->n_inputs = i + 1;
		if (!ports[i].name)
			return -1;
	}
	return 0;
}

static int net_inputs(struct nn_served *served, struct nn_error *err)
{
	const struct nn_program *program = served->model->program;
	size_t n = (size_t)program->n_inputs;
	struct nn_port *ports;

	served->inputs = ports = nn_alloc(n, sizeof *ports, err);
	if (!ports)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *name = nn_net_input(served->model->net, i)->name;

		ports[i] = shaped(nn_strdup(name ? name : "input", err),
				  &program->values[program->inputs[i]]);
		served->n_inputs = i + 1;
		if (!ports[i].name)
			return -1;
	}
	return 0;
}

/* Does output o say one class a row, of those that have labels? */
static bool has_classes(const struct nn_model *model, size_t o)
{
	const struct nn_program *program = model->program;
	const struct nn_shape *shape = &program->values[program->outputs[o].value].shape;
	const struct nn_schema *schema = model->schema;

	return schema->n_targets == (size_t)program->n_outputs && schema->targets[o].labels &&
	       nn_shape_positions(shape) == 1;
}

/* The port of the label that is best of an output of classes. */
static struct nn_port best_of(const char *name, struct nn_error *err)
{
	struct nn_text text = { 0 };
	struct nn_port port;

	if (name)
		nn_text_addf(&text, "%s.", name);
	nn_text_add(&text, "class");
	port = single(text.failed ? NULL : nn_strdup(text.data, err), true);
	port.classes = true;
	nn_text_free(&text);
	return port;
}

static int outputs(struct nn_served *served, struct nn_error *err)
{
	const struct nn_program *program = served->model->program;
	size_t n = (size_t)program->n_outputs, at = 0;
	struct nn_port *ports;

	served->outputs = ports = nn_alloc(2 * n, sizeof *ports, err);
	if (!ports)
		return -1;
	for (size_t i = 0; i < n; i++) {
		bool classes = has_classes(served->model, i), best = served->table && classes;
		const char *name = program->outputs[i].name;

		if (n == 1 && best)
			name = "probs";
		ports[at] = shaped(nn_strdup(name ? name : "output", err),
				   &program->values[program->outputs[i].value]);
		ports[at].fixed |= best;
		ports[at].classes = classes;
		served->n_outputs = ++at;
		if (best && ports[at - 1].name) {
			ports[at] = best_of(n > 1 ? name : NULL, err);
			served->n_outputs = ++at;
		}
		if (!ports[at - 1].name)
			return -1;
	}
	return 0;
}

int nn_ports_open(struct nn_served *served, struct nn_error *err)
{
	served->row_in = nn_model_inputs(served->model);
	served->row_out = nn_model_outputs(served->model);
	served->table = is_table(served->model->schema);
	served->lengths = nn_program_lengths(served->model->program) >= 0;
	served->classifies =
		served->model->program->n_outputs == 1 && has_classes(served->model, 0);
	if ((served->table ? table_inputs(served, (struct nn_model *)served->model, err)
			   : net_inputs(served, err)) < 0)
		return -1;
	return outputs(served, err);
}

static void free_ports(const struct nn_port *ports, size_t n)
{
	for (size_t i = 0; ports && i < n; i++)
		nn_free((char *)ports[i].name);
	nn_free((void *)ports);
}

void nn_ports_close(struct nn_served *served)
{
	free_ports(served->inputs, served->n_inputs);
	free_ports(served->outputs, served->n_outputs);
}
