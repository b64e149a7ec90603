/* From a file to values and nodes: what has which name, what depends on what, what matters. */
#include <string.h>

#include "base/limit.h"
#include "base/memory.h"
#include "file/json/json.h"
#include "onnx/graph.h"

#define FIRST_OPSET 7
#define LAST_OPSET 22

struct nn_onnx_constant *nn_onnx_constant_new(struct nn_onnx_graph *g, struct nn_error *err)
{
	struct nn_onnx_constant *c = nn_alloc(1, sizeof *c, err);

	if (!c)
		return NULL;
	c->next = g->constants;
	return g->constants = c;
}

const char *nn_onnx_meta(const struct nn_onnx_graph *g, const char *key)
{
	const Onnx__Model *model = g->file->model;

	for (size_t i = 0; i < model->n_metadata_props; i++) {
		const Onnx__Entry *e = model->metadata_props[i];

		if (e->key && e->value && strcmp(e->key, key) == 0)
			return e->value;
	}
	return NULL;
}

static int take_opset(struct nn_onnx_graph *g, struct nn_error *err)
{
	const Onnx__Model *model = g->file->model;

	for (size_t i = 0; i < model->n_opset_import; i++) {
		const char *domain = model->opset_import[i]->domain;

		if (!domain || !*domain || strcmp(domain, "ai.onnx") == 0)
			g->opset = model->opset_import[i]->version;
	}
	if (g->opset < FIRST_OPSET || g->opset > LAST_OPSET)
		return nn_fail(err, NN_EFORMAT, "has opset %lld, supported are %d to %d",
			       (long long)g->opset, FIRST_OPSET, LAST_OPSET);
	return 0;
}

/* The number of the value of that name; -1: none, -2: out of memory. */
static int value_named(struct nn_onnx_graph *g, const char *name, struct nn_error *err)
{
	int id;

	if (!name || !*name)
		return -1;
	id = nn_names_find(g->names, name);
	if (id >= 0)
		return id;
	if (nn_names_set(g->names, name, g->n_values, err) < 0)
		return -2;
	g->values[g->n_values] = (struct nn_onnx_value){
		.name = name, .line = -1, .node = -1, .first_use = -1, .last_use = -1
	};
	return g->n_values++;
}

static bool defined(const struct nn_onnx_value *v)
{
	return v->constant || v->known || v->node >= 0;
}

static int twice(const char *name, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	return nn_fail(err, NN_EFORMAT, "two things are named '%s'",
		       nn_quote(quoted, name, strlen(name)));
}

static int take_initializer(struct nn_onnx_graph *g, size_t i, struct nn_error *err)
{
	const Onnx__Tensor *t = g->file->model->graph->initializer[i];
	struct nn_onnx_constant *c = nn_onnx_constant_new(g, err);
	int id = value_named(g, t->name, err);
	char quoted[NN_QUOTED];

	if (!c || id == -2)
		return -1;
	if (id == -1)
		return nn_fail(err, NN_EFORMAT, "initializer %zu has no name", i + 1);
	if (defined(&g->values[id]))
		return twice(t->name, err);
	if (nn_onnx_constant_read(c, g->file, t, &g->file->skeleton.raw[i], err) < 0)
		return nn_fail_at(err, "initializer '%s'",
				  nn_quote(quoted, t->name, strlen(t->name)));
	g->values[id].constant = c;
	g->values[id].known = true;
	return 0;
}

/* Inputs that are no initializers; their shapes come with import.c. */
static int take_inputs(struct nn_onnx_graph *g, struct nn_error *err)
{
	const Onnx__Graph *graph = g->file->model->graph;

	for (size_t i = 0; i < graph->n_input; i++) {
		int id = value_named(g, graph->input[i]->name, err);

		if (id == -2)
			return -1;
		if (id == -1)
			return nn_fail(err, NN_EFORMAT, "input %zu has no name", i + 1);
		if (!g->values[id].constant && defined(&g->values[id]))
			return twice(g->values[id].name, err);
		g->values[id].known = true;
	}
	return 0;
}

static int take_node(struct nn_onnx_graph *g, int i, int **ids, struct nn_error *err)
{
	struct nn_onnx_node *node = &g->nodes[i];
	const Onnx__Node *proto = node->proto;
	char quoted[NN_QUOTED];

	node->in = *ids;
	node->out = node->in + proto->n_input;
	*ids = node->out + proto->n_output;
	node->match = (struct nn_onnx_match){ NULL, -1, -1, -1, 0 };
	for (size_t k = 0; k < proto->n_input; k++) {
		int id = node->in[k] = value_named(g, proto->input[k], err);

		if (id == -2)
			return -1;
		if (id >= 0 && !defined(&g->values[id]))
			return nn_fail(err, NN_EFORMAT, "nothing before it gives its input '%s'",
				       nn_quote(quoted, proto->input[k], strlen(proto->input[k])));
	}
	for (size_t k = 0; k < proto->n_output; k++) {
		int id = node->out[k] = value_named(g, proto->output[k], err);

		if (id == -2)
			return -1;
		if (id >= 0 && defined(&g->values[id]))
			return twice(proto->output[k], err);
		if (id >= 0)
			g->values[id].node = i;
	}
	return 0;
}

static int take_nodes(struct nn_onnx_graph *g, struct nn_error *err)
{
	int *ids = g->ids;

	for (int i = 0; i < g->n_nodes; i++) {
		g->nodes[i].proto = g->file->model->graph->node[i];
		if (take_node(g, i, &ids, err) < 0)
			return nn_fail_at(err, "node %d", i + 1);
	}
	return 0;
}

static int take_outputs(struct nn_onnx_graph *g, struct nn_error *err)
{
	const Onnx__Graph *graph = g->file->model->graph;
	char quoted[NN_QUOTED];

	if (graph->n_output == 0)
		return nn_fail(err, NN_EFORMAT, "the graph has no output");
	for (size_t i = 0; i < graph->n_output; i++) {
		const char *name = graph->output[i]->name ? graph->output[i]->name : "";
		int id = value_named(g, name, err);

		if (id == -2)
			return -1;
		if (id < 0 || !defined(&g->values[id]))
			return nn_fail(err, NN_EFORMAT, "nothing gives the output '%s'",
				       nn_quote(quoted, name, strlen(name)));
		g->values[id].uses++;
		g->values[id].output = true;
	}
	return 0;
}

/* From the last node to the first: each comes behind what it takes. */
static void find_live(struct nn_onnx_graph *g)
{
	for (int i = g->n_nodes; i-- > 0;) {
		struct nn_onnx_node *node = &g->nodes[i];

		for (size_t k = 0; k < node->proto->n_output; k++)
			node->live |= node->out[k] >= 0 && g->values[node->out[k]].uses > 0;
		for (size_t k = 0; node->live && k < node->proto->n_input; k++) {
			struct nn_onnx_value *v = nn_onnx_in(g, node, k);

			if (!v)
				continue;
			v->uses++;
			v->first_use = i;
			if (v->last_use < 0)
				v->last_use = i;
		}
	}
}

static int take_json(const struct nn_onnx_graph *g, const char *key, struct nn_json **json,
		     struct nn_error *err)
{
	const char *text = nn_onnx_meta(g, key);

	if (!text)
		return 0;
	*json = nn_json_parse(text, strlen(text), err);
	return *json ? 0 : nn_fail_at(err, "%s", key);
}

/* Room for all values, nodes and their inputs and outputs. */
static int allocate(struct nn_onnx_graph *g, struct nn_error *err)
{
	const Onnx__Graph *graph = g->file->model->graph;
	size_t n_ids = 0;
	char said[NN_LIMIT_TEXT];

	for (size_t i = 0; i < graph->n_node; i++)
		n_ids += graph->node[i]->n_input + graph->node[i]->n_output;
	if (n_ids + graph->n_input + graph->n_output > 8 * nn_limit(NN_LIMIT_NODES))
		return nn_fail(err, NN_EFORMAT,
			       "the nodes have more than 8 inputs and outputs each, of at most %s",
			       nn_limit_said(NN_LIMIT_NODES, (n_ids + 7) / 8, said));
	g->n_nodes = (int)graph->n_node;
	g->nodes = nn_alloc(graph->n_node, sizeof *g->nodes, err);
	g->ids = nn_alloc(n_ids, sizeof *g->ids, err);
	g->values = nn_alloc(n_ids + graph->n_initializer + graph->n_input + graph->n_output,
			     sizeof *g->values, err);
	return g->nodes && g->ids && g->values ? nn_names_new(&g->names, err) : -1;
}

static int open_graph(struct nn_onnx_graph *g, struct nn_error *err)
{
	const Onnx__Graph *graph = g->file->model->graph;

	if (take_opset(g, err) < 0 || allocate(g, err) < 0)
		return -1;
	for (size_t i = 0; i < graph->n_initializer; i++)
		if (take_initializer(g, i, err) < 0)
			return -1;
	if (take_inputs(g, err) < 0 || take_nodes(g, err) < 0 || take_outputs(g, err) < 0 ||
	    take_json(g, "nn.input", &g->input_json, err) < 0 ||
	    take_json(g, "nn.target", &g->target_json, err) < 0)
		return -1;
	find_live(g);
	return 0;
}

int nn_onnx_graph_open(struct nn_onnx_graph *g, struct nn_onnx_file *file,
		       struct nn_error *err)
{
	*g = (struct nn_onnx_graph){ .file = file };
	return open_graph(g, err) < 0 ? nn_fail_at(err, "%s", file->path) : 0;
}

void nn_onnx_graph_close(struct nn_onnx_graph *g)
{
	for (int i = 0; i < g->n_values; i++) {
		nn_free(g->values[i].affine.scale);
		nn_free(g->values[i].affine.shift);
	}
	for (int i = 0; i < g->n_lines; i++) {
		nn_free(g->lines[i].name);
		nn_free(g->lines[i].text);
		nn_free(g->lines[i].from);
	}
	while (g->constants) {
		struct nn_onnx_constant *c = g->constants;

		g->constants = c->next;
		nn_onnx_constant_fini(c);
		nn_free(c);
	}
	nn_free(g->parameters);
	nn_free(g->lines);
	nn_free(g->values);
	nn_free(g->nodes);
	nn_free(g->ids);
	nn_names_free(g->names);
	nn_json_free(g->input_json);
	nn_json_free(g->target_json);
}
