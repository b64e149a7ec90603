/*
 * A net from its text: what may stand in it as a whole, and what it says of its inputs and outputs.
 */
#include <stdio.h>
#include <string.h>
#include "base/memory.h"
#include "model/net.h"

static bool is_last(const struct nn_net *net, const struct nn_net_entry *line)
{
	return line == &net->lines[net->n_lines - 1];
}

/* A classifier of other tools ends with it; here the loss and --emit=probs take it. */
static const char *softmax_hint(const struct nn_net *net)
{
	const struct nn_statement *last = net->lines[net->n_lines - 1].statement;
	const char *name = last->kind == NN_STATEMENT_LAYER ? last->layer->name : "";

	return strcmp(name, "sigmoid") == 0
		       ? "; a classifier needs no sigmoid after it, the loss takes it"
	       : strcmp(name, "softmax") == 0 || strcmp(name, "log-softmax") == 0
		       ? "; a classifier needs no softmax after it, the loss takes it"
		       : "";
}

/* A line may be a mistake: unused, or marked as something that it is not. */
static int check_line(const struct nn_net *net, const struct nn_net_entry *line,
		      struct nn_error *err)
{
	const struct nn_statement *statement = line->statement;
	bool output = statement->output || is_last(net, line);

	if (is_last(net, line) && statement->kind == NN_STATEMENT_INPUT)
		return nn_statement_fail(net, statement, err, "the last line must be a layer");
	if (!line->used && !output && line->name)
		return nn_statement_fail(net, statement, err, "no line uses '%s'", line->name);
	if (!line->used && !output)
		return nn_statement_fail(net, statement, err,
					 "no line uses the output of this one");
	if (statement->open && !output)
		return nn_statement_fail(net, statement, err,
					 "? is allowed in an output line only%s",
					 softmax_hint(net));
	if (!output && (statement->target || statement->weighted))
		return nn_statement_fail(net, statement, err, "%s belongs to lines marked output",
					 statement->target ? "target=" : "weight=");
	return 0;
}

/* An argument that is the same on all lines of its layer (batchnorm group=). */
static int check_common(const struct nn_net *net, const struct nn_layer *layer,
			const struct nn_layer_arg *arg, struct nn_error *err)
{
	const struct nn_statement *first = NULL;

	for (size_t i = 0; i < net->n_statements; i++) {
		const struct nn_statement *statement = &net->statements[i];
		size_t here, there;

		if (statement->layer != layer)
			continue;
		if (!first)
			first = statement;
		here = *(size_t *)((char *)statement->values + arg->offset);
		there = *(size_t *)((char *)first->values + arg->offset);
		if (here != there)
			return nn_statement_fail(
				net, statement, err,
				"%s=%zu, but %s=%zu on line %d: it must be the same everywhere",
				arg->name, here, arg->name, there, first->source);
	}
	return 0;
}

static int check(const struct nn_net *net, struct nn_error *err)
{
	if (net->n_layers == 0)
		return nn_text_fail(net->place, 0, net->code, err, "the model text has no layer");
	for (int i = 0; i < net->n_lines; i++)
		if (check_line(net, &net->lines[i], err))
			return -1;
	if (nn_net_check_lengths(net, err) || nn_net_check_categories(net, err))
		return -1;
	for (size_t i = 0; nn_layer_at(i); i++)
		for (const struct nn_layer_arg *arg = nn_layer_at(i)->args; arg && arg->name; arg++)
			if (arg->common && check_common(net, nn_layer_at(i), arg, err))
				return -1;
	return 0;
}

/* The size that the text says for a line's output: that of the product it comes from. */
static size_t said_size(const struct nn_net *net, const struct nn_net_entry *line)
{
	while (line->statement->layer && !line->statement->layer->shapes)
		line = &net->lines[line->from[0]];
	if (line->statement->layer)
		for (const struct nn_layer_arg *arg = line->statement->layer->args;
		     arg && arg->name; arg++)
			if (arg->open)
				return *(size_t *)((char *)line->statement->values + arg->offset);
	return 0;
}

static int describe_inputs(struct nn_net *net, struct nn_error *err)
{
	net->inputs = nn_alloc((size_t)net->n_lines, sizeof *net->inputs, err);
	net->input_lines = nn_alloc((size_t)net->n_lines, sizeof *net->input_lines, err);
	if (!net->inputs || !net->input_lines)
		return -1;
	for (int i = 0; i < net->n_lines; i++) {
		const struct nn_statement *statement = net->lines[i].statement;

		if (statement->kind != NN_STATEMENT_INPUT)
			continue;
		net->inputs[net->n_inputs] = (struct nn_net_input){
			.name = net->lines[i].name,
			.shaped = statement->shaped,
			.shape = statement->shape,
			.lengths = statement->lengths,
			.columns = (const char *const *)statement->columns,
			.n_columns = statement->n_columns,
			.vector = statement->source == 0 &&
				  net->lines[1].statement->layer == &nn_layer_dense,
			.categories = nn_net_has_categories(net, i),
			.hash = statement->hash,
			.index = statement->index,
			.crosses = (const char *const *)statement->crosses,
			.n_crosses = statement->n_crosses,
			.least = nn_net_least_rows(net, i),
			.rows = statement->hash,
		};
		net->input_lines[net->n_inputs++] = i;
	}
	if (net->n_inputs == 1) {
		net->inputs[0].name = NULL;
		return 0;
	}
	for (size_t i = 0; i < net->n_inputs; i++)
		if (!net->inputs[i].name)
			return nn_statement_fail(net, net->lines[net->input_lines[i]].statement,
						 err, "several inputs need names (NAME: input)");
	return 0;
}

static int describe_outputs(struct nn_net *net, struct nn_error *err)
{
	size_t n = 0;

	for (int i = 0; i < net->n_lines; i++)
		n += net->lines[i].statement->output || is_last(net, &net->lines[i]);
	net->outputs = nn_alloc(n, sizeof *net->outputs, err);
	net->output_lines = nn_alloc(n, sizeof *net->output_lines, err);
	if (!net->outputs || !net->output_lines)
		return -1;
	for (int i = 0; i < net->n_lines; i++) {
		struct nn_net_entry *line = &net->lines[i];
		size_t o = net->n_outputs;

		if (!line->statement->output && !is_last(net, line))
			continue;
		net->outputs[o] = (struct nn_net_output){
			.name = n == 1 ? NULL : nn_net_entry_name(line),
			.target = line->statement->target,
			.weight = line->statement->weight,
			.open = line->statement->open,
			.size = said_size(net, line),
		};
		net->output_lines[o] = i;
		line->output = (int)net->n_outputs++;
	}
	return 0;
}

static int index_layers(struct nn_net *net, struct nn_error *err)
{
	net->layer_lines = nn_alloc((size_t)net->n_layers, sizeof *net->layer_lines, err);
	for (int i = 0; net->layer_lines && i < net->n_lines; i++)
		if (net->lines[i].number >= 0) {
			struct nn_net_entry *line = &net->lines[i];

			net->layer_lines[line->number] = i;
			snprintf(line->number_text, sizeof line->number_text, "%d",
				 line->number % 1000000);
		}
	return net->layer_lines ? 0 : -1;
}

int nn_net_parse(struct nn_net **result, const char *place, const char *text, size_t n,
		 bool is_inline, struct nn_error *err)
{
	struct nn_net *net = nn_alloc(1, sizeof *net, err);

	*result = NULL;
	if (!net)
		return -1;
	net->code = is_inline ? NN_EUSAGE : NN_EFORMAT;
	net->place = nn_strdup(place, err);
	if (!net->place || nn_net_read(net, text, n, is_inline, err) || nn_net_expand(net, err) ||
	    check(net, err) || index_layers(net, err) || describe_inputs(net, err) ||
	    describe_outputs(net, err) || nn_net_try(net, err)) {
		nn_net_free(net);
		return -1;
	}
	*result = net;
	return 0;
}

bool nn_is_layer(const char *word, size_t n)
{
	return nn_layer_find(word, n) != NULL;
}
