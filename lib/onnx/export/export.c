/*
 * A model as an ONNX file: IR 7, opset 13, rows as the open first dimension N. Scales of a table
 * are nodes at the input and the output, so that other programs give what nn-predict gives; names,
 * labels and the record of the training are metadata that an import keeps.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "file/json/json.h"
#include "onnx/export/export.h"
#include "onnx/graph.h"
#include "onnx/module.h"

#define OPSET 13
#define IR 7
#define MOST_BYTES ((size_t)INT32_MAX)

/* ---- inputs and outputs ---- */

static int check_number(const struct nn_json *column, struct nn_error *err)
{
	const char *kind = nn_json_string(nn_json_get(column, "kind"), NULL),
		   *name = nn_json_string(nn_json_get(column, "name"), NULL);
	char quoted[NN_QUOTED];

	if (kind && strcmp(kind, "number") == 0)
		return 0;
	return nn_fail(err, NN_EFAIL,
		       "column '%s' holds categories, an ONNX graph takes numbers alone; write a "
		       "model file (another suffix than .onnx)",
		       nn_quote(quoted, name ? name : "?", name ? strlen(name) : 1));
}

/* All columns are numbers; the position of a category's values is known to our readers alone. */
static int check_columns(const struct nn_json *json, size_t input, struct nn_error *err)
{
	const struct nn_json *one =
		nn_json_type(json) == NN_JSON_ARRAY ? nn_json_at(json, input) : json;
	const struct nn_json *columns = nn_json_get(one, "columns");

	for (size_t i = 0; i < nn_json_size(columns); i++)
		if (check_number(nn_json_at(columns, i), err) < 0)
			return -1;
	return 0;
}

/* (x - mean) / sd, or y * sd + mean, by two nodes; `out` comes last. */
static void add_scale(struct nn_onnx_export *e, const char *name, const char *in, const char *out,
		      const struct nn_shape *shape, const double *mean, double *sd, bool input)
{
	const char *means = nn_onnx_keep_text(e, "%s.mean", name),
		   *scales = nn_onnx_keep_text(e, "%s.scale", name),
		   *between = nn_onnx_keep_text(e, "%s.part", name);

	for (size_t i = 0; input && i < nn_shape_count(shape); i++)
		sd[i] = 1 / sd[i];
	nn_onnx_numbers(e, means, shape, mean);
	nn_onnx_numbers(e, scales, shape, sd);
	nn_onnx_node(e, input ? "Sub" : "Mul", between, between,
		     (const char *const[]){ in, input ? means : scales, NULL });
	nn_onnx_node(e, input ? "Mul" : "Add", out, out,
		     (const char *const[]){ between, input ? scales : means, NULL });
}

/* Input or output i has the name `outside` in the graph; the program's value stands behind. */
static int add_side(struct nn_onnx_export *e, const struct nn_json *json, int i, int value,
		    const char *outside, bool input, struct nn_error *err)
{
	const struct nn_shape *shape = &e->program->values[value].shape;
	bool numbers = !input || !nn_net_input(e->model->net, (size_t)i)->categories;
	size_t n = nn_shape_count(shape);
	double *mean = nn_onnx_keep(e, n, sizeof *mean), *sd = nn_onnx_keep(e, n, sizeof *sd);
	bool scaled;

	if (!mean || !sd)
		return nn_fail(err, NN_ENOMEM, "cannot allocate the scales");
	nn_onnx_put_value(e, input ? &e->inputs : &e->outputs, outside,
			  numbers ? e->model->dtype : NN_I64, shape);
	scaled = (input ? nn_onnx_input_scales : nn_onnx_output_scales)(json, i, n, mean, sd);
	if (scaled && input) {
		e->names[value] = nn_onnx_keep_text(e, "%s.scaled", outside);
		add_scale(e, outside, outside, e->names[value], shape, mean, sd, true);
	} else if (scaled) {
		add_scale(e, outside, e->names[value], outside, shape, mean, sd, false);
	} else if (input) {
		e->names[value] = outside;
	} else if (strcmp(e->names[value], outside) != 0) {
		nn_onnx_node(e, "Identity", outside, outside,
			     (const char *const[]){ e->names[value], NULL });
	}
	return 0;
}

static bool has_line(const struct nn_net *net, const char *name)
{
	for (int i = 0; i < nn_net_n_lines(net); i++)
		if (strcmp(nn_net_line(net, i).name, name) == 0)
			return true;
	return false;
}

static int add_inputs(struct nn_onnx_export *e, const struct nn_json *json, struct nn_error *err)
{
	const struct nn_net *net = e->model->net;

	for (int i = 0; i < e->program->n_inputs; i++) {
		const struct nn_net_input *input = nn_net_input(net, (size_t)i);
		const char *name = input->name;

		if (input->hash || input->n_crosses)
			return nn_fail(err, NN_EFAIL,
				       "hashed and crossed columns cannot be written as ONNX, only "
				       "numbers of categories (index=yes)");
		if (check_columns(json, (size_t)i, err) < 0)
			return -1;
		if (!name)
			name = has_line(net, "input") ? "input.0" : "input";
		if (add_side(e, json, i, e->program->inputs[i], name, true, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- the file ---- */

/* What the last node of a line gives has the line's name; what others do, one with a number. */
static const char *value_name(struct nn_onnx_export *e, int node)
{
	const struct nn_program *p = e->program;
	const char *line = nn_net_line(e->model->net, p->nodes[node].line).name;
	int k = 0;

	if (node + 1 == p->n_nodes || p->nodes[node + 1].line != p->nodes[node].line)
		return line;
	while (k < node && p->nodes[node - k - 1].line == p->nodes[node].line)
		k++;
	return nn_onnx_keep_text(e, "%s.%d", line, k);
}

static int add_nodes(struct nn_onnx_export *e, const struct nn_json *targets, struct nn_error *err)
{
	const struct nn_program *p = e->program;
	const char *only = has_line(e->model->net, "output") ? "output.0" : "output";
	bool renamed = p->n_outputs == 1 && !nn_onnx_output_scales(targets, 0, 0, NULL, NULL);

	for (int i = 0; i < p->n_nodes; i++)
		e->names[p->nodes[i].out] =
			renamed && p->nodes[i].out == p->outputs[0].value ? only : value_name(e, i);
	for (int i = 0; i < p->n_nodes; i++)
		if (nn_onnx_export_op(e, &p->nodes[i],
				      nn_net_line(e->model->net, p->nodes[i].line).name, err) < 0)
			return -1;
	for (int i = 0; i < p->n_outputs; i++)
		if (add_side(e, targets, i, p->outputs[i].value,
			     p->n_outputs > 1 ? p->outputs[i].name : only, false, err) < 0)
			return -1;
	return 0;
}

static int build(struct nn_onnx_export *e, const struct nn_json *inputs,
		 const struct nn_json *targets, struct nn_error *err)
{
	e->names = nn_onnx_keep(e, (size_t)e->program->n_values, sizeof *e->names);
	if (!e->names || add_inputs(e, inputs, err) < 0 || add_nodes(e, targets, err) < 0)
		return e->failed ? nn_fail(err, NN_ENOMEM, "cannot allocate the graph") : -1;
	return e->failed ? nn_fail(err, NN_ENOMEM, "cannot allocate the graph") : 0;
}

struct sink {
	ProtobufCBuffer buffer; /* first: what packing is given */
	struct nn_output *output;
	struct nn_error *err;
	int status;
};

static void append(ProtobufCBuffer *buffer, size_t n, const uint8_t *bytes)
{
	struct sink *sink = (struct sink *)buffer;

	if (sink->status == 0)
		sink->status = nn_output_write(sink->output, bytes, n, sink->err);
}

#define MOST_META 5

/* Keys in order; the same model gives the same bytes. */
static void add_meta(const struct nn_onnx_export *e, Onnx__Entry *entries, Onnx__Entry **list,
		     char group[24], Onnx__Model *model)
{
	const char *const meta[MOST_META][2] = {
		{ "nn.group", group },
		{ "nn.input", e->model->input_json },
		{ "nn.target", e->model->target_json },
		{ "nn.train", e->model->train_json },
		{ "nn.version", NN_MODEL_VERSION },
	};

	snprintf(group, 24, "%zu", nn_program_group(e->program));
	for (size_t i = 0; i < MOST_META; i++) {
		if (!meta[i][1] || (i == 0 && nn_program_group(e->program) == 0))
			continue;
		list[model->n_metadata_props] = &entries[model->n_metadata_props];
		onnx__entry__init(list[model->n_metadata_props]);
		entries[model->n_metadata_props].key = (char *)meta[i][0];
		entries[model->n_metadata_props++].value = (char *)meta[i][1];
	}
	model->metadata_props = list;
}

static int pack(struct nn_onnx_export *e, struct nn_output *output, struct nn_error *err)
{
	struct sink sink = { { append }, output, err, 0 };
	Onnx__Graph graph = ONNX__GRAPH__INIT;
	Onnx__Model model = ONNX__MODEL__INIT;
	Onnx__Opset opset = ONNX__OPSET__INIT, *opsets[] = { &opset };
	Onnx__Entry entries[MOST_META], *list[MOST_META];
	char group[24];

	graph.name = (char *)"nntools";
	graph.n_node = e->nodes.n;
	graph.node = (Onnx__Node **)e->nodes.items;
	graph.n_initializer = e->tensors.n;
	graph.initializer = (Onnx__Tensor **)e->tensors.items;
	graph.n_input = e->inputs.n;
	graph.input = (Onnx__Value **)e->inputs.items;
	graph.n_output = e->outputs.n;
	graph.output = (Onnx__Value **)e->outputs.items;
	opset.domain = (char *)"";
	opset.has_version = 1;
	opset.version = OPSET;
	model.has_ir_version = 1;
	model.ir_version = IR;
	model.producer_name = (char *)PACKAGE_NAME;
	model.producer_version = (char *)PACKAGE_VERSION;
	model.graph = &graph;
	model.n_opset_import = 1;
	model.opset_import = opsets;
	add_meta(e, entries, list, group, &model);
	if (onnx__model__get_packed_size(&model) > MOST_BYTES)
		return nn_fail(err, NN_EFAIL,
			       "an ONNX file has at most 2 GiB; write a model file "
			       "(another suffix than .onnx)");
	onnx__model__pack_to_buffer(&model, &sink.buffer);
	return sink.status;
}

static int parse(const char *text, struct nn_json **json, struct nn_error *err)
{
	*json = text ? nn_json_parse(text, strlen(text), err) : NULL;
	return text && !*json ? -1 : 0;
}

int nn_onnx_write(struct nn_output *output, const struct nn_onnx_model *model, struct nn_error *err)
{
	struct nn_onnx_export e = { .model = model, .program = nn_net_program(model->net) };
	struct nn_json *inputs = NULL, *targets = NULL;
	int status = -1;

	if (nn_program_lengths(e.program) >= 0)
		return nn_fail(err, NN_EFAIL,
			       "rows of different length (input ?) cannot be written as ONNX");
	if (parse(model->input_json, &inputs, err) == 0 &&
	    parse(model->target_json, &targets, err) == 0)
		status = build(&e, inputs, targets, err);
	if (status == 0 && output)
		status = pack(&e, output, err);
	nn_onnx_export_fini(&e);
	nn_json_free(inputs);
	nn_json_free(targets);
	return status;
}
