/* What a node says of itself: attributes by name, inputs by place. */
#include <string.h>

#include "base/text.h"
#include "onnx/graph.h"

/* Types as the format numbers them. */
enum { ANY = 0, FLOAT = 1, INT = 2, STRING = 3, TENSOR = 4, FLOATS = 6, INTS = 7, STRINGS = 8 };

/* Of the ops that are read. */
static const struct {
	const char *name;
	int type;
} known[] = {
	{ "alpha", FLOAT },
	{ "activation_alpha", FLOATS },
	{ "activation_beta", FLOATS },
	{ "activations", STRINGS },
	{ "allowzero", INT },
	{ "approximate", STRING },
	{ "auto_pad", STRING },
	{ "axes", INTS },
	{ "axis", INT },
	{ "beta", FLOAT },
	{ "ceil_mode", INT },
	{ "clip", FLOAT },
	{ "count_include_pad", INT },
	{ "dilations", INTS },
	{ "direction", STRING },
	{ "end", INT },
	{ "epsilon", FLOAT },
	{ "group", INT },
	{ "hidden_size", INT },
	{ "input_forget", INT },
	{ "keepdims", INT },
	{ "kernel_shape", INTS },
	{ "layout", INT },
	{ "linear_before_reset", INT },
	{ "max", FLOAT },
	{ "min", FLOAT },
	{ "momentum", FLOAT },
	{ "noop_with_empty_axes", INT },
	{ "pads", INTS },
	{ "perm", INTS },
	{ "ratio", FLOAT },
	{ "spatial", INT },
	{ "start", INT },
	{ "starts", INTS },
	{ "ends", INTS },
	{ "strides", INTS },
	{ "to", INT },
	{ "training_mode", INT },
	{ "transA", INT },
	{ "transB", INT },
	{ "value_float", FLOAT },
	{ "value_int", INT },
	{ "value_ints", INTS },
};

int nn_onnx_attributes_check(const Onnx__Node *node, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	for (size_t i = 0; i < node->n_attribute; i++) {
		const Onnx__Attribute *a = node->attribute[i];

		for (size_t k = 0; a->name && k < sizeof known / sizeof *known; k++)
			if (strcmp(known[k].name, a->name) == 0 && a->type != ANY &&
			    a->type != known[k].type)
				return nn_fail(err, NN_EFORMAT,
					       "attribute '%s' has type %d, expected %d",
					       nn_quote(quoted, a->name, strlen(a->name)), a->type,
					       known[k].type);
	}
	return 0;
}

const Onnx__Attribute *nn_onnx_attribute(const Onnx__Node *node, const char *name)
{
	for (size_t i = 0; i < node->n_attribute; i++)
		if (node->attribute[i]->name && strcmp(node->attribute[i]->name, name) == 0)
			return node->attribute[i];
	return NULL;
}

int64_t nn_onnx_int(const Onnx__Node *node, const char *name, int64_t fallback)
{
	const Onnx__Attribute *a = nn_onnx_attribute(node, name);

	return a ? a->i : fallback;
}

double nn_onnx_float(const Onnx__Node *node, const char *name, double fallback)
{
	const Onnx__Attribute *a = nn_onnx_attribute(node, name);

	return a ? (double)a->f : fallback;
}

bool nn_onnx_string_is(const Onnx__Node *node, const char *name, const char *text, bool fallback)
{
	const Onnx__Attribute *a = nn_onnx_attribute(node, name);

	return a ? a->s.len == strlen(text) && memcmp(a->s.data, text, a->s.len) == 0 : fallback;
}

struct nn_onnx_value *nn_onnx_in(const struct nn_onnx_graph *g, const struct nn_onnx_node *node,
				 size_t i)
{
	return i < node->proto->n_input && node->in[i] >= 0 ? &g->values[node->in[i]] : NULL;
}

static int missing(size_t i, struct nn_error *err)
{
	return nn_fail(err, NN_EFORMAT, "input %zu is missing", i + 1);
}

int nn_onnx_in_constant(const struct nn_onnx_graph *g, const struct nn_onnx_node *node, size_t i,
			const struct nn_onnx_constant **c, struct nn_error *err)
{
	const struct nn_onnx_value *v = nn_onnx_in(g, node, i);
	char quoted[NN_QUOTED];

	if (!v)
		return missing(i, err);
	*c = v->constant;
	return *c ? 0
		  : nn_fail(err, NN_EFORMAT, "input '%s' is computed, expected a constant",
			    nn_quote(quoted, v->name, strlen(v->name)));
}

int nn_onnx_in_rows(const struct nn_onnx_graph *g, const struct nn_onnx_node *node, size_t i,
		    struct nn_onnx_value **rows, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	*rows = nn_onnx_in(g, node, i);
	if (!*rows)
		return missing(i, err);
	return (*rows)->constant ? nn_fail(err, NN_EFORMAT,
					   "input '%s' is a constant, expected computed values",
					   nn_quote(quoted, (*rows)->name, strlen((*rows)->name)))
				 : 0;
}

static int axis_beside(int64_t axis, int rank, int rows, int *dim, struct nn_error *err)
{
	int64_t at = axis < 0 ? axis + rank + 1 : axis;

	if (at < 0 || at > rank)
		return nn_fail(err, NN_EFORMAT, "axis %lld of %d dimension%s", (long long)axis,
			       rank + 1, nn_s(rank + 1));
	if (at == rows)
		return nn_fail(err, NN_EFORMAT,
			       "axis %d are the rows, which are computed one by one", rows);
	*dim = (int)at - (at > rows);
	return 0;
}

int nn_onnx_axis(int64_t axis, int rank, int *dim, struct nn_error *err)
{
	return axis_beside(axis, rank, 0, dim, err);
}

int nn_onnx_axis_of(const struct nn_onnx_value *rows, int64_t axis, int *dim, struct nn_error *err)
{
	return axis_beside(axis, rows->shape.rank, rows->rows, dim, err);
}
